//! Is a test ever slower than itself? Measures a version against itself repeatedly, and counts reported differences by
//! kind of test.
//!
//! `cargo bench --bench equal -- FOLDER... [OPTIONS] [-- OPTIONS OF THE TOOL]`

mod bound;
mod comparison;
mod copy;
mod invocation;
mod kept;
#[expect(dead_code, reason = "tests are chosen by kind")]
mod seen;
#[expect(dead_code, reason = "this calls `diff`, not `list`")]
mod tool;

use clap::Parser;
use comparison::Answer;
use invocation::Place;
use perfunit_report::json::Document;
use seen::Seen;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tool::Tool;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Time of a test below which a cycle is several percent, ns.
const TINY_NS: f64 = 50.0;
/// Time of a test from which a batch is a single run, ns.
const LONG_NS: f64 = 4e6;

/// Measure a version against itself.
#[derive(Debug, Parser)]
#[command(name = "equal", max_term_width = 100)]
struct Arguments {
    /// Clones to take the code from; they are copied, never changed
    #[arg(required = true)]
    clones: Vec<PathBuf>,
    /// Measurements of each clone, with seeds from 1
    #[arg(long, default_value_t = 1, value_name = "N")]
    rounds: u64,
    /// Also compare with an older commit of the same code, like `diff --ratchet`
    #[arg(long)]
    ratchet: bool,
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
    /// Tests of the comparison with the ratchet's version, if there is one.
    #[serde(default)]
    of_ratchet: Option<Vec<Seen>>,
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
            let is_known = |round: &&Round| {
                round.clone == name && round.seed == seed && round.of_ratchet.is_some() == arguments.ratchet
            };
            let round = if let Some(round) = known.iter().find(is_known) {
                round.clone()
            } else {
                let round = measure(&tool, &tree, &name, seed, arguments)?;
                kept::keep(&path, &round)?;
                round
            };
            print_row(&round, &round.tests, "");
            if let Some(tests) = &round.of_ratchet {
                print_row(&round, tests, " ratchet");
            }
            rounds.push(round);
        }
    }
    println!("{}", by_kind(&rounds.iter().flat_map(|round| &round.tests).collect::<Vec<_>>()));
    if arguments.ratchet {
        println!("\nagainst the ratchet's version:");
        println!("{}", by_kind(&rounds.iter().flat_map(|round| &round.of_ratchet).flatten().collect::<Vec<_>>()));
    }
    println!("rows: {}", path.display());
    Ok(())
}

fn print_row(round: &Round, tests: &[Seen], of: &str) {
    let label = format!("{} {}{of}", round.clone, round.seed);
    println!("{label:<16}{}{:>9.0}", counts(&tests.iter().collect::<Vec<_>>()), round.seconds);
}

fn measure(tool: &Tool, tree: &Path, name: &str, seed: u64, arguments: &Arguments) -> Result<Round> {
    let started = Instant::now();
    let number = seed.to_string();
    let mut options = vec!["--all-tests", "--seed", &number];
    let versions = if arguments.ratchet {
        // Three commits of the same code.
        let author = ["-c", "user.name=Tester", "-c", "user.email=tester@example.org", "-c", "commit.gpgsign=false"];
        for _ in 0..2 {
            copy::git(tree, &[&author[..], &["commit", "--quiet", "--allow-empty", "--message", "equal"]].concat())?;
        }
        options.extend(["--ratchet", "HEAD~2"]);
        "HEAD~1..HEAD"
    } else {
        "HEAD..HEAD"
    };
    let answer = comparison::compare::<Document>(tool, tree, versions, &options)?;
    let document = match answer {
        Answer::Compared(document) => document,
        Answer::Refused(why) => return Err(format!("{name}: {why}").into()),
    };
    let with_figures = |document: &Document| document.tests.iter().filter_map(Seen::of).collect();
    let of_ratchet = match document.ratchet.as_ref().map(|ratchet| (&ratchet.comparison, &ratchet.not_compared)) {
        Some((Some(second), _)) => Some(with_figures(second)),
        Some((None, why)) => return Err(format!("{name}: {why:?}").into()),
        None => None,
    };
    let seconds = started.elapsed().as_secs_f64();
    Ok(Round {
        clone: name.to_owned(),
        tool: tool.key.clone(),
        seed,
        tests: with_figures(&document),
        of_ratchet,
        seconds,
    })
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

/// Returns the first kind that a test belongs to; the kinds are those that are hard to measure.
fn kind(seen: &Seen) -> &'static str {
    match seen {
        Seen { is_steady: false, .. } => "not repeatable",
        Seen { varies: true, .. } => "randomised",
        Seen { base_ns, .. } if *base_ns < TINY_NS => "below 50 ns",
        Seen { base_ns, .. } if *base_ns >= LONG_NS => "4 ms and more",
        _ => "others",
    }
}

fn by_kind(tests: &[&Seen]) -> String {
    let mut kinds: BTreeMap<&str, Vec<&Seen>> = BTreeMap::new();
    for seen in tests {
        kinds.entry(kind(seen)).or_default().push(seen);
    }
    let mut lines = vec![String::new(), format!("{:<16}{HEADING}", "")];
    lines.extend(kinds.iter().map(|(kind, tests)| format!("{kind:<16}{}", counts(tests))));
    lines.push(format!("{:<16}{}", "all", counts(tests)));
    lines.push("(certain: the interval excludes 0, with the largest of these)".to_owned());
    let share = |is: &dyn Fn(&Seen) -> bool| bound::share(tests.iter().filter(|seen| is(seen)).count(), tests.len());
    lines.push(format!("flagged before confirmation: {}", share(&|seen| seen.flagged_first)));
    lines.push(format!("flagged after: {}", share(&Seen::is_flagged)));
    lines.join("\n")
}
