//! The time of a run, without what the core gave to other programs meanwhile.
//!
//! Of forty short batches the disturbed ones fall out. Of a long run there are few, and on a busy core none of them is
//! left alone. But the kernel counts for how long a thread was ready and did not run, and that is not the test's time.
//! Sleeping, waiting for a lock or a disk still counts: the thread is not ready then.

use crate::left_out::LeftOut;
use crate::sys;
use std::time::Instant;

/// A running clock.
pub struct Clock {
    delay_ns: Option<u64>,
    cpu_ns: u64,
    before: LeftOut,
    started: Instant,
}

impl Clock {
    /// Starts it. The kernel's counters take some microseconds to read, all of them outside of the measured time: the
    /// time of an undisturbed run is wall time and nothing else.
    pub fn start() -> Self {
        let delay_ns = sys::run_delay_ns();
        let cpu_ns = sys::process_cpu_ns();
        Self { delay_ns, cpu_ns, before: LeftOut::so_far(), started: Instant::now() }
    }

    /// Reads it: the run's time and, of all threads, the processor's, both in ns.
    pub fn stop(self) -> (u64, u64) {
        let wall_ns = self.started.elapsed().as_nanos() as u64;
        let cpu_ns = sys::process_cpu_ns().saturating_sub(self.cpu_ns);
        let delays = self.delay_ns.zip(sys::run_delay_ns());
        let delay_ns = delays.map_or(0, |(before, after)| after.saturating_sub(before));
        let left_out = self.before.since();
        let (wall_ns, cpu_ns) = (left_out.of_wall(wall_ns), left_out.of_cpu(cpu_ns));
        let delay_ns = left_out.of_delay(delay_ns);
        (without_others(wall_ns, cpu_ns, delay_ns), cpu_ns)
    }
}

/// Wall time less the delay of this thread, but never less than the time for which a thread of this process ran: while it
/// waits for the core that its own helper has, the test is at work.
fn without_others(wall_ns: u64, cpu_ns: u64, delay_ns: u64) -> u64 {
    wall_ns - delay_ns.min(wall_ns.saturating_sub(cpu_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_took_is_not_the_tests_time() {
        assert_eq!(without_others(20, 8, 12), 8);
        // It slept for 5.
        assert_eq!(without_others(20, 8, 7), 13);
        // Alone on the core, or the kernel does not tell.
        assert_eq!(without_others(20, 20, 0), 20);
        assert_eq!(without_others(20, 8, 0), 20);
    }

    #[test]
    fn waiting_for_a_thread_of_its_own_is_the_tests_time() {
        assert_eq!(without_others(20, 18, 12), 18);
        // Several cores.
        assert_eq!(without_others(20, 30, 12), 20);
    }

    #[test]
    fn sleeping_counts() {
        let clock = Clock::start();
        std::thread::sleep(std::time::Duration::from_millis(3));
        // The processor's time is the whole process's: of the tests that run beside this one too.
        let (ns, _) = clock.stop();
        assert!(ns >= 3_000_000, "{ns}");
    }

    #[test]
    fn the_kernels_counters_are_read() {
        let before = sys::process_cpu_ns();
        let started = Instant::now();
        while started.elapsed().as_millis() < 2 {}
        let after = sys::process_cpu_ns();
        assert!(after > before, "{before} {after}");
        assert_eq!(sys::delay_in(b"2992791 17 1\n"), Some(17));
        assert_eq!(sys::delay_in(b""), None);
    }
}
