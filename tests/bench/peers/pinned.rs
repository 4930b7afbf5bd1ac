//! Pinning of measured processes to a core.

use super::Result;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// Runs `work` and its children on one core only, if one was chosen.
pub fn to<T>(core: Option<usize>, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let Some(core) = core else { return work() };
    let this = Pid::from_raw(0);
    let before = sched_getaffinity(this)?;
    let mut only = CpuSet::new();
    only.set(core)?;
    sched_setaffinity(this, &only).map_err(|error| format!("core {core}: {error}"))?;
    let done = work();
    sched_setaffinity(this, &before)?;
    done
}
