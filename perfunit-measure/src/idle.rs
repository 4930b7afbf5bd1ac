//! The use of the process that shows how long the measured core is idle.

use super::kernel;
use perfunit_runtime::page::NO_CLOCK;
use perfunit_system::idle::IdleProcess;

/// Smallest processor time of a control group, in cores, of which the process can have one.
const LEAST_LIMIT: f64 = 2.0;

/// The process that shows how long the measured core is idle.
#[derive(Debug, Default)]
pub enum IdleWatch {
    /// No test needed it so far.
    #[default]
    Unused,
    /// It could not be started, or would use up the processor time that the control group may use.
    Refused,
    Running(IdleProcess),
}

impl IdleWatch {
    /// Lets the process run on this core, or pauses it.
    pub fn set(&mut self, wanted: bool, core: usize) {
        if wanted && matches!(self, Self::Unused) {
            let is_limited = kernel::processor_limit().is_some_and(|limit| limit < LEAST_LIMIT);
            let process = if is_limited { None } else { IdleProcess::start(core).ok().flatten() };
            *self = process.map_or(Self::Refused, Self::Running);
        }
        if let Self::Running(process) = self {
            process.pause(!wanted);
        }
    }

    /// Returns the clock for a page.
    pub fn clock(&mut self) -> i32 {
        match self {
            Self::Running(process) => process.clock().unwrap_or(NO_CLOCK),
            Self::Unused | Self::Refused => NO_CLOCK,
        }
    }
}
