//! Measures the cost of call trees: the time of reading, merging and comparing large trees, and the memory of
//! explaining a test that makes ten million calls.
//!
//! `cargo bench --bench trees -- time`, `cargo bench --bench trees -- memory [OPTIONS] [-- OPTIONS OF THE TOOL]`

#[path = "../comparison.rs"]
mod comparison;
#[expect(dead_code, reason = "the crate is generated and not cloned")]
#[path = "../copy.rs"]
mod copy;
#[expect(dead_code, reason = "only the whole is used")]
#[path = "../explained.rs"]
mod explained;
#[path = "../invocation.rs"]
mod invocation;
mod memory;
#[path = "../repository.rs"]
mod repository;
#[path = "../served.rs"]
mod served;
mod time;
#[expect(dead_code, reason = "this calls `diff`, not `list`")]
#[path = "../tool.rs"]
mod tool;

use clap::{Parser, ValueEnum};
use invocation::Place;
use perfunit_runtime::page::SERVE_VARIABLE;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Measure time and memory of call trees.
#[derive(Debug, Parser)]
#[command(name = "trees", max_term_width = 100)]
struct Arguments {
    /// Resource to measure
    what: What,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum What {
    /// Time of reading, merging and comparing trees of 1.6 million calls
    Time,
    /// Memory for a test of ten million calls
    Memory,
}

fn main() -> Result<()> {
    if std::env::var_os(SERVE_VARIABLE).is_some() {
        time::serve();
    }
    let Some(arguments) = invocation::arguments::<Arguments>("trees -- time|memory [OPTIONS]") else { return Ok(()) };
    match arguments.what {
        What::Time => time::show(),
        What::Memory => memory::show(&arguments.place),
    }
}
