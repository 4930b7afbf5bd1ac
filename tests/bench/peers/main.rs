//! Compares the reports of other benchmark tools for the same versions. Measures equal and unequal pairs of one crate with
//! criterion, divan, tango and this tool in one run: detections, false alarms, errors, seconds.
//!
//! `cargo bench --bench peers -- [OPTIONS] [-- OPTIONS OF THE TOOL]`

#[path = "../comparison.rs"]
mod comparison;
mod contenders;
#[expect(dead_code, reason = "the project is generated and not cloned")]
#[path = "../copy.rs"]
mod copy;
mod criterion;
mod divan;
#[path = "../invocation.rs"]
mod invocation;
#[path = "../kept.rs"]
mod kept;
mod ours;
mod pairs;
mod pinned;
#[path = "../printed.rs"]
mod printed;
mod program;
mod project;
#[path = "../repository.rs"]
mod repository;
mod rows;
mod rules;
mod tables;
mod tango;
#[expect(dead_code, reason = "this calls `diff`, not `list`")]
#[path = "../tool.rs"]
mod tool;

use clap::Parser;
use contenders::Contest;
use invocation::Place;
use pairs::{Code, Pair};
use project::Project;
use rows::Row;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Run criterion, divan, tango and this tool on the same pairs of versions.
#[derive(Debug, Parser)]
#[command(name = "peers", max_term_width = 100)]
struct Arguments {
    /// Additional work of head in percent; 0 for equal versions
    #[arg(long, value_delimiter = ',', default_value = "0,0.33,1,5", value_name = "PER CENT")]
    effects: Vec<f64>,
    /// Placement of head's code: as in base, or moved by an unrelated function that grew
    #[arg(long, value_delimiter = ',', default_value = "in-place,moved", value_name = "WHERE")]
    code: Vec<Code>,
    /// Number of measurements of each pair; moved code has another placement each time
    #[arg(long, default_value_t = 1, value_name = "N")]
    repeats: usize,
    /// Measure on this core. Tango uses all cores, because its two processes wait for each other by spinning
    #[arg(long, value_name = "N")]
    core: Option<usize>,
    /// Print tables for each workload too
    #[arg(long)]
    by_workload: bool,
    #[command(flatten)]
    place: Place,
}

fn main() -> Result<()> {
    invocation::arguments("peers -- --repeats N [OPTIONS]").map_or(Ok(()), |arguments| run(&arguments))
}

fn run(arguments: &Arguments) -> Result<()> {
    let place = arguments.place.work()?;
    let work = place.as_ref();
    let pairs = Pair::all(&arguments.effects, &arguments.code)?;
    let contest = Contest {
        project: Project::write(work)?,
        tool: arguments.place.tool(&[])?,
        core: arguments.core,
        scratch: work.join("criterion"),
        rows: work.join("peers.jsonl"),
    };
    println!("{}", rows::HEADING);
    let mut made: Vec<Row> = Vec::new();
    for repeat in 1..=arguments.repeats {
        for pair in pairs.iter().copied() {
            made.extend(contest.measure(pair, repeat, &pairs)?);
        }
    }
    let workloads = if arguments.by_workload { &project::WORKLOADS[..] } else { &[] };
    println!("{}", tables::all(&made, &pairs, workloads));
    let mut versions: Vec<String> = made.iter().filter_map(|row| row.key.peer()).collect();
    versions.sort();
    versions.dedup();
    println!("{}", versions.join(", "));
    println!("rows: {}", contest.rows.display());
    Ok(())
}
