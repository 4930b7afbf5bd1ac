//! Later calls of a test, where only those will do.

use super::lockstep::{Shape, Task};
use super::settled::Settled;
use perfunit_model::error::{Stop, Tried};
use perfunit_model::{Reason, Unsteady};

/// How a test that can be repeated is repeated.
pub(super) fn steady(settled: Tried<Settled, Reason>) -> Tried<(Settled, Shape), Unsteady> {
    let settled = settled.map_err(|stop| stop.map(Unsteady::NotMeasured))?;
    match settled.task {
        Task::Steady(shape) => Ok((settled, shape)),
        _ => Err(Stop::Because(Unsteady::FirstCalls(settled.notes))),
    }
}
