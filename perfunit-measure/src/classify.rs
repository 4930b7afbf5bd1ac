//! Classification of a test by its pilot: the way to measure it, or the reason why it cannot be measured. Pure.

use super::lockstep::{BATCH_NS, PairEnd, Shape, SideEnd};
use super::measured_process::how_ended;
use perfunit_decide as decide;
use perfunit_model::{FailedOn, Failure, FirstCallsBecause, NotCaptured, Reason, Side, Sides};
use perfunit_runtime::calibrate::{self, Noise, Plan};
use perfunit_runtime::page::{FEW_BATCHES, state};
use std::time::Duration;

/// Time of both sides below which no work is left, ns: a call and a loop step take about 1 ns themselves.
const FOLDED_NS: f64 = 3.0;
/// Least ratio of head's time to base's at which head's time determines the length of batches.
const MUCH_SLOWER: f64 = 4.0;
/// Number of pairs that the first look needs, with an allowance for lost pairs or for the calibration, which is not
/// repeated.
pub const FEWEST_PAIRS: f64 = decide::FIRST_LOOK as f64 * 1.3;

/// Action for a test after its pilot.
#[derive(Debug, Clone, PartialEq)]
pub enum Class {
    Steady(Shape),
    /// The test passes once but not twice, or not in one process with itself.
    NotRepeatable(FirstCallsBecause),
    /// The first call failed: further runs must show which side is at fault.
    Suspect,
    Not(Reason),
}

pub fn classify(pilot: &PairEnd, timeout: Duration, budget: Duration) -> Class {
    if let Some(side) = pilot.timed_out {
        let end = pilot.sides.get(side);
        if end.state == state::REPEATING || end.state == state::DONE {
            return Class::NotRepeatable(FirstCallsBecause::LaterCallHangs);
        }
        return Class::Not(Reason::timed_out(side.into(), timeout));
    }
    for side in Side::BOTH {
        let end = pilot.sides.get(side);
        match end.state {
            state::FAILED_LATER => return Class::NotRepeatable(later_failure(end)),
            // The process ended although the first call had passed.
            state::REPEATING if end.status.is_some() => return Class::NotRepeatable(later_failure(end)),
            state::WRONG_VERSION => {
                return Class::Not(Reason::NotCaptured { why: NotCaptured::OtherRuntime });
            }
            _ => {}
        }
    }
    if !pilot.complete() {
        return Class::Suspect;
    }
    let base_ns = per_run(&pilot.sides.base, pilot.shape);
    let head_ns = per_run(&pilot.sides.head, pilot.shape);
    if base_ns < FOLDED_NS && head_ns < FOLDED_NS {
        return Class::Not(Reason::FoldedAway { ns: base_ns });
    }
    let shape = bearable(pilot.shape, base_ns, head_ns);
    let needed = FEWEST_PAIRS * pair_seconds(base_ns, head_ns, shape);
    if needed > budget.as_secs_f64() {
        let (seconds, ns) = (base_ns.max(head_ns) / 1e9, Some(Sides { base: base_ns, head: head_ns }));
        return Class::Not(Reason::TooLong { seconds, needed_seconds: needed.ceil(), ns });
    }
    Class::Steady(shape)
}

/// Returns the shape that base was calibrated to, or head's own shape if head is so much slower that base's would make
/// each pair long: the worst regressions should be the last to be left out for their length. Base's batches are then
/// short, which costs precision where there is plenty.
fn bearable(shape: Shape, base_ns: f64, head_ns: f64) -> Shape {
    if head_ns < MUCH_SLOWER * base_ns {
        return shape;
    }
    let Plan { repetitions, batches, warm, .. } = calibrate::shape(head_ns, BATCH_NS, Noise::OfProcess);
    // Base has fewer repetitions where most of a run is not timed.
    if repetitions < shape.repetitions { Shape { repetitions, batches, warm } } else { shape }
}

/// Returns the longest call of a test that pairs can measure within the budget, if head takes as long as base.
pub fn longest_call(budget: Duration) -> Duration {
    budget.div_f64(2.0 * FEWEST_PAIRS)
}

fn pair_seconds(base_ns: f64, head_ns: f64, shape: Shape) -> f64 {
    let Shape { repetitions, batches, warm } = shape;
    let runs = if batches == 1 { 1.0 } else { f64::from(batches) * (repetitions as f64 + f64::from(warm)) + 1.0 };
    runs * (base_ns + head_ns) / 1e9 + 0.003
}

fn later_failure(end: &SideEnd) -> FirstCallsBecause {
    FirstCallsBecause::LaterCallFails { how: end.failure() }
}

/// Returns the time of one run in a pair, ns.
pub fn per_run(end: &SideEnd, shape: Shape) -> f64 {
    if shape.batches == 0 {
        return end.first_ns;
    }
    undisturbed_time(&end.times) / shape.repetitions.max(1) as f64
}

/// Returns the time of a batch without interruptions: the 10 % quantile of many batches; the mean of the faster half of
/// a few long ones.
pub fn undisturbed_time(batches: &[f64]) -> f64 {
    let mut batches = batches.to_vec();
    if batches.len() >= FEW_BATCHES as usize {
        decide::quantile(&mut batches, 0.1)
    } else {
        decide::mean_of_fastest_half(&mut batches)
    }
}

