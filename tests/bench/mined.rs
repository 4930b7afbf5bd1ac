//! Does `log` name the commits that made tests slower or faster, and does `bisect` find them? A repository is generated
//! in which each commit's effect is known.
//!
//! `cargo bench --bench mined -- [OPTIONS] [-- OPTIONS OF THE TOOL]`

#[expect(dead_code, reason = "only shares are printed")]
mod bound;
#[expect(dead_code, reason = "no clone is copied")]
mod copy;
mod invocation;
#[expect(dead_code, reason = "its files change from commit to commit")]
mod repository;
#[expect(dead_code, reason = "the tool is called for other documents here")]
mod tool;

use clap::Parser;
use fastrand::Rng;
use invocation::Place;
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;
use tool::Tool;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Functions of the project, each with a test.
const FUNCTIONS: usize = 6;
/// Rounds of a function at first; opaque, as the compiler unrolls loops by the factors of what it knows.
const ROUNDS: f64 = 4000.0;
/// Sizes of steps, in per cent.
const SIZES: [f64; 4] = [2.0, 3.0, 5.0, 10.0];

/// A history whose steps are known.
#[derive(Debug, Parser)]
#[command(name = "mined", max_term_width = 100)]
struct Arguments {
    /// Commits.
    #[arg(long, short = 'n', default_value_t = 200, value_name = "N")]
    commits: usize,
    /// Steps among them, of 2, 3, 5 and 10 % in turn, up and down.
    #[arg(long, default_value_t = 20, value_name = "N")]
    steps: usize,
    /// Commits among them that do not build.
    #[arg(long, default_value_t = 15, value_name = "N")]
    broken: usize,
    /// Questions for `bisect`: the range around a step up of 3 % and more, and as many ranges without a step.
    #[arg(long, default_value_t = 10, value_name = "N")]
    questions: usize,
    /// Seed of the history.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    #[command(flatten)]
    place: Place,
}

/// What a commit does.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Deed {
    /// Nothing that is executed: comments, functions that nobody calls, names.
    Nothing,
    /// It does not build; the next one repairs it.
    Breaks,
    /// A function takes so many per cent more.
    Step { function: usize, percent: f64 },
}

fn main() -> Result<()> {
    invocation::arguments("mined -- [OPTIONS]").map_or(Ok(()), |arguments| run(&arguments))
}

fn run(arguments: &Arguments) -> Result<()> {
    let work = arguments.place.work()?;
    let tool = arguments.place.tool(&[])?;
    let tree = work.as_ref().join(format!("mined-{}-{}", arguments.commits, arguments.seed));
    let deeds = draw(arguments);
    if !tree.join(".git").exists() {
        make(&tree, &deeds)?;
    }
    judge_log(arguments, &tool, &tree, &deeds)?;
    judge_bisect(arguments, &tool, &tree, &deeds);
    Ok(())
}

/// Every commit's deed; neither the first nor the last one breaks.
fn draw(arguments: &Arguments) -> Vec<Deed> {
    let mut random = Rng::with_seed(arguments.seed);
    let mut deeds = vec![Deed::Nothing; arguments.commits];
    let mut places: Vec<usize> = (1..arguments.commits - 1).collect();
    random.shuffle(&mut places);
    let (steps, others) = places.split_at(arguments.steps.min(places.len()));
    for (number, place) in steps.iter().enumerate() {
        let size = SIZES[number % SIZES.len()];
        let percent = if random.u8(0..3) == 0 { -size } else { size };
        deeds[*place] = Deed::Step { function: random.usize(0..FUNCTIONS), percent };
    }
    for place in others.iter().take(arguments.broken) {
        deeds[*place] = Deed::Breaks;
    }
    deeds
}

fn make(tree: &Path, deeds: &[Deed]) -> Result<()> {
    fs::create_dir_all(tree.join("src"))?;
    fs::write(tree.join("Cargo.toml"), "[package]\nname = \"mined\"\nversion = \"0.1.0\"\nedition = \"2024\"\n")?;
    fs::write(tree.join(".gitignore"), "target\nCargo.lock\n")?;
    copy::git(tree, &["init", "--quiet"])?;
    let mut rounds = [ROUNDS; FUNCTIONS];
    let mut extras = String::new();
    fs::write(tree.join("src/lib.rs"), source(&rounds, &extras, false))?;
    repository::commit(tree, "base")?;
    for (number, deed) in deeds.iter().enumerate() {
        match deed {
            Deed::Step { function, percent } => rounds[*function] *= 1.0 + percent / 100.0,
            Deed::Nothing | Deed::Breaks => match number % 3 {
                0 => writeln!(extras, "// Remark {number}.")?,
                1 => writeln!(extras, "pub fn unused_{number}() -> usize {{ {number} }}")?,
                _ => writeln!(extras, "pub const NUMBER_{number}: usize = {number};")?,
            },
        }
        fs::write(tree.join("src/lib.rs"), source(&rounds, &extras, *deed == Deed::Breaks))?;
        repository::commit(tree, &format!("{number}: {deed:?}"))?;
    }
    Ok(())
}

