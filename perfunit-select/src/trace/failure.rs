//! Reasons why a run of a test does not show what it executes.

use crate::target_code::Unlocated;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

/// The reason why a run of a test gives no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TraceFailure {
    #[error("it was not built")]
    NotBuilt,
    #[error("the executable is for another processor")]
    OtherProcessor,
    #[error("the executable is not one of Linux")]
    OtherSystem,
    #[error("the executable has no symbol table")]
    NoSymbols,
    #[error("the executable has no function {0}")]
    NoFunction(String),
    #[error("the system does not let us trace it: {}", io::Error::from_raw_os_error(*.0))]
    Refused(i32),
    #[error("it did not start: {0}")]
    NotStarted(ExitStatus),
    /// A failing test has not executed everything, perhaps only because it is traced.
    #[error("it fails: {0}")]
    Fails(ExitStatus),
    #[error("it starts {}", .0.display())]
    Starts(PathBuf),
    /// A program of the workspace that differs, at unknown functions.
    #[error("it starts {name}, {why}")]
    StartsUnlocated { name: String, why: Unlocated },
    /// A program of the workspace that differs at functions that cannot have a breakpoint.
    #[error("it starts {name}, {why}")]
    StartsUnwatched { name: String, why: Box<TraceFailure> },
    /// The program may be, or contain, a program of the workspace.
    #[error("it starts {}, which was made while the test ran", .0.display())]
    StartsMade(PathBuf),
    /// Opened by a process outside of the test, or as data.
    #[error("something opens {0} and is not seen to start it")]
    Opened(String),
    #[error("it leaves processes behind, which may start programs")]
    LeavesProcesses,
    #[error("the files of programs cannot be watched: {}", io::Error::from_raw_os_error(*.0))]
    Unwatched(i32),
    #[error("something else was started in place of the test executable")]
    OtherProgram,
    /// Something in its process cannot be read or written.
    #[error("cannot {what} of a traced process: {why}")]
    Process { what: &'static str, why: String },
    #[error("the test was lost sight of")]
    Lost,
    #[error("cannot wait for the test: {}", io::Error::from_raw_os_error(*.0))]
    Wait(i32),
    #[error("the tracer failed")]
    TracerFailed,
    #[error("it did not end within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    #[error("interrupted")]
    Interrupted,
}
