//! Why later calls of a test are not to be had, where only those will do: for call trees, for counts by callgrind, for
//! proving the rule.

use super::lockstep::{Shape, Task};
use super::settled::Settled;
use crate::model::{Note, Reason};
use std::time::Duration;

#[derive(Debug, thiserror::Error)]
pub enum Unsteady {
    #[error("{0}")]
    NotMeasured(Reason),
    /// Only its first calls are compared, for what the notes say.
    #[error("{}", .0.iter().map(Note::to_string).collect::<Vec<_>>().join("; "))]
    FirstCalls(Vec<Note>),
    #[error("interrupted")]
    Interrupted,
    #[error("in callgrind it did not end within {:.0} s", .0.as_secs_f64())]
    TooLongInCallgrind(Duration),
    /// With what its process says, or how it ended.
    #[error("in callgrind: {0}")]
    FailsInCallgrind(String),
    #[error("callgrind did not write its counts: {0}")]
    NoCounts(#[from] std::io::Error),
}

/// How a test that can be repeated is repeated.
pub(super) fn steady(settled: Result<Settled, Reason>) -> Result<(Settled, Shape), Unsteady> {
    match settled {
        Ok(settled) => match settled.task {
            Task::Steady(shape) => Ok((settled, shape)),
            _ => Err(Unsteady::FirstCalls(settled.notes)),
        },
        Err(reason) => Err(Unsteady::NotMeasured(reason)),
    }
}
