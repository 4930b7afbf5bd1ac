//! Processor time of child processes.

use super::Result;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use perfunit_decide as decide;
use std::process::{Command, Output};
use std::time::Instant;

/// Returns the processor time of all children that have ended and been waited for, and of their children, in ms.
pub fn cpu_of_children() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    Ok((usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) as f64 / 1000.0)
}

/// A command that ended, with its costs.
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
