//! Parts of a benchmark's body that are not measured: making inputs, dropping outputs, and the difference between our
//! clock and the benchmark's own.

use super::seat::armed_seat;
use crate::clock::delay_by_others_ns;
use crate::gauges;
use crate::left_out::{signed, CPU_NS, DELAY_NS, WALL_NS};
use crate::page::FEW_BATCHES;
use crate::sys::Moment;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Runs a part of a body that does not count.
pub fn untimed<T>(work: impl FnOnce() -> T) -> T {
    let Some(seat) = armed_seat() else { return work() };
    if let Some(gauges) = seat.gauges.get() {
        return gauges.leave_out(work);
    }
    // With many short batches only wall time is used, and reading the kernel's counters takes longer than many bodies.
    let is_long = seat.page.batches.load(Relaxed) < FEW_BATCHES;
    let started = Moment::now();
    let before = is_long.then(|| (delay_by_others_ns(), gauges::process_cpu_ns()));
    let result = work();
    let cpu_ns = before.map(|(delay_ns, cpu_ns)| {
        if let Some((before, after)) = delay_ns.zip(delay_by_others_ns()) {
            DELAY_NS.fetch_add(after - before, Relaxed);
        }
        signed(gauges::process_cpu_ns()) - signed(cpu_ns)
    });
    let ns = started.elapsed().as_nanos() as i64;
    CPU_NS.fetch_add(cpu_ns.unwrap_or(ns), Relaxed);
    WALL_NS.fetch_add(ns, Relaxed);
    result
}

/// Runs a part of a body that returns its own time.
pub fn timed_by_itself(work: impl FnOnce() -> Duration) {
    let started = Moment::now();
    let own_ns = work().as_nanos() as i64;
    WALL_NS.fetch_add(started.elapsed().as_nanos() as i64 - own_ns, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::left_out::LeftOut;

    #[test]
    fn a_clock_of_its_own_replaces_ours() {
        let check = |own: Duration| {
            let before = LeftOut::so_far();
            timed_by_itself(|| own);
            // A wall time of one hour, almost none of which was spent here.
            let hour = 3_600_000_000_000;
            let rest = signed(before.since().of_wall(hour)) - signed(hour);
            assert!((rest - own.as_nanos() as i64).abs() < 1_000_000_000, "{rest}");
        };
        check(Duration::from_secs(0));
        check(Duration::from_secs(90));
    }

    #[test]
    fn nothing_is_left_out_of_a_process_that_serves_nobody() {
        assert_eq!(untimed(|| 3), 3);
    }
}
