//! The Jetty experiment of Peass: busy waits are put into random functions, one at a time. How many of them do the
//! tests of the crate detect, and how many do its own benchmarks?
//!
//! `cargo bench --bench jetty -- FOLDER... [OPTIONS] [-- OPTIONS OF THE TOOL]`

mod benches;
#[path = "../bound.rs"]
mod bound;
#[expect(dead_code, reason = "neither lines nor other processes are used")]
#[path = "../callgrind.rs"]
mod callgrind;
mod calls;
#[path = "../comparison.rs"]
mod comparison;
#[path = "../copy.rs"]
mod copy;
#[path = "../blame/draw.rs"]
mod draw;
#[expect(dead_code, reason = "only the starts of functions are used")]
#[path = "../edits.rs"]
mod edits;
#[path = "../blame/functions.rs"]
mod functions;
#[path = "../harmless.rs"]
mod harmless;
#[path = "../hot.rs"]
mod hot;
#[expect(dead_code, reason = "only one kind is injected")]
#[path = "../blame/injection.rs"]
mod injection;
#[path = "../invocation.rs"]
mod invocation;
#[path = "../kept.rs"]
mod kept;
#[path = "../literals.rs"]
mod literals;
#[path = "../nulls.rs"]
mod nulls;
mod outputs;
#[path = "../printed.rs"]
mod printed;
#[path = "../repository.rs"]
mod repository;
#[expect(dead_code, reason = "rows of several kinds have no common heading")]
#[path = "../rows.rs"]
mod rows;
#[expect(dead_code, reason = "verdicts are counted for tests of any size")]
#[path = "../seen.rs"]
mod seen;
#[path = "../sides.rs"]
mod sides;
#[path = "../sites.rs"]
mod sites;
mod sized;
#[expect(dead_code, reason = "names of items are not used")]
#[path = "../sources.rs"]
mod sources;
#[path = "../blame/spin.rs"]
mod spin;
mod subjects;
mod tables;
#[expect(dead_code, reason = "times of listings are not used")]
#[path = "../tool.rs"]
mod tool;
#[path = "../trial.rs"]
mod trial;
#[path = "../unrelated.rs"]
mod unrelated;
#[expect(dead_code, reason = "dependencies stay unchanged")]
#[path = "../blame/vendored.rs"]
mod vendored;
mod waits;
#[expect(dead_code, reason = "null edits have no effect")]
#[path = "../workloads.rs"]
mod workloads;

use clap::Parser;
use invocation::Place;
use std::path::{Path, PathBuf};
use subjects::{Experiment, Subject};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Put busy waits into random functions, one at a time, and report which tests detect them.
#[derive(Debug, Parser)]
#[command(name = "jetty", max_term_width = 100)]
struct Arguments {
    /// Clones to take the code from, with different names; they are copied, never changed
    #[arg(required = true)]
    clones: Vec<PathBuf>,
    /// Number of waits in each clone that compile
    #[arg(long, default_value_t = 40, value_name = "N")]
    waits: usize,
    /// Times of the waits, used in turn
    #[arg(long, value_delimiter = ',', default_value = "5,50,500", value_name = "NS")]
    times: Vec<u64>,
    /// Null edits in each clone in functions that tests execute; every reported change is false
    #[arg(long, default_value_t = 20, value_name = "N")]
    nulls: usize,
    /// Null edits in each clone outside of code that tests execute; each measures all tests
    #[arg(long, default_value_t = 0, value_name = "N")]
    unrelated: usize,
    /// Number of waits in each clone to measure with its own benchmarks too (criterion, divan)
    #[arg(long, default_value_t = 0, value_name = "N")]
    benches: usize,
    /// Runs of the benchmarks on unchanged code, for their false claims
    #[arg(long, default_value_t = 1, value_name = "N", requires = "benches")]
    controls: usize,
    /// Instead: change the time of benchmarks in each clone by these percentages (0: equal versions)
    #[arg(long, value_delimiter = ',', value_name = "PERCENT", conflicts_with_all = ["generated", "unrelated", "benches"])]
    sizes: Vec<u32>,
    /// Number of benchmarks in each clone to change by each percentage
    #[arg(long, default_value_t = 8, value_name = "N", requires = "sizes")]
    sized: usize,
    /// Number of these that criterion measures too
    #[arg(long, default_value_t = 0, value_name = "N", requires = "sizes")]
    criterion: usize,
    /// Only functions that no test executes, measured by generated workloads
    #[arg(long, conflicts_with_all = ["unrelated", "benches"])]
    generated: bool,
    /// Seed of the draws. With the same seed, a later run continues an earlier one
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    #[command(flatten)]
    place: Place,
}

fn main() -> Result<()> {
    invocation::arguments("jetty -- FOLDER... [OPTIONS]").map_or(Ok(()), |arguments| run(&arguments))
}

fn run(arguments: &Arguments) -> Result<()> {
    let work = arguments.place.work()?;
    let clones = subjects::named(&arguments.clones)?;
    let experiment = Experiment {
        work: work.as_ref(),
        tool: arguments.place.tool(&[])?,
        commit: commit_of_tool(&arguments.place)?,
        seed: arguments.seed,
        ns_a_round: spin::ns_a_round(),
        compare: if arguments.generated { calls::compare } else { comparison::compare },
    };
    println!("a round of the waits' loop takes {:.2} ns\n", experiment.ns_a_round);
    if !arguments.sizes.is_empty() {
        return run_sized(arguments, &experiment, &clones);
    }
    let (mut waits, mut nulls, mut benches) = (Vec::new(), Vec::new(), Vec::new());
    for (name, clone) in &clones {
        let mut subject = Subject::new(&experiment, name, clone)?;
        if arguments.generated {
            let uncovered = calls::uncovered(&subject)?;
            println!("{name}: no test executes {} functions", uncovered.len());
            subject.only = Some(uncovered);
        }
        let (made, drawn) = waits::make(&subject, &arguments.times, arguments.waits)?;
        nulls.extend(subject.nulls(arguments.nulls, arguments.unrelated)?);
        if arguments.benches > 0 {
            let drawn = drawn.iter().take(arguments.benches).collect::<Vec<_>>();
            benches.extend(benches::make(&subject, clone, &drawn, arguments.controls)?);
        }
        waits.extend(made);
    }
    println!("\n{}\n\n{}", tables::of_waits(&waits, &arguments.times), tables::of_nulls(&nulls));
    if arguments.benches > 0 {
        println!("\n{}", tables::of_benches(&benches, &waits, &arguments.times));
    }
    println!("\nrows: {}", work.as_ref().display());
    Ok(())
}

fn run_sized(arguments: &Arguments, experiment: &Experiment<'_>, clones: &[(String, PathBuf)]) -> Result<()> {
    let changes = &arguments.sizes;
    let plan = sized::Plan { changes, benchmarks: arguments.sized, criterion: arguments.criterion };
    let mut rows = Vec::new();
    for (name, clone) in clones {
        rows.extend(sized::make(&Subject::new(experiment, name, clone)?, clone, &plan)?);
    }
    println!("\n{}\n\nrows: {}", tables::of_sized(&rows, changes), experiment.work.display());
    Ok(())
}

/// Returns the commit that the tool was built from, if known.
fn commit_of_tool(place: &Place) -> Result<String> {
    if place.tool.is_some() {
        return Ok("unknown (--tool)".to_owned());
    }
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR"));
    copy::git(checkout, &["describe", "--always", "--abbrev=40", "--dirty", "--exclude=*"])
}
