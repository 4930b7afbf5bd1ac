//! Clock that excludes time which the core gave to other programs.
//!
//! Disturbed batches are outliers among forty short ones. A long run has few batches, and on a busy core every one of
//! them is disturbed. The kernel counts how long a thread was ready but did not run; this delay is subtracted. Sleeping
//! and waiting for a lock or a disk still count, because the thread is not ready then.
//!
//! The kernel does not tell this delay for programs that the test starts. For them the clock also reads how long the core
//! was idle, from which the tool calculates the time of others.

use crate::gauges;
use crate::left_out::{signed, LeftOut};
use crate::page::{RunTime, NO_CLOCK, UNKNOWN_NS};
use crate::preload_interface;
use crate::sys::{self, Moment};
use std::ptr::null_mut;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicI32, AtomicPtr};

/// State of the clock that the test reads; null unless a preloaded library replaces libc's clock.
static TEST_CLOCK: AtomicPtr<preload_interface::TestClock> = AtomicPtr::new(null_mut());

/// Clock of the process that uses the core's idle time, or [`NO_CLOCK`].
static IDLE_CLOCK: AtomicI32 = AtomicI32::new(NO_CLOCK);

/// Sets the clock that shows how long the core was idle.
pub fn set_idle_clock(clock: i32) {
    IDLE_CLOCK.store(clock, Relaxed);
}

fn idle_ns() -> Option<u64> {
    let clock = IDLE_CLOCK.load(Relaxed);
    (clock != NO_CLOCK).then(|| sys::clock_of_another_ns(clock)).flatten()
}

/// Makes this crate read the true clock, without counting as readings of the test. `address` is that of the library's
/// state.
pub fn stand_aside(address: usize) {
    let clock = address as *mut preload_interface::TestClock;
    TEST_CLOCK.store(clock, Relaxed);
    // SAFETY: a static of the preloaded library, which is never unloaded and consists of atomics.
    sys::read_true_clock_by(unsafe { &*clock }.real.load(Relaxed));
}

/// Returns the number of clock readings by the test so far; 0 where they are not counted.
pub fn readings() -> u64 {
    // SAFETY: null, or a static of the preloaded library.
    unsafe { TEST_CLOCK.load(Relaxed).as_ref() }.map_or(0, |clock| clock.readings.load(Relaxed))
}

/// A running clock.
pub struct Clock {
    delay_ns: Option<i64>,
    cpu_ns: u64,
    idle_ns: Option<u64>,
    before: LeftOut,
    started: Moment,
}

impl Clock {
    /// Starts the clock. Reading the kernel's counters takes some microseconds, all outside of the measured time. The
    /// time of an undisturbed run is pure wall time.
    pub fn start() -> Self {
        let delay_ns = delay_by_others_ns();
        let cpu_ns = gauges::process_cpu_ns();
        let idle_ns = idle_ns();
        Self { delay_ns, cpu_ns, idle_ns, before: LeftOut::so_far(), started: Moment::now() }
    }

    /// Stops the clock and returns the times of the run.
    pub fn stop(self) -> RunTime {
        let wall_ns = self.started.elapsed().as_nanos() as u64;
        let idle_ns = self.idle_ns.zip(idle_ns()).map_or(UNKNOWN_NS, |(before, after)| after.saturating_sub(before));
        let cpu_ns = gauges::process_cpu_ns().saturating_sub(self.cpu_ns);
        let delays = self.delay_ns.zip(delay_by_others_ns());
        let delay_ns = delays.map_or(0, |(before, after)| after - before);
        let left_out = self.before.since();
        let (wall_ns, cpu_ns) = (left_out.of_wall(wall_ns), left_out.of_cpu(cpu_ns));
        let delay_ns = left_out.of_delay(delay_ns);
        RunTime { ns: without_others(wall_ns, cpu_ns, delay_ns), cpu_ns, idle_ns }
    }
}

/// Returns the least time for which this thread waited while other programs had the core, in ns; meaningful as a
/// difference.
///
/// While a thread of the same process had the core, the test was at work. The kernel does not tell when that was, so
/// all computing time of the other threads counts as time that this thread waited for them.
pub fn delay_by_others_ns() -> Option<i64> {
    Some(by_others(sys::run_delay_ns()?, gauges::process_cpu_ns(), sys::thread_cpu_ns()))
}

fn by_others(delay_ns: u64, process_ns: u64, thread_ns: u64) -> i64 {
    signed(delay_ns) - signed(process_ns.saturating_sub(thread_ns))
}

/// Returns the wall time without `delay_ns`, but at least the processor time of this process.
fn without_others(wall_ns: u64, cpu_ns: u64, delay_ns: u64) -> u64 {
    wall_ns - delay_ns.min(wall_ns.saturating_sub(cpu_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn what_others_took_is_not_the_tests_time() {
        assert_eq!(without_others(20, 8, 12), 8);
        // The thread slept for 5 ns.
        assert_eq!(without_others(20, 8, 7), 13);
        // The thread was alone on the core, or the kernel does not count the delay.
        assert_eq!(without_others(20, 20, 0), 20);
        assert_eq!(without_others(20, 8, 0), 20);
    }

    #[test]
    fn what_was_computed_is_the_tests_time() {
        assert_eq!(without_others(20, 18, 12), 18);
        // Several cores.
        assert_eq!(without_others(20, 30, 12), 20);
    }

    #[test]
    fn waiting_for_a_thread_of_its_own_is_the_tests_time() {
        // The thread shared the core with another thread of its process, and also slept for 30 ns.
        assert_eq!(without_others(90, 60, by_others(30, 60, 30).max(0) as u64), 90);
        // Another program had the core for 20 of 50 ns.
        assert_eq!(by_others(50, 60, 30), 20);
        // Other threads computed on another core, or while this thread slept.
        assert!(by_others(0, 60, 30) < 0);
    }

    #[test]
    fn sleeping_counts() {
        let clock = Clock::start();
        std::thread::sleep(std::time::Duration::from_millis(3));
        // Processor time is that of the whole process, which includes tests that run in parallel.
        let RunTime { ns, idle_ns, .. } = clock.stop();
        assert!(ns >= 3_000_000 && idle_ns == UNKNOWN_NS, "{ns} {idle_ns}");
    }

    #[test]
    fn readings_of_the_tests_clock_are_counted_where_a_library_counts_them() {
        static COUNTED: preload_interface::TestClock =
            preload_interface::TestClock { real: AtomicPtr::new(null_mut()), readings: AtomicU64::new(5) };
        assert_eq!(readings(), 0);
        stand_aside(std::ptr::from_ref(&COUNTED) as usize);
        COUNTED.readings.fetch_add(2, Relaxed);
        assert_eq!(readings(), 7);
    }

    #[test]
    fn the_kernels_counters_are_read() {
        let before = gauges::process_cpu_ns();
        let started = Moment::now();
        while started.elapsed().as_millis() < 2 {}
        let after = gauges::process_cpu_ns();
        assert!(after > before, "{before} {after}");
        assert_eq!(sys::delay_in(b"2992791 17 1\n"), Some(17));
        assert_eq!(sys::delay_in(b""), None);
    }
}
