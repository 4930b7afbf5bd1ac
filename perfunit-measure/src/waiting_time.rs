//! The time that other programs took from programs that a test started.
//!
//! For the test's own thread the kernel tells how long it was ready but did not run. For programs that the test starts it
//! does not. While such a test runs, a process of least priority uses the core's idle time. Others had the core for the wall
//! time less the processor time of the test and of that process.
//!
//! Some of it passed while the test only waited, as it would have done without others. How much a test waits is seen in
//! its undisturbed calls. Without them, and for tests that mostly wait, nothing is subtracted. Both sides count as waiting
//! equally unless it is certain that they do not: a difference of their estimates would be multiplied by the time of
//! others, and would look like a change.
//!
//! A program in a session of its own has to share the core even with a process of least priority, where the kernel groups
//! processes by session. Such a test takes longer than its pilot, and is measured without that process.

use super::lockstep::{PairEnd, SideEnd};
use perfunit_decide as decide;
use perfunit_model::{Side, Sides};

/// Largest share of a call's time that others may have in an undisturbed call. They may hide as much waiting, so it is not
/// above the threshold of tests that start processes.
const UNDISTURBED: f64 = 0.05;
/// Time of a call without others, relative to the pilot, above which the process of least priority disturbs the test.
const DISTURBED: f64 = 1.25;
/// Number of calls that show how much a test waits on a side, and whether it is disturbed.
const FEWEST_CALLS: usize = 3;
/// Level of the interval of a side's waiting. The sides differ for certain if their intervals are apart.
const ALPHA: f64 = 0.01;
/// Largest share of its own time that a test may wait.
const MOSTLY_WAITS: f64 = 0.5;

/// The waiting of a test, as far as its calls show it.
#[derive(Debug, Clone, Default)]
pub struct WaitingTime {
    /// Idle time in each undisturbed call, as a share of its time without others. The sides may wait differently.
    shares: Sides<Vec<f64>>,
    /// Time of each call without others, relative to the pilot.
    times: Vec<f64>,
}

/// Times of a call, ns.
#[derive(Clone, Copy)]
struct Call {
    wall: f64,
    cpu: f64,
    idle: f64,
}

impl Call {
    /// Returns the time that others had the core.
    fn others(self) -> f64 {
        (self.wall - self.cpu - self.idle).max(0.0)
    }

    /// Returns the time without others.
    fn own(self) -> f64 {
        self.cpu + self.idle
    }

    /// Returns the share of its own time that the test waited, if the call was undisturbed.
    fn waiting_share(self) -> Option<f64> {
        (self.own() > 0.0 && self.others() <= UNDISTURBED * self.wall).then_some(self.idle / self.own())
    }

    /// Returns the time that the call would have taken without others, given the share of waiting.
    fn without_others(self, waiting: f64) -> f64 {
        self.wall - (1.0 - waiting) * self.others()
    }
}

impl WaitingTime {
    /// Subtracts the time of others from the calls of a complete pair. `pilot_ns` are the times of calls in the pilot.
    pub fn correct(&mut self, pair: &mut PairEnd, pilot_ns: Sides<f64>) {
        if !pair.complete() {
            return;
        }
        for side in Side::BOTH {
            let end = pair.sides.get(side);
            // The first call may be the only one, and is then among the later ones, too.
            let seen = calls(end).into_iter().skip(usize::from(!end.times.is_empty()));
            let seen: Vec<Call> = seen.flatten().collect();
            self.shares.get_mut(side).extend(seen.iter().filter_map(|call| call.waiting_share()));
            self.times.extend(seen.iter().map(|call| call.own() / pilot_ns.get(side)));
        }
        let Some(waiting) = self.waiting() else { return };
        for side in Side::BOTH {
            let waiting = *waiting.get(side);
            let end = pair.sides.get_mut(side);
            let corrected = calls(end).into_iter();
            let mut corrected = corrected.map(|call| call.map(|call| call.without_others(waiting)));
            if let Some(Some(ns)) = corrected.next() {
                end.first_ns = ns;
            }
            for (time, ns) in end.times.iter_mut().zip(corrected) {
                *time = ns.unwrap_or(*time);
            }
        }
    }

    /// Returns whether the process that shows the idle time makes the test slower.
    pub fn is_disturbed(&self) -> bool {
        self.times.len() >= FEWEST_CALLS && decide::median(&mut self.times.clone()) > DISTURBED
    }

    /// Returns how much the test waits on each side, if that is known and not most of its time on either.
    fn waiting(&self) -> Option<Sides<f64>> {
        let Sides { base, head } = &self.shares;
        if base.len() < FEWEST_CALLS || head.len() < FEWEST_CALLS || self.is_disturbed() {
            return None;
        }
        let intervals = decide::median_interval(base, ALPHA).zip(decide::median_interval(head, ALPHA));
        let waiting = match intervals {
            Some((base, head)) if base.high < head.low || head.high < base.low => {
                Sides { base: base.estimate, head: head.estimate }
            }
            _ => {
                let of_both = decide::median(&mut [base.as_slice(), head].concat());
                Sides { base: of_both, head: of_both }
            }
        };
        (waiting.base.max(waiting.head) < MOSTLY_WAITS).then_some(waiting)
    }
}

