//! Tracing on systems other than Linux: nothing is traced, so no test is left out.

use super::failure::TraceFailure;
use super::traced_run::{Execution, Functions, Program};
use perfunit_model::Untraceable;
use perfunit_model::error::Result;
use std::time::Duration;

pub fn available() -> std::result::Result<(), Untraceable> {
    Err(Untraceable::OtherSystem)
}

pub fn pass_by_programs(_: &Program<'_>, _: &[&str], _: Functions<'_>, _: Duration) -> Result<bool> {
    Ok(false)
}

pub fn executes(program: &Program<'_>, _: &str, functions: Functions<'_>, _: Duration) -> Result<Execution> {
    Ok(if program.has_nothing_to_watch(functions) {
        Execution::No
    } else {
        Execution::Unknown(TraceFailure::OtherSystem)
    })
}