/// Returns the times of one run, ns: one for each batch, or that of the first call.
pub fn runs(end: &SideEnd, shape: Shape) -> impl Iterator<Item = f64> {
    let first = (shape.batches == 0).then_some(end.first_ns);
    let batches = if shape.batches == 0 { &[][..] } else { &end.times };
    let repetitions = shape.repetitions.max(1) as f64;
    first.into_iter().chain(batches.iter().map(move |time| time / repetitions))
}

/// Returns the reason why a first call did not pass; `None` if it passed.
pub fn first_failure(end: &SideEnd, side: Side) -> Option<Reason> {
    let (side, intermittent) = (FailedOn::from(side), false);
    match (end.state, end.status) {
        (state::DONE | state::REPEATING | state::FAILED_LATER, _) => None,
        (state::FAILED_FIRST, _) => Some(Reason::Fails { side, how: end.failure(), intermittent }),
        (state::STARTING, Some(status)) if status.success() => {
            Some(Reason::NotCaptured { why: NotCaptured::NeverReached })
        }
        (_, status) => Some(Reason::Crashes { side, how: status.map_or(Failure::Killed, how_ended), intermittent }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(state: u32, ns: f64) -> SideEnd {
        SideEnd { state, first_ns: ns, times: vec![ns * 10.0; 48], ..SideEnd::default() }
    }

    fn pilot(base: SideEnd, head: SideEnd) -> PairEnd {
        let shape = Shape { repetitions: 10, batches: 32, warm: 1 };
        PairEnd {
            sides: Sides { base, head },
            shape,
            starter: Side::Base,
            timed_out: None,
            took: Duration::from_millis(20),
        }
    }

    #[track_caller]
    fn check(pilot: &PairEnd, expected: &Class) {
        assert_eq!(&classify(pilot, Duration::from_secs(10), Duration::from_secs(10)), expected);
    }

    #[test]
    fn a_complete_pilot_is_repeated_in_its_shape() {
        let pilot = pilot(end(state::DONE, 1000.0), end(state::DONE, 900.0));
        check(&pilot, &Class::Steady(pilot.shape));
    }

    #[test]
    fn work_that_is_gone_on_one_side_only_is_measured() {
        let gone = pilot(end(state::DONE, 1.0), end(state::DONE, 1.0));
        check(&gone, &Class::Not(Reason::FoldedAway { ns: 1.0 }));
        let mut half = pilot(end(state::DONE, 1.0), end(state::DONE, 100.0));
        for side in Side::BOTH {
            half.sides.get_mut(side).times.iter_mut().for_each(|time| *time *= 500.0);
        }
        half.shape.repetitions *= 500;
        // Head, a hundred times slower, determines the length of the batches.
        check(&half, &Class::Steady(Shape { repetitions: 150, batches: 20, ..half.shape }));
    }

    #[test]
    fn a_slower_head_gets_no_longer_batches_where_most_of_a_run_is_not_timed() {
        // Head's time alone would require 500 repetitions.
        let slower = pilot(end(state::DONE, 4.0), end(state::DONE, 100.0));
        check(&slower, &Class::Steady(slower.shape));
    }

    #[test]
    fn a_much_slower_head_gets_shorter_batches() {
        let mut slow = pilot(end(state::DONE, 50.0), end(state::DONE, 25_000.0));
        slow.shape.repetitions = 2000;
        slow.sides.base.times = vec![50.0 * 2000.0; 48];
        slow.sides.head.times = vec![25_000.0 * 2000.0; 48];
        check(&slow, &Class::Steady(Shape { repetitions: 1, batches: 20, warm: 1 }));
    }

    #[test]
    fn a_later_failure_is_not_repeatable_and_a_first_one_suspect() {
        check(
            &pilot(end(state::DONE, 5.0), end(state::FAILED_LATER, 5.0)),
            &Class::NotRepeatable(FirstCallsBecause::LaterCallFails { how: Failure::PassesOnce }),
        );
        check(&pilot(end(state::FAILED_FIRST, 5.0), end(state::STARTING, 0.0)), &Class::Suspect);
    }

    #[test]
    fn a_later_call_that_ends_the_process_says_how() {
        let mut left = pilot(end(state::DONE, 5.0), end(state::REPEATING, 5.0));
        left.sides.head.status = Some(std::process::ExitStatus::default());
        let how = Failure::Exited { code: 0 };
        check(&left, &Class::NotRepeatable(FirstCallsBecause::LaterCallFails { how }));
    }

    #[test]
    fn a_hang_is_attributed_to_the_side_whose_turn_it_was() {
        let mut hung = pilot(end(state::REPEATING, 5.0), end(state::FIRST_CALL, 5.0));
        hung.timed_out = Some(Side::Head);
        check(&hung, &Class::Not(Reason::timed_out(FailedOn::Head, Duration::from_secs(10))));
    }

    #[test]
    fn eight_pairs_must_fit_the_budget() {
        let mut long = pilot(end(state::DONE, 2e9), end(state::DONE, 2e9));
        long.shape = Shape { repetitions: 1, batches: 1, warm: 0 };
        long.sides.base.times = vec![2e9];
        long.sides.head.times = vec![2e9];
        check(
            &long,
            &Class::Not(Reason::TooLong {
                seconds: 2.0,
                needed_seconds: 42.0,
                ns: Some(Sides { base: 2e9, head: 2e9 }),
            }),
        );
    }
}
