//! Does `log` name the commits that made tests slower or faster, and does `bisect` find them? The repository is
//! generated, so each commit's effect is known.
//!
//! `cargo bench --bench mined -- [OPTIONS] [-- OPTIONS OF THE TOOL]`

#[path = "../bound.rs"]
mod bound;
#[expect(dead_code, reason = "no clone is copied")]
#[path = "../copy.rs"]
mod copy;
#[path = "../invocation.rs"]
mod invocation;
#[path = "../kept.rs"]
mod kept;
mod log;
mod project;
mod questions;
#[expect(dead_code, reason = "its files change from commit to commit")]
#[path = "../repository.rs"]
mod repository;
#[expect(dead_code, reason = "the tool is called for other documents")]
#[path = "../tool.rs"]
mod tool;

use clap::Parser;
use invocation::Place;
use serde_json::Value;
use std::process::Command;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Generate a history with known steps.
#[derive(Debug, Parser)]
#[command(name = "mined", max_term_width = 100)]
struct Arguments {
    /// Number of commits
    #[arg(long, short = 'n', default_value_t = 200, value_name = "N")]
    commits: usize,
    /// Number of steps, of 2, 3, 5 and 10 % in turn, up and down
    #[arg(long, default_value_t = 20, value_name = "N")]
    steps: usize,
    /// Number of pairs of commits that each make a function 0.5 % slower
    #[arg(long, default_value_t = 10, value_name = "N")]
    pairs: usize,
    /// Number of commits that do not build
    #[arg(long, default_value_t = 15, value_name = "N")]
    broken: usize,
    /// Number of ranges with a step of at least 3 % for `bisect`
    #[arg(long, default_value_t = 10, value_name = "N")]
    questions: usize,
    /// Number of ranges without a step for `bisect`
    #[arg(long, default_value_t = 5, value_name = "N")]
    nulls: usize,
    /// Seed of the history
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    #[command(flatten)]
    place: Place,
}

fn main() -> Result<()> {
    invocation::arguments("mined -- [OPTIONS]").map_or(Ok(()), |arguments| run(&arguments))
}

fn run(arguments: &Arguments) -> Result<()> {
    let work = arguments.place.work()?;
    let tool = arguments.place.tool(&[])?;
    let tree = work.as_ref().join(format!("mined-{}-{}", arguments.commits, arguments.seed));
    let commits = project::draw(arguments);
    if !tree.join(".git").exists() {
        project::make(&tree, &commits)?;
    }
    log::judge(&tool, &tree, &commits)?;
    questions::judge(arguments, &tool, &tree, &commits)
}

/// Runs the tool and returns its document. Fails with its message if there is none.
fn document(mut command: Command) -> Result<Value> {
    let output = command.output()?;
    serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)).into())
}
