//! Is a test ever slower than itself? Measures a version against itself, over and over, and counts by kinds of tests what
//! is said to differ.
//!
//! `cargo bench --bench equal -- FOLDER... [OPTIONS] [-- OPTIONS OF THE TOOL]`

mod bound;
mod comparison;
mod copy;
mod invocation;
mod kept;
#[expect(dead_code, reason = "which tests count is decided by kind here")]
mod seen;
#[expect(dead_code, reason = "`diff` is called here, and not `list`")]
mod tool;

use cargo_perfunit::report::json::Document;
use clap::Parser;
use comparison::Answer;
use invocation::Place;
use seen::Seen;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tool::Tool;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Below this a cycle is several percent, ns.
const TINY_NS: f64 = 50.0;
/// From this on a batch is a single run, ns.
const LONG_NS: f64 = 4e6;

/// A version against itself.
#[derive(Debug, Parser)]
#[command(name = "equal", max_term_width = 100)]
struct Arguments {
    /// Clones to take the code from; they are copied, never written.
    #[arg(required = true)]
    clones: Vec<PathBuf>,
    /// Measurements of each, with seeds from 1 on.
    #[arg(long, default_value_t = 1, value_name = "N")]
    rounds: u64,
    #[command(flatten)]
    place: Place,
}

/// One measurement of one clone.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Round {
    clone: String,
    tool: String,
    seed: u64,
    tests: Vec<Seen>,
    seconds: f64,
}

fn main() -> Result<()> {
    invocation::arguments("equal -- FOLDER... [OPTIONS]").map_or(Ok(()), |arguments| run(&arguments))
}

fn run(arguments: &Arguments) -> Result<()> {
    let place = arguments.place.work()?;
    let work = place.as_ref();
    let tool = arguments.place.tool(&[])?;
    let path = work.join("equal.jsonl");
    let known = kept::known(&path, |round: &Round| round.tool == tool.key)?;
    let mut rounds: Vec<Round> = Vec::new();
    println!("{:<16}{HEADING}{:>9}", "crate, seed", "seconds");
    for clone in &arguments.clones {
        let clone = copy::typed(clone);
        let name = clone.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let tree = copy::of(&clone, &work.join(&name))?;
        for seed in 1..=arguments.rounds {
            let round = match known.iter().find(|round| round.clone == name && round.seed == seed) {
                Some(round) => round.clone(),
                None => measure(&tool, &tree, &name, seed, &path)?,
            };
            let label = format!("{name} {seed}");
            println!("{label:<16}{}{:>9.0}", counts(&round.tests.iter().collect::<Vec<_>>()), round.seconds);
            rounds.push(round);
        }
    }
    println!("{}", by_kind(&rounds));
    println!("rows: {}", path.display());
    Ok(())
}

fn measure(tool: &Tool, tree: &Path, name: &str, seed: u64, path: &Path) -> Result<Round> {
    let started = Instant::now();
    let number = seed.to_string();
    let answer = comparison::compare::<Document>(tool, tree, "HEAD..HEAD", &["--all-tests", "--seed", &number])?;
    let document = match answer {
        Answer::Compared(document) => document,
        Answer::Refused(why) => return Err(format!("{name}: {why}").into()),
    };
    let tests = document.tests.iter().filter_map(Seen::of).collect();
    let seconds = started.elapsed().as_secs_f64();
    let round = Round { clone: name.to_owned(), tool: tool.key.clone(), seed, tests, seconds };
    kept::keep(path, &round)?;
    Ok(round)
}

const HEADING: &str = "   tests   before    after  certain  inconcl  largest %";

fn counts(tests: &[&Seen]) -> String {
    let count = |is: &dyn Fn(&Seen) -> bool| tests.iter().filter(|seen| is(seen)).count();
    let (before, after) = (count(&|seen| seen.flagged_first), count(&Seen::is_flagged));
    let (certain, inconclusive) = (count(&Seen::is_certain), count(&|seen| seen.verdict == "inconclusive"));
    let largest = tests.iter().filter(|seen| seen.is_certain()).map(|seen| seen.estimate);
    let largest = largest.max_by(|one, two| one.abs().total_cmp(&two.abs())).unwrap_or(0.0);
    format!("{:>8}{before:>9}{after:>9}{certain:>9}{inconclusive:>9}{:>+11.2}", tests.len(), 100.0 * largest)
}

/// The kinds that are hard to measure, each test in the first that fits.
fn kind(seen: &Seen) -> &'static str {
    match seen {
        Seen { is_steady: false, .. } => "not repeatable",
        Seen { varies: true, .. } => "randomised",
        Seen { base_ns, .. } if *base_ns < TINY_NS => "below 50 ns",
        Seen { base_ns, .. } if *base_ns >= LONG_NS => "4 ms and more",
        _ => "others",
    }
}

fn by_kind(rounds: &[Round]) -> String {
    let tests: Vec<&Seen> = rounds.iter().flat_map(|round| &round.tests).collect();
    let mut kinds: BTreeMap<&str, Vec<&Seen>> = BTreeMap::new();
    for seen in &tests {
        kinds.entry(kind(seen)).or_default().push(seen);
    }
    let mut lines = vec![String::new(), format!("{:<16}{HEADING}", "")];
    lines.extend(kinds.iter().map(|(kind, tests)| format!("{kind:<16}{}", counts(tests))));
    lines.push(format!("{:<16}{}", "all", counts(&tests)));
    lines.push("(certain: the interval excludes 0, the largest of these beside it)".to_owned());
    let share = |is: &dyn Fn(&Seen) -> bool| bound::share(tests.iter().filter(|seen| is(seen)).count(), tests.len());
    lines.push(format!("flagged before confirmation: {}", share(&|seen| seen.flagged_first)));
    lines.push(format!("flagged after: {}", share(&Seen::is_flagged)));
    lines.join("\n")
}
