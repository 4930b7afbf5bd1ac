//! Measures the cost of a program that loads the measuring core. Compares a version with itself, and with one that does a few
//! percent more work, alternately without and with such a program. Reports seconds per verdict, and false and missed
//! verdicts.
//!
//! `cargo bench --bench busy -- --rounds 5 [OPTIONS] [-- OPTIONS OF THE TOOL]`

mod bound;
mod comparison;
#[expect(dead_code, reason = "this uses its own project")]
mod copy;
mod hog;
mod many;
mod repository;
mod rounds;
#[expect(dead_code, reason = "all tests count")]
mod seen;
#[expect(dead_code, reason = "this calls `diff`, not `list`")]
mod tool;
mod typed;
mod workloads;

use clap::Parser;
use comparison::Answer;
use hog::{Hog, Load};
use many::Project;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use perfunit_report::json::Document;
use rounds::Round;
use std::path::PathBuf;
use std::time::Duration;
use tool::Tool;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Compare equal tests on a core that another program loads.
#[derive(Debug, Parser)]
#[command(name = "busy", max_term_width = 100)]
struct Arguments {
    /// Number of rounds, each of which compares without and with the program, in alternating order
    #[arg(long, default_value_t = 5, value_name = "N")]
    rounds: usize,
    /// Tests of each of the four kinds of work
    #[arg(long, default_value_t = 10, value_name = "N")]
    tests: usize,
    /// Core that both share [default: the last]
    #[arg(long, value_name = "N")]
    core: Option<usize>,
    /// Let the tool choose its core; only the program stays on the given one
    #[arg(long)]
    choose: bool,
    /// Load of the program in percent
    #[arg(long, default_value_t = 30, value_name = "PER CENT", value_parser = clap::value_parser!(u32).range(1..=100))]
    duty: u32,
    /// Length of a burst
    #[arg(long, default_value_t = 6, value_name = "MILLISECONDS")]
    burst: u64,
    /// Additional work in a second comparison of each round, in percent, which should be found
    #[arg(long, value_name = "PER CENT")]
    effect: Option<f64>,
    /// Folder for the project [default: a new temporary folder]
    #[arg(long, value_name = "FOLDER")]
    work: Option<PathBuf>,
    /// Executable of the tool [default: the one built with this benchmark]
    #[arg(long, value_name = "PATH")]
    tool: Option<PathBuf>,
    /// Options of the tool, e.g. threshold and budgets
    #[arg(last = true)]
    options: Vec<String>,
}

fn main() -> Result<()> {
    if let Some(load) = Load::asked_for() {
        hog::spin(load);
    }
    typed::arguments("busy -- --rounds 5 [OPTIONS]").map_or(Ok(()), |arguments| run(&arguments))
}

fn run(arguments: &Arguments) -> Result<()> {
    let temporary = tempfile::tempdir()?;
    let work = arguments.work.as_deref().map_or_else(|| temporary.path().to_owned(), copy::typed);
    let tool = Tool::new(arguments.tool.as_deref().map(copy::typed), arguments.options.clone())?;
    let project = Project::write(&work, arguments.tests, arguments.effect)?;
    let comparisons = Comparison::of(arguments.effect);
    for comparison in &comparisons {
        // Builds before the rounds, so that no round has to build.
        compare(&tool, &project, *comparison)?;
    }
    let core = arguments.core.map_or_else(last_core, Ok)?;
    let load = Load { core, busy: Duration::from_millis(arguments.burst), duty: arguments.duty };
    if !arguments.choose {
        let mut only = CpuSet::new();
        only.set(core)?;
        // The tool and the measured processes inherit this set.
        sched_setaffinity(Pid::from_raw(0), &only)?;
    }
    let mut rounds = Vec::new();
    println!("{}", rounds::HEADING);
    for number in 0..arguments.rounds {
        for loaded in if number % 2 == 0 { [false, true] } else { [true, false] } {
            let hog = loaded.then(|| Hog::start(load)).transpose()?;
            for comparison in &comparisons {
                let round = Round::of(&compare(&tool, &project, *comparison)?, *comparison, hog.is_some());
                println!("{round}");
                rounds.push(round);
            }
        }
    }
    println!("{}", rounds::summary(&rounds));
    Ok(())
}

fn last_core() -> Result<usize> {
    let allowed = sched_getaffinity(Pid::from_raw(0))?;
    let mut cores = (0..CpuSet::count()).filter(|core| allowed.is_set(*core).unwrap_or(false));
    Ok(cores.next_back().ok_or("no core may be used")?)
}

/// The compared versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Comparison {
    /// A version with itself: every reported change is false.
    Null,
    /// A version with one that does more work: every test has a true change.
    Effect,
}

impl Comparison {
    fn of(effect: Option<f64>) -> Vec<Self> {
        let mut comparisons = vec![Self::Null];
        comparisons.extend(effect.map(|_| Self::Effect));
        comparisons
    }
}

fn compare(tool: &Tool, project: &Project, of: Comparison) -> Result<Document> {
    let versions = match of {
        Comparison::Null => format!("{id}..{id}", id = project.base),
        Comparison::Effect => format!("{}..{}", project.base, project.head),
    };
    match comparison::compare(tool, &project.tree, &versions, &["--all-tests", "--test", many::TARGET])? {
        Answer::Compared(document) => Ok(*document),
        Answer::Refused(why) => Err(why.into()),
    }
}
