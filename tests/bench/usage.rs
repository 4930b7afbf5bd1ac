//! Processor time of what was started here.

use super::Result;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use perfunit_decide as decide;
use std::process::{Command, Output};
use std::time::Instant;

/// Of all children that have ended and were waited for, and of theirs, ms.
pub fn cpu_of_children() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    Ok((usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) as f64 / 1000.0)
}

/// A command that ended, with what it took.
pub struct Ended {
    pub output: Output,
    /// Wall time, s.
    pub wall: f64,
    /// Processor time, s.
    pub cpu: f64,
}

/// Runs a command to its end.
pub fn run(command: &mut Command) -> Result<Ended> {
    let (before, started) = (cpu_of_children()?, Instant::now());
    let output = command.output()?;
    Ok(Ended { output, wall: started.elapsed().as_secs_f64(), cpu: (cpu_of_children()? - before) / 1000.0 })
}

pub fn median(values: &[f64]) -> f64 {
    decide::median(&mut values.to_vec())
}
