//! Later calls of a test, where only those will do.

use super::lockstep::{Shape, Task};
use super::settled::Settled;
use crate::model::{Reason, Unsteady};

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
