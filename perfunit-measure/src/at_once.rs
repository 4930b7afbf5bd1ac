//! Long calls of both versions at the same time, on one core.
//!
//! The speed of a busy machine changes within milliseconds: other programs share its caches, its memory and its power. Of two
//! long calls in turns, each finds another machine. Of two calls at once, the core switches between them every few milliseconds,
//! so both find the same one on average. The clock excludes the time for which the other side has the core (`clock.rs` of the
//! runtime). As each call finds the caches filled by the other one every time, calls that use much memory take up to a quarter
//! longer. So calls are in turns while the machine is quiet.

use super::lockstep::{PairEnd, Shape, SideEnd};
use perfunit_decide as decide;
use perfunit_model::Side;

/// The way in which the calls of both sides follow each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pace {
    #[default]
    InTurns,
    /// In turns until the first pairs show that the machine is busy.
    Open,
    AtOnce,
}

/// The shortest call that runs at once with its counterpart, ns: kernels switch every 3 to 4 ms.
const SHORTEST_NS: f64 = 8e6;
/// The least part of its time that a call computes in turns. While a call waits, its clock also counts the other side's time.
const COMPUTES: f64 = 0.9;
/// The same at once: less, because the kernel of a busy machine has work of its own.
const COMPUTES_AT_ONCE: f64 = 0.7;
/// The largest part of its time that other threads of the process compute.
const THREADS: f64 = 0.02;

/// The number of pairs that show whether the machine is busy, before the first look.
const TRIED: usize = 4;
/// The spread of pairs in turns, as log ratios, beyond which calls run at once: two to four times that on a quiet machine.
const BUSY: f64 = 0.015;

/// Returns whether the first pairs in turns show that the machine is busy. Their spread alone decides, not their change.
pub fn is_busy(log_ratios: &[f64]) -> bool {
    log_ratios.len() == TRIED && decide::spread(log_ratios) > BUSY
}

/// Returns whether calls in this shape, as the pilot ran them, can run at once: they are long, only compute, and in one thread
/// each.
pub fn suits(pilot: &PairEnd, shape: Shape) -> bool {
    let suits = |side: &SideEnd| {
        side.times.iter().all(|ns| *ns >= SHORTEST_NS)
            && side.threads_ns <= THREADS * side.first_ns
            && !side.readings.starts_processes
            && computed(side) >= COMPUTES
    };
    shape.repetitions == 1 && Side::BOTH.into_iter().all(|side| suits(pilot.sides.get(side)))
}

/// Returns whether the calls of a pair passed at once, without long waits. Versions that open one port or lock one file do not.
pub fn is_valid(pair: &PairEnd) -> bool {
    pair.complete() && Side::BOTH.into_iter().all(|side| computed(pair.sides.get(side)) >= COMPUTES_AT_ONCE)
}

/// Returns the part of the time of a side's calls that was computed.
fn computed(side: &SideEnd) -> f64 {
    let (wall, cpu): (f64, f64) = (side.times.iter().sum(), side.cpu_times.iter().sum());
    cpu / wall.max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::Sides;
    use perfunit_runtime::page::state;
    use std::time::Duration;

    const SHAPE: Shape = Shape { repetitions: 1, batches: 2, warm: 0 };

    fn pair(base: SideEnd, head: SideEnd) -> PairEnd {
        let sides = Sides { base, head };
        PairEnd { sides, shape: SHAPE, starter: Side::Base, timed_out: None, took: Duration::from_millis(90) }
    }

    /// Returns a side with calls of these times, of which this part is computed.
    fn side(ms: f64, computed: f64) -> SideEnd {
        let (times, cpu_times) = (vec![ms * 1e6; 2], vec![computed * ms * 1e6; 2]);
        SideEnd { state: state::DONE, first_ns: ms * 1e6, times, cpu_times, ..SideEnd::default() }
    }

    #[test]
    fn long_calls_that_only_compute_can_run_at_once() {
        let can = |head: SideEnd| suits(&pair(side(20.0, 1.0), head), SHAPE);
        assert!(can(side(25.0, 0.98)));
        assert!(!can(side(5.0, 1.0)));
        assert!(!can(side(20.0, 0.8)));
        assert!(!can(SideEnd { threads_ns: 1e6, ..side(20.0, 1.0) }));
        let mut starts = side(20.0, 1.0);
        starts.readings.starts_processes = true;
        assert!(!can(starts));
        assert!(!suits(&pair(side(20.0, 1.0), side(20.0, 1.0)), Shape { repetitions: 9, ..SHAPE }));
    }

    #[test]
    fn calls_that_fail_or_wait_for_each_other_are_not_valid() {
        assert!(is_valid(&pair(side(20.0, 1.0), side(30.0, 0.8))));
        // The second call began when the first one gave back a lock.
        assert!(!is_valid(&pair(side(20.0, 1.0), side(40.0, 0.5))));
        let failed = SideEnd { state: state::FAILED_LATER, ..side(20.0, 1.0) };
        assert!(!is_valid(&pair(failed, side(20.0, 1.0))));
    }

    #[test]
    fn the_spread_of_the_first_pairs_shows_a_busy_machine() {
        assert!(!is_busy(&[0.2, 0.201, 0.199, 0.2]));
        assert!(is_busy(&[0.2, 0.26, 0.14, 0.2]));
        // Before and after that, pairs do not change the way.
        assert!(!is_busy(&[0.2, 0.3]) && !is_busy(&[0.2, 0.3, 0.1, 0.2, 0.4]));
    }
}
