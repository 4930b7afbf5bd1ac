//! Number of repetitions of a body, determined once on base and used for both sides.

use crate::page::FEW_BATCHES;
#[cfg(target_os = "linux")]
use crate::sys::Moment;
#[cfg(not(target_os = "linux"))]
use std::time::Instant as Moment;

/// Repetitions and batches of a pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// Repetitions per batch.
    pub repetitions: u64,
    /// Batches per side.
    pub batches: u32,
    /// Untimed repetitions before each batch.
    pub warm: u32,
    /// Shortest time of one repetition, ns.
    pub shortest_ns: f64,
}

/// Batches per side for short bodies. Most of a pair's noise comes from its processes, so time is better spent on more
/// pairs.
const MANY_BATCHES: u32 = FEW_BATCHES;
/// Body time above which a process measures a single call: starting the process is cheap in comparison.
const SINGLE_CALL_NS: f64 = 50e6;
/// Largest distance of a first call from later ones, as a log ratio, that noise explains.
const LIKE_LATER: f64 = 0.15;
/// Time of a batch of independent calls in ns beyond which one batch is enough: starting a process cannot be much quicker
/// another time.
const ONE_BATCH_TELLS_NS: u64 = 2_000_000;
/// Time after which calibration ends even if its figures still fall, in ns.
const CAP_NS: u128 = 20_000_000;

/// Returns the shortest time of one repetition in ns, from batches as long as the goal; `None` if a batch fails.
///
/// `batch(n)` runs the body n times and returns the time in ns. `first_ns` is the time of the first call.
pub fn calibrate(
    first_ns: u64,
    batch_goal_ns: u64,
    noise: Noise,
    mut batch: impl FnMut(u64) -> Option<u64>,
) -> Option<f64> {
    if first_ns as f64 > SINGLE_CALL_NS {
        return Some(first_ns as f64);
    }
    let started = Moment::now();
    let mut repetitions: u64 = 1;
    loop {
        let mut longest_batch = 0;
        // Reset for each length: a single run of a randomized test can be far shorter than most.
        let mut shortest_ns = f64::INFINITY;
        // Three batches of each length, because the first after a change of length is often slow.
        for _ in 0..3 {
            let ns = batch(repetitions)?;
            longest_batch = longest_batch.max(ns);
            shortest_ns = shortest_ns.min(ns as f64 / repetitions as f64);
            if (noise == Noise::OfCall && ns > ONE_BATCH_TELLS_NS) || started.elapsed().as_nanos() > CAP_NS {
                return Some(shortest_ns);
            }
        }
        if longest_batch >= batch_goal_ns {
            return Some(shortest_ns);
        }
        // At most ten times longer: the time of a short batch includes the clock's overhead.
        let wanted = (batch_goal_ns as f64 * 1.1 / shortest_ns.max(0.01)) as u64;
        repetitions = wanted.clamp(repetitions + 1, repetitions * 10);
        if repetitions > batch_goal_ns.saturating_mul(100) {
            return Some(shortest_ns);
        }
    }
}

/// Source of most noise in the calls of a body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Noise {
    /// Calls of one process are more alike than calls of different processes.
    OfProcess,
    /// Calls vary independently, for example in a body that starts processes.
    OfCall,
}

/// Returns whether a first call takes as long as later ones.
pub fn is_like_later(first_ns: f64, later_ns: f64) -> bool {
    (first_ns.max(1.0) / later_ns.max(1.0)).ln().abs() < LIKE_LATER
}