fn source(rounds: &[f64], extras: &str, is_broken: bool) -> String {
    let mut text = extras.to_owned();
    let mut tests = String::new();
    for (function, rounds) in rounds.iter().enumerate() {
        let _ = writeln!(
            text,
            "#[inline(never)]\npub fn work_{function}(seed: u64) -> u64 {{\n    let mut state = seed | 1;\n    \
             for round in 0..std::hint::black_box({rounds:.0}u64) {{ state = (state ^ state << {} ^ state >> 7).wrapping_add(round); }}\n    \
             state\n}}",
            function + 3,
        );
        let _ = writeln!(
            tests,
            "    #[test] fn test_{function}() {{ assert_ne!(super::work_{function}(1), super::work_{function}(2)); }}"
        );
    }
    let _ = writeln!(text, "#[cfg(test)]\nmod tests {{\n{tests}}}");
    if is_broken {
        text.push_str("pub fn broken() -> usize { \"no number\" }\n");
    }
    text
}

fn document(mut command: Command) -> Result<Value> {
    let output = command.output()?;
    serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)).into())
}

fn judge_log(arguments: &Arguments, tool: &Tool, tree: &Path, deeds: &[Deed]) -> Result<()> {
    let started = Instant::now();
    let mut command = tool.command(tree, "log", &format!("HEAD~{}..HEAD", arguments.commits));
    command.args(["--explain", "never"]);
    let log = document(command)?;
    let seconds = started.elapsed().as_secs_f64();
    let commits = log["commits"].as_array().ok_or("no commits")?;
    let mut found = [(0, 0); SIZES.len()];
    let (mut false_steps, mut skipped) = (Vec::new(), 0);
    for (commit, deed) in commits.iter().zip(deeds) {
        skipped += usize::from(commit["outcome"] == "does-not-build");
        let tests = commit["tests"].as_array().map_or(&[][..], Vec::as_slice);
        let moved = tests.iter().filter(|test| test["verdict"] == "slower" || test["verdict"] == "faster");
        let moved: Vec<(&str, &str)> =
            moved.filter_map(|test| Some((test["name"].as_str()?, test["verdict"].as_str()?))).collect();
        let expected = match deed {
            Deed::Step { function, percent } => {
                let verdict = if *percent > 0.0 { "slower" } else { "faster" };
                let expected = (format!("tests::test_{function}"), verdict);
                let size = SIZES.iter().position(|size| (size - percent.abs()).abs() < 1e-9).unwrap_or_default();
                found[size].1 += 1;
                found[size].0 += usize::from(moved.contains(&(&expected.0, expected.1)));
                Some(expected)
            }
            Deed::Nothing | Deed::Breaks => None,
        };
        let is_expected = |(name, verdict): &&(&str, &str)| {
            expected.as_ref().is_some_and(|one| (&*one.0, one.1) == (*name, *verdict))
        };
        false_steps
            .extend(moved.iter().filter(|one| !is_expected(one)).map(|one| format!("{} {one:?}", commit["subject"])));
    }
    println!("log: {} commits in {seconds:.0} s, {skipped} do not build", commits.len());
    for (size, (found, all)) in SIZES.iter().zip(found) {
        println!("  steps of {size} %: {found} of {all} found at their commit");
    }
    println!(
        "  false steps: {}{}",
        false_steps.len(),
        false_steps.iter().fold(String::new(), |text, one| text + "\n    " + one)
    );
    Ok(())
}

fn judge_bisect(arguments: &Arguments, tool: &Tool, tree: &Path, deeds: &[Deed]) {
    let mut random = Rng::with_seed(arguments.seed ^ 1);
    let up: Vec<(usize, usize)> = deeds
        .iter()
        .enumerate()
        .filter_map(|(at, deed)| match deed {
            Deed::Step { function, percent } if *percent > 2.5 => Some((at, *function)),
            _ => None,
        })
        .collect();
    let asked = |from: usize, to: usize, function: usize| {
        let revision = |commits: usize| format!("HEAD~{}", deeds.len() - commits);
        let test = format!("tests::test_{function}");
        let mut command = tool.command(tree, "bisect", &test);
        command.args(["--good", &revision(from), "--bad", &revision(to), "--explain", "never"]);
        document(command)
    };
    let (mut exact, mut in_set, mut wrong, mut questions) = (0, 0, Vec::new(), 0);
    while questions < arguments.questions && !up.is_empty() {
        let (at, function) = up[random.usize(0..up.len())];
        // `from` commits lie at or before the good end, so the step is one of those after it.
        let is_other = |place: usize| matches!(deeds[place], Deed::Step { function: other, .. } if other == function);
        let builds = |end: usize| end == 0 || deeds[end - 1] != Deed::Breaks;
        let first = (0..at).rev().find(|place| is_other(*place)).map_or(0, |place| place + 1);
        let last = (at + 1..deeds.len()).find(|place| is_other(*place)).unwrap_or(deeds.len());
        let (from, to) = (random.usize(first..=at), random.usize(at + 1..=last));
        if !builds(from) || !builds(to) {
            continue;
        }
        questions += 1;
        let answer = asked(from, to, function);
        let step = answer.as_ref().ok().map(|answer| answer["steps"][0].clone()).unwrap_or_default();
        let candidates = step["candidates"].as_array().cloned().unwrap_or_default();
        let is_it =
            |commit: &Value| commit["subject"].as_str().is_some_and(|text| text.starts_with(&format!("{at}: ")));
        match (candidates.iter().any(is_it), candidates.len()) {
            (true, 1) => exact += 1,
            (true, _) => in_set += 1,
            _ => wrong.push(format!("{at} between {from} and {to}: {answer:?}")),
        }
    }
    println!(
        "bisect: {questions} steps of 3 % and more: {exact} exact, {in_set} in a set with commits that do not build"
    );
    println!("  not found: {}{}", wrong.len(), wrong.iter().fold(String::new(), |text, one| text + "\n    " + one));
}
