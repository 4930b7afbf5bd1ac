//! Can the placement of code cause a false verdict? Makes edits that change code but not its work, in functions that
//! tests execute or in others, and compares. With an additional effect: is the effect found?
//!
//! `cargo bench --bench layouts -- FOLDER [OPTIONS] [-- OPTIONS OF THE TOOL]`

mod bound;
#[expect(dead_code, reason = "neither lines nor other processes are used")]
mod callgrind;
mod comparison;
mod copy;
#[expect(dead_code, reason = "only the starts of functions are used")]
mod edits;
mod harmless;
mod hot;
mod invocation;
mod kept;
mod literals;
mod nulls;
mod processes;
mod repository;
mod rows;
#[expect(dead_code, reason = "null edits are not judged by certainty")]
mod seen;
mod sides;
mod sites;
#[expect(dead_code, reason = "names of items are not used")]
mod sources;
mod subject;
#[expect(dead_code, reason = "times of listings are not used")]
mod tool;
mod totals;
mod trial;
mod unrelated;
mod workloads;

use clap::Parser;
use nulls::Null;
use sources::{Scope, Sources};
use std::path::Path;
use subject::{Copy, Subject};
use trial::Trial;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Edits to try per counted edit, because some do not compile, and others are not executed.
const TRIES: usize = 10;

/// Make edits that change code but not its work, which must not cause a verdict.
#[derive(Debug, Parser)]
#[command(name = "layouts", max_term_width = 100)]
struct Arguments {
    #[command(flatten)]
    subject: Subject,
    /// Edit functions that tests execute, and measure these tests. This is the default
    #[arg(long)]
    hot: bool,
    /// Edit modules that no other test uses, and measure all tests except their own
    #[arg(long, conflicts_with = "hot")]
    unrelated: bool,
    /// Use a sample crate with its own harness, which runs each test in a process
    #[arg(long, requires = "sample", requires = "unrelated")]
    processes: bool,
    /// Number of edits that count
    #[arg(long, default_value_t = 20, value_name = "N")]
    edits: usize,
    /// Threshold of the tool
    #[arg(long, default_value = "2%", value_name = "CHANGE")]
    threshold: String,
    /// Additional work of head on top of each edit, in percent, which should be found
    #[arg(long, requires = "sample", conflicts_with = "unrelated", value_name = "PER CENT")]
    effect: Option<f64>,
}

fn main() -> Result<()> {
    invocation::arguments("layouts -- FOLDER [OPTIONS]").map_or(Ok(()), |arguments| run(&arguments))
}

fn run(arguments: &Arguments) -> Result<()> {
    let subject = &arguments.subject;
    let work = subject.place.work()?;
    let Copy { tree, commit } =
        subject.copy(work.as_ref(), if arguments.processes { processes::write } else { workloads::write })?;
    let tool = subject.place.tool(&["--threshold".to_owned(), arguments.threshold.clone()])?;
    let sources = Sources::read(&tree, Scope { below: subject.below.clone(), dependencies: Vec::new() })?;
    let trial = Trial {
        tree: &tree,
        commit: &commit,
        tool: &tool,
        sources: &sources,
        seed: subject.seed,
        effect: arguments.effect,
        all_tests: arguments.unrelated,
        compare: comparison::compare,
    };
    let path = work.as_ref().join("layouts.jsonl");
    let rows = make(&trial, draw(arguments, &sources), arguments.edits, &path)?;
    match arguments.effect {
        Some(percent) => println!("{}", totals::of_effect(&rows, percent)),
        None => println!("{}", totals::of_nulls(&rows)),
    }
    println!("rows: {}", path.display());
    Ok(())
}

fn draw(arguments: &Arguments, sources: &Sources) -> Vec<Null> {
    let mut random = fastrand::Rng::with_seed(arguments.subject.seed);
    let sites = sources.edits();
    if arguments.unrelated {
        unrelated::edits(&sites, sources, TRIES * arguments.edits, &mut random)
    } else {
        hot::edits(&sites, &mut random)
    }
}

/// Makes edits until this many count, or there are no more.
fn make(trial: &Trial<'_>, drawn: Vec<Null>, wanted: usize, path: &Path) -> Result<Vec<rows::Row>> {
    let known = kept::known(path, |row: &rows::Row| row.seed == trial.seed && row.tool == trial.tool.key)?;
    let mut made: Vec<rows::Row> = Vec::new();
    println!("{}", rows::HEADING);
    for null in drawn {
        if made.iter().filter(|row| row.refused.is_none()).count() >= wanted {
            break;
        }
        let key = trial.key(&null);
        let row = if let Some(row) = known.iter().find(|row| row.key == key) {
            row.clone()
        } else {
            let row = trial.row(&null)?;
            kept::keep(path, &row)?;
            row
        };
        println!("{row}");
        made.push(row);
    }
    Ok(made)
}
