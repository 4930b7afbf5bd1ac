//! Tracing on systems other than Linux: nothing is traced, so no test is left out.

use super::executed::{Executed, Functions, Program};
use super::unseen::Unseen;
use perfunit_model::Untraceable;
use perfunit_model::error::Result;
use std::time::Duration;

pub fn available() -> std::result::Result<(), Untraceable> {
    Err(Untraceable::OtherSystem)
}

pub fn executes(program: &Program<'_>, _: &str, functions: Functions<'_>, _: Duration) -> Result<Executed> {
    let nothing = functions.are_none() && program.programs.is_unchanged();
    Ok(if nothing { Executed::No } else { Executed::Unknown(Unseen::OtherSystem) })
}