/// Returns the first call of a side and its later ones, as far as the core's idle time is known.
fn calls(side: &SideEnd) -> Vec<Option<Call>> {
    let call = |wall: f64, cpu: f64, idle: Option<f64>| idle.map(|idle| Call { wall, cpu, idle });
    let later = side.times.iter().zip(&side.cpu_times).zip(&side.idle_times);
    let later = later.map(|((wall, cpu), idle)| call(*wall, *cpu, *idle));
    [call(side.first_ns, side.first_cpu_ns, side.first_idle_ns)].into_iter().chain(later).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lockstep::Shape;
    use perfunit_runtime::page::state;
    use std::time::Duration;

    /// A pair of single calls, each given as processor, idle, and others' time in ms.
    fn pair(base: [f64; 3], head: [f64; 3]) -> PairEnd {
        let end = |[cpu, idle, others]: [f64; 3]| SideEnd {
            state: state::DONE,
            first_ns: (cpu + idle + others) * 1e6,
            first_cpu_ns: cpu * 1e6,
            first_idle_ns: Some(idle * 1e6),
            times: vec![(cpu + idle + others) * 1e6],
            cpu_times: vec![cpu * 1e6],
            idle_times: vec![Some(idle * 1e6)],
            ..SideEnd::default()
        };
        PairEnd {
            sides: Sides { base: end(base), head: end(head) },
            shape: Shape { repetitions: 1, batches: 1, warm: 0 },
            starter: Side::Base,
            timed_out: None,
            took: Duration::ZERO,
        }
    }

    const PILOT: Sides<f64> = Sides { base: 10e6, head: 10e6 };

    /// Returns the corrected times of the last of these pairs, ms.
    fn correct_last(pairs: impl IntoIterator<Item = PairEnd>) -> [f64; 2] {
        let mut waiting = WaitingTime::default();
        let mut times = [0.0; 2];
        for mut pair in pairs {
            waiting.correct(&mut pair, PILOT);
            times = Side::BOTH.map(|side| pair.sides.get(side).times[0] / 1e6);
            assert_near(Side::BOTH.map(|side| pair.sides.get(side).first_ns / 1e6), times);
        }
        times
    }

    #[track_caller]
    fn check(quiet: [f64; 3], last: PairEnd, expected: [f64; 2]) {
        let quiet = (0..FEWEST_CALLS).map(|_| pair(quiet, quiet));
        assert_near(correct_last(quiet.chain([last])), expected);
    }

    #[track_caller]
    fn assert_near<const N: usize>(found: [f64; N], expected: [f64; N]) {
        assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-9), "{found:?}");
    }

    #[test]
    fn what_others_took_is_subtracted() {
        check([10.0, 0.0, 0.0], pair([10.0, 0.0, 5.0], [11.0, 0.0, 9.0]), [10.0, 11.0]);
        // A fifth of others' time would have been waiting.
        check([8.0, 2.0, 0.0], pair([8.0, 1.0, 5.0], [8.0, 2.0, 0.0]), [10.0, 10.0]);
    }

    #[test]
    fn waiting_of_one_side_only_is_kept() {
        let quiet = || pair([10.0, 0.0, 0.0], [10.0, 3.0, 0.0]);
        let last = pair([10.0, 0.0, 10.0], [10.0, 0.0, 13.0]);
        // So many calls show that the sides differ.
        let all = (0..8).map(|_| quiet()).chain([last]);
        assert_near(correct_last(all), [10.0, 13.0]);
    }

    #[test]
    fn sides_that_may_wait_equally_count_as_equal() {
        let quiet = (0..8).map(|at| {
            let idle = |at: usize| 0.5 + 0.1 * (at % 4) as f64;
            pair([9.0, idle(at), 0.0], [9.0, idle(at + 1) + 0.02, 0.0])
        });
        let [base, head] = correct_last(quiet.chain([pair([9.0, 0.0, 30.0], [9.0, 0.0, 30.0])]));
        assert_near([base], [head]);
    }

    #[test]
    fn without_undisturbed_calls_of_both_sides_nothing_is_subtracted() {
        let pairs = (0..2 * FEWEST_CALLS).map(|_| pair([10.0, 0.0, 0.5], [10.0, 0.0, 4.0]));
        assert_near(correct_last(pairs), [10.5, 14.0]);
    }

    #[test]
    fn of_a_test_that_mostly_waits_nothing_is_subtracted() {
        // Others used the time in which it slept.
        check([1.0, 3.0, 0.0], pair([1.0, 0.0, 3.0], [1.0, 2.0, 4.0]), [4.0, 7.0]);
    }

    #[test]
    fn without_undisturbed_calls_nothing_is_subtracted() {
        let disturbed = (0..2 * FEWEST_CALLS).map(|_| pair([1.0, 0.0, 3.0], [1.0, 0.0, 6.0]));
        assert_near(correct_last(disturbed), [4.0, 7.0]);
    }

    #[test]
    fn a_test_that_is_slower_beside_the_idle_process_is_measured_without_it() {
        let mut waiting = WaitingTime::default();
        for _ in 0..FEWEST_CALLS {
            waiting.correct(&mut pair([10.0, 2.0, 0.0], [10.0, 2.0, 0.0]), PILOT);
        }
        assert!(!waiting.is_disturbed() && waiting.waiting().is_some());
        for _ in 0..=FEWEST_CALLS {
            waiting.correct(&mut pair([10.0, 9.0, 0.0], [10.0, 8.0, 0.0]), PILOT);
        }
        assert!(waiting.is_disturbed() && waiting.waiting().is_none());
    }

    #[test]
    fn where_the_idle_time_is_unknown_nothing_is_subtracted() {
        let shares = Sides { base: vec![0.0; 8], head: vec![0.0; 8] };
        let mut waiting = WaitingTime { shares, times: vec![1.0; 8] };
        let mut unknown = pair([10.0, 0.0, 5.0], [10.0, 0.0, 0.0]);
        unknown.sides.base.idle_times = vec![None];
        waiting.correct(&mut unknown, PILOT);
        assert_eq!((unknown.sides.base.times[0], unknown.sides.base.first_ns), (15e6, 10e6));
    }
}
