//! Ctrl-C, or the end of the time that a hook may take: the run ends early and still reports what it finished; a second
//! Ctrl-C ends the tool at once.

use crate::os;
use perfunit_model::Reason;
use perfunit_model::error::{Error, ExitCode, Result};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// Set if it was the clock that interrupted.
static BY_CLOCK: AtomicBool = AtomicBool::new(false);
/// The process group of everything we started; 0 while there is none.
static GROUP: AtomicU32 = AtomicU32::new(0);

/// Installs the handler for SIGINT, SIGTERM and SIGHUP; once per process.
pub fn install() -> Result<()> {
    ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::SeqCst) {
            std::process::exit(i32::from(ExitCode::Interrupted as u8));
        }
        end_group();
    })
    .map_err(|error| Error::setup(format!("cannot install the Ctrl-C handler: {error}")))
}

/// Stops the run after this time as Ctrl-C would, whatever it is doing then.
pub fn stop_after(time: Duration) {
    std::thread::spawn(move || {
        std::thread::sleep(time);
        if !INTERRUPTED.swap(true, Ordering::SeqCst) {
            BY_CLOCK.store(true, Ordering::SeqCst);
            end_group();
        }
    });
}

/// When half of the time until a deadline is over: the rest is for measuring.
pub fn half_way(deadline: Instant) -> Instant {
    let now = Instant::now();
    now + deadline.saturating_duration_since(now) / 2
}

/// True if the run was stopped because its time was over, and not by the user.
pub fn by_clock() -> bool {
    BY_CLOCK.load(Ordering::SeqCst)
}

/// True if the user stopped the run.
pub fn by_user() -> bool {
    requested() && !by_clock()
}

/// Returns why tests have no verdict after a stop.
pub fn reason() -> Reason {
    if by_clock() { Reason::BudgetUsedUp } else { Reason::Interrupted }
}

/// True once the user asked us to stop, or the time was over.
pub fn requested() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// Stops between steps after Ctrl-C.
pub fn check() -> Result<()> {
    if requested() {
        return Err(Error::new(ExitCode::Interrupted, "interrupted before anything was measured"));
    }
    Ok(())
}

/// Tells the handler which process group to end.
pub fn watch_group(group: u32) {
    GROUP.store(group, Ordering::SeqCst);
}

/// Signals everything we started; the group's leader, the keeper, ignores all but SIGKILL.
fn end_group() {
    let group = GROUP.load(Ordering::SeqCst);
    if group > 0 {
        os::end_group(group);
    }
}
