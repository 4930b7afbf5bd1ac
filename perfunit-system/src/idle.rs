//! A process that runs only while a core would be idle. Its processor time is the core's idle time, which the kernel counts
//! only in ticks.

use crate::os;
use crate::process::{self, Server};
use perfunit_model::error::Result;
use std::hint::black_box;

/// `argv[0]` of this process, which selects the role.
const IDLE_NAME: &str = "perfunit-idle";
/// Iterations between two offers of the core to others, less than a microsecond.
const ITERATIONS: u32 = 200;

/// A process on one core with the policy `SCHED_IDLE`: it runs only while no other process wants the core. It ends when
/// dropped, and with the tool.
#[derive(Debug)]
pub struct IdleProcess {
    server: Server,
    id: u32,
    paused: bool,
}

impl IdleProcess {
    /// Starts the process; `None` in executables that cannot take the role.
    pub fn start(core: usize) -> Result<Option<Self>> {
        if !process::can_take_role() {
            return Ok(None);
        }
        let child = process::spawn(process::role(IDLE_NAME)?.arg(core.to_string()))?;
        Ok(Some(Self { id: child.id(), server: Server::new(child), paused: false }))
    }

    /// Returns the clock of its processor time, for `clock_gettime` in any process; `None` if the process has ended, or
    /// does not run at the moment.
    pub fn clock(&mut self) -> Option<i32> {
        // It has that policy once it is on its core.
        let runs = !self.paused && os::runs_when_idle(self.id) && !self.server.is_gone();
        runs.then(|| os::processor_clock(self.id))
    }

    /// Makes the process sleep, or go on.
    pub fn pause(&mut self, paused: bool) {
        if self.paused != paused {
            os::pause(self.id, paused);
            self.paused = paused;
        }
    }
}

/// Turns this process into the idle process if it was started as one. `main` must call this first.
pub fn idle_if_asked() {
    if std::env::args_os().next().is_some_and(|name| name == IDLE_NAME) {
        idle();
    }
}

/// Runs the process on the core that its first argument names.
fn idle() -> ! {
    let core = std::env::args().nth(1).and_then(|core| core.parse().ok());
    // Elsewhere, or with another policy, it would show nothing, and disturb.
    if core.is_none_or(|core| os::keep_on([core]).is_err()) || os::run_when_idle().is_err() {
        std::process::exit(1);
    }
    loop {
        (0..ITERATIONS).for_each(|turn| {
            black_box(turn);
        });
        std::thread::yield_now();
    }
}