/// Returns the plan for a body of this time, in ns. Batches take 2 to 3 ms per side; long bodies get few batches,
/// because a measurement needs more than eight pairs however many calls each has. If calls vary independently, another
/// call in a pair is worth as much as another pair.
pub fn shape(shortest_ns: f64, batch_goal_ns: u64, noise: Noise) -> Plan {
    let repetitions = ((batch_goal_ns as f64 / shortest_ns.max(0.01)) as u64).max(1);
    let batch_ns = shortest_ns * repetitions as f64;
    let batches = match (batch_ns, noise) {
        (ns, _) if ns <= 150e3 => MANY_BATCHES,
        (ns, _) if ns > SINGLE_CALL_NS => 1,
        (ns, Noise::OfCall) if ns <= 8e6 => ((8e6 / ns).ceil() as u32).clamp(4, 8),
        (ns, Noise::OfProcess) if ns <= 5e6 => ((2e6 / ns).ceil() as u32).clamp(4, MANY_BATCHES),
        _ => 2,
    };
    Plan { repetitions, batches, warm: u32::from(shortest_ns < 1e6), shortest_ns }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body_ns: f64, expected: Plan) {
        let ns =
            calibrate(body_ns as u64, 100_000, Noise::OfProcess, |n| Some((n as f64 * body_ns) as u64 + 25)).unwrap();
        let plan = shape(ns, 100_000, Noise::OfProcess);
        assert_eq!(plan.batches, expected.batches);
        assert_eq!(plan.warm, expected.warm);
        let relative = plan.repetitions as f64 / expected.repetitions as f64;
        assert!((0.9..1.1).contains(&relative), "{} repetitions, expected {}", plan.repetitions, expected.repetitions);
        assert!(plan.shortest_ns >= body_ns && plan.shortest_ns < body_ns * 1.01 + 26.0);
    }

    #[test]
    fn short_bodies_fill_many_batches_of_the_goal() {
        check(1.0, Plan { repetitions: 100_000, batches: MANY_BATCHES, warm: 1, shortest_ns: 1.0 });
        check(700.0, Plan { repetitions: 142, batches: MANY_BATCHES, warm: 1, shortest_ns: 700.0 });
        check(60_000.0, Plan { repetitions: 1, batches: MANY_BATCHES, warm: 1, shortest_ns: 60_000.0 });
    }

    #[test]
    fn long_bodies_get_fewer_batches_of_one_run() {
        check(300_000.0, Plan { repetitions: 1, batches: 7, warm: 1, shortest_ns: 300_000.0 });
        check(800_000.0, Plan { repetitions: 1, batches: 4, warm: 1, shortest_ns: 800_000.0 });
        check(8e6, Plan { repetitions: 1, batches: 2, warm: 0, shortest_ns: 8e6 });
        check(30e6, Plan { repetitions: 1, batches: 2, warm: 0, shortest_ns: 30e6 });
        check(80e6, Plan { repetitions: 1, batches: 1, warm: 0, shortest_ns: 80e6 });
    }

    #[test]
    fn independent_calls_are_repeated_for_eight_milliseconds() {
        let batches = |ns: f64| shape(ns, 15_000, Noise::OfCall).batches;
        assert_eq!([100e3, 1e6, 2e6, 5e6, 9e6, 49e6, 51e6].map(batches), [MANY_BATCHES, 8, 4, 4, 2, 2, 1]);
    }

    #[test]
    fn a_body_that_takes_no_time_ends_calibration() {
        let ns = calibrate(0, 100_000, Noise::OfProcess, |_| Some(0)).unwrap();
        assert!(shape(ns, 100_000, Noise::OfProcess).repetitions > 0);
    }

    #[test]
    fn a_call_that_starts_processes_is_repeated_once() {
        for (noise, expected) in [(Noise::OfCall, 1), (Noise::OfProcess, 3)] {
            let mut calls = 0;
            let ns = calibrate(9_000_000, 15_000, noise, |_| {
                calls += 1;
                Some(5_000_000)
            });
            assert_eq!((ns, calls), (Some(5e6), expected));
        }
    }

    #[test]
    fn one_short_run_of_a_randomised_body_does_not_make_batches_long() {
        let mut runs = 0;
        let batch = |n: u64| {
            runs += n;
            Some((runs - n..runs).map(|run| 100 + run * 7919 % 4000).sum())
        };
        let ns = calibrate(100, 100_000, Noise::OfProcess, batch).unwrap();
        let plan = shape(ns, 100_000, Noise::OfProcess);
        let batch_ns = plan.repetitions as f64 * 2100.0;
        assert!((80e3..180e3).contains(&batch_ns), "{batch_ns} ns");
    }

    #[test]
    fn a_failing_batch_has_no_plan() {
        assert_eq!(calibrate(10, 100_000, Noise::OfProcess, |_| None), None);
    }
}
