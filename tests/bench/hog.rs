//! A program that loads a core: this executable, started again, spins and sleeps alternately.

use super::Result;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use perfunit_system::process;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Environment variable with core, burst in milliseconds and duty for the spinning process.
const VARIABLE: &str = "PERFUNIT_BENCH_HOG";

/// Load of a core.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// The loaded core.
    pub core: usize,
    /// Length of a burst.
    pub busy: Duration,
    /// Duty in percent.
    pub duty: u32,
}

impl Load {
    /// Returns the load of this process, if it was started for that.
    pub fn asked_for() -> Option<Self> {
        let text = std::env::var(VARIABLE).ok()?;
        let mut numbers = text.split(',').map_while(|number| number.parse::<u64>().ok());
        let (core, busy, duty) = (numbers.next()?, numbers.next()?, numbers.next()?);
        Some(Self { core: core as usize, busy: Duration::from_millis(busy), duty: duty as u32 })
    }
}

/// The running program; ends when dropped.
pub struct Hog(Child);

impl Hog {
    /// Starts the program.
    pub fn start(load: Load) -> Result<Self> {
        let Load { core, busy, duty } = load;
        let mut command = Command::new(std::env::current_exe()?);
        command.env(VARIABLE, format!("{core},{},{duty}", busy.as_millis())).stdin(Stdio::null());
        Ok(Self(process::start_in_our_place(&mut command)?))
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Spins until the process is killed.
pub fn spin(load: Load) -> ! {
    let mut only = CpuSet::new();
    let pinned = only.set(load.core).and_then(|()| sched_setaffinity(Pid::from_raw(0), &only));
    if let Err(error) = pinned {
        eprintln!("cannot load core {}: {error}", load.core);
        std::process::exit(1);
    }
    // Follows the clock: while others have the core, the program neither spins nor catches up.
    let period = load.busy * 100 / load.duty;
    loop {
        let started = Instant::now();
        while started.elapsed() < load.busy {
            std::hint::spin_loop();
        }
        std::thread::sleep(period.saturating_sub(started.elapsed()));
    }
}
