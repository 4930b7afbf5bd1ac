//! Interruption by Ctrl-C or by a hook's time limit: the run ends early and still reports what it finished. A second
//! Ctrl-C ends the tool at once.

use crate::os;
use perfunit_model::Reason;
use perfunit_model::error::{Error, ExitCode, Result};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// Set if the time limit caused the interruption.
static BY_CLOCK: AtomicBool = AtomicBool::new(false);
/// Process group of all child processes; 0 while there is none.
static GROUP: AtomicU32 = AtomicU32::new(0);

/// Installs the handler for SIGINT, SIGTERM and SIGHUP. Call once per process.
pub fn install() -> Result<()> {
    ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::SeqCst) {
            std::process::exit(i32::from(ExitCode::Interrupted as u8));
        }
        end_group();
    })
    .map_err(|error| Error::setup(format!("cannot install the Ctrl-C handler: {error}")))
}

/// Interrupts the run after this time, like Ctrl-C.
pub fn stop_after(time: Duration) {
    std::thread::spawn(move || {
        std::thread::sleep(time);
        if !INTERRUPTED.swap(true, Ordering::SeqCst) {
            BY_CLOCK.store(true, Ordering::SeqCst);
            end_group();
        }
    });
}

/// Returns the middle between now and a deadline. The second half is for measuring.
pub fn half_way(deadline: Instant) -> Instant {
    let now = Instant::now();
    now + deadline.saturating_duration_since(now) / 2
}

/// Checks whether the time limit interrupted the run, and not the user.
pub fn by_clock() -> bool {
    BY_CLOCK.load(Ordering::SeqCst)
}

/// Checks whether the user interrupted the run.
pub fn by_user() -> bool {
    is_requested() && !by_clock()
}

/// Returns the reason why tests have no verdict after an interruption.
pub fn reason() -> Reason {
    if by_clock() { Reason::BudgetUsedUp } else { Reason::Interrupted }
}

/// Checks whether the run was interrupted by the user or the time limit.
pub fn is_requested() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// Returns an error if the run was interrupted.
pub fn check() -> Result<()> {
    if is_requested() {
        return Err(Error::new(ExitCode::Interrupted, "interrupted before the first measurement"));
    }
    Ok(())
}

/// Sets the process group that the handler ends.
pub fn watch_group(group: u32) {
    GROUP.store(group, Ordering::SeqCst);
}

/// Signals all child processes. The group's leader, the keeper, ignores everything except SIGKILL.
fn end_group() {
    let group = GROUP.load(Ordering::SeqCst);
    if group > 0 {
        os::end_group(group);
    }
}
