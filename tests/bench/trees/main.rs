//! What do call trees take? The time of reading, merging and comparing large ones, and the memory of explaining a test that
//! makes ten million calls.
//!
//! `cargo bench --bench trees -- time`, `cargo bench --bench trees -- memory [OPTIONS] [-- OPTIONS OF THE TOOL]`

#[path = "../comparison.rs"]
mod comparison;
#[expect(dead_code, reason = "the crate is written here, and no clone copied")]
#[path = "../copy.rs"]
mod copy;
#[expect(dead_code, reason = "only the whole of it is looked at")]
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
#[expect(dead_code, reason = "`diff` is called here, and not `list`")]
#[path = "../tool.rs"]
mod tool;

use clap::{Parser, ValueEnum};
use invocation::Place;
use perfunit_runtime::page::SERVE_VARIABLE;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Time and memory of call trees.
#[derive(Debug, Parser)]
#[command(name = "trees", max_term_width = 100)]
struct Arguments {
    /// Of what.
    what: What,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum What {
    /// Reading, merging and comparing trees of 1.6 million calls.
    Time,
    /// A test of ten million calls.
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
