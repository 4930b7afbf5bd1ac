use super::*;
use crate::bench::Metering;
use crate::options::Measuring;
use crate::work::Comparison;
use perfunit_build::TestClock;
use perfunit_model::Capture;
use std::rc::Rc;

pub fn config() -> Config {
    Config {
        other_verdicts: 1,
        metering: Some(Metering { gates: vec![Metric::Time], ..Metering::default() }),
        ..Config::of(&Measuring::default())
    }
}

pub fn settle(base: f64, head: f64) -> Settled {
    Settled {
        task: Task::Cold,
        capture: Capture::Macro,
        matched: true,
        notes: Vec::new(),
        equal_seeds: true,
        clock: TestClock::True,
        comparison: Comparison::Quantiles,
        clock_bias: 0.0,
        least_ns: 0.0,
        ns: Sides { base, head },
        first_ns: Sides { base, head },
        starts_processes: false,
        pairs_run: Rc::default(),
        waiting: Rc::default(),
        pace: Rc::default(),
    }
}

#[track_caller]
fn check_first(base: f64, head: f64, expected: bool) {
    assert_eq!(is_first(&config(), &settle(base, head)), expected);
}

#[test]
fn single_calls_come_first_where_pairs_take_long_and_would_tell_no_more() {
    check_first(1e6, 0.7e9, true);
    check_first(0.7e9, 1e6, true);
    // Pairs are quick, or measure the ratio more precisely.
    check_first(1e6, 0.1e9, false);
    check_first(0.2e9, 0.7e9, false);
    // Calls are too long for pairs, and at least twice as slow.
    check_first(2e9, 6e9, true);
    check_first(4e9, 5e9, false);
    // A first call failed.
    check_first(0.0, 5e9, false);
    // Another metric of pairs decides.
    let mut other = config();
    other.metering.as_mut().unwrap().gates.push(Metric::CpuTime);
    assert!(!is_first(&other, &settle(1e6, 0.7e9)) && is_first(&other, &settle(2e9, 6e9)));
}

/// Checks the number of calls of both sides and the limit, s; or the seconds that would suffice.
#[track_caller]
fn check_plan(quick: f64, slow: Option<f64>, expected: std::result::Result<(usize, usize, f64), Option<f64>>) {
    let left = (config().per_test_budget * BUDGETS).as_secs_f64();
    let plan = plan(&config(), 0.001, SEPARATION, &Seconds { quick, slow }, left);
    let found = plan.map(|plan| (plan.calls.slow, plan.calls.quick, plan.limit.as_secs_f64()));
    match (found, expected) {
        (Err(Some(found)), Err(Some(expected))) => assert!((found - expected).abs() < 0.5, "{found} s"),
        (found, expected) => assert_eq!(found, expected),
    }
}

#[test]
fn calls_may_end_if_they_are_short_and_are_stopped_if_not() {
    check_plan(0.005, Some(0.7), Ok((2, 62, 2.8)));
    check_plan(0.005, Some(4.0), Ok((2, 62, 10.0)));
    // The time is unknown and exceeds the budget.
    check_plan(0.005, None, Ok((2, 62, 2.5)));
    check_plan(0.005, Some(60.0), Ok((2, 62, 2.5)));
}

#[test]
fn what_does_not_fit_has_its_price() {
    check_plan(2.0, Some(6.0), Err(Some(48.0)));
    // A limit this close to the quicker side's time would not distinguish the sides.
    check_plan(6.0, None, Err(None));
    check_plan(4.0, Some(5.0), Err(None));
}

#[test]
fn the_user_s_threshold_is_kept_if_it_asks_for_more() {
    let check = |slow, threshold: f64, expected: f64| assert!((factor(slow, threshold, 0.0) - expected).abs() < 1e-9);
    check(Side::Head, 0.02, 2.0);
    check(Side::Head, 3.0, 4.0);
    check(Side::Base, 0.75, 4.0);
    assert!(factor(Side::Base, 1.0, 0.0).is_infinite());
    // The factor comes on top of an accepted loss by a factor of three.
    assert!((factor(Side::Head, 0.02, 3.0_f64.ln()) - 6.0).abs() < 1e-9);
    assert!((factor(Side::Base, 0.02, 3.0_f64.ln()) - 2.0).abs() < 1e-9);
}

fn told(slow: Side, seen: &Seen) -> Figures {
    let plan = Plan { calls: Calls { slow: 2, quick: 62 }, limit: Duration::from_secs(2), factor: SEPARATION };
    figures(&config(), slow, &plan, seen, Mode::Steady)
}

#[test]
fn all_calls_of_both_sides_are_in_the_bound() {
    let seen =
        Seen { slow: vec![0.8e9, 0.7e9], quick: vec![1e6, 1.4e6, 1.2e6], quick_wall: 5e6, start: 4e6, stopped: vec![] };
    let figures = told(Side::Head, &seen);
    assert_eq!(figures.verdict, Verdict::Slower);
    let Measured { change, base_ns, head_ns, bound, .. } = figures.measured;
    assert_eq!((base_ns, head_ns), (1.2e6, 0.75e9));
    assert!((change.low - 499.0).abs() < 1e-9 && (change.estimate - 624.0).abs() < 1e-9);
    assert!((change.high - 799.0).abs() < 1e-9);
    let bound = bound.unwrap();
    assert_eq!((bound.ratio, bound.limit_ns), (500.0, None));
    assert_eq!(bound.calls, Sides { base: 62, head: 2 });

    let figures = told(Side::Base, &seen);
    assert_eq!(figures.verdict, Verdict::Faster);
    let change = figures.measured.change;
    assert!(change.low <= change.estimate && change.estimate <= change.high && change.high < -0.99, "{change:?}");
}

#[test]
fn of_calls_that_were_stopped_the_least_is_known() {
    // Other processes had the core nearly all the time.
    let seen = Seen { slow: vec![2.5e9], quick: vec![1e6, 1e6], quick_wall: 4e6, start: 3e6, stopped: vec![0.1e9] };
    let measured = told(Side::Head, &seen).measured;
    let bound = measured.bound.unwrap();
    assert_eq!((bound.ratio, bound.limit_ns, measured.head_ns), (500.0, Some(2e9), 2e9));
    assert_eq!((measured.change.estimate, measured.change.high), (499.0, f64::INFINITY));
    let measured = told(Side::Base, &seen).measured;
    assert_eq!((measured.change.low, measured.base_ns), (-1.0, 2e9));
    assert!((measured.change.high - (1.0 / 500.0 - 1.0)).abs() < 1e-12);
    // The core was ours.
    let seen = Seen { stopped: vec![2.003e9, 1.903e9], slow: Vec::new(), ..seen };
    let ratio = told(Side::Head, &seen).measured.bound.unwrap().ratio;
    assert!((ratio - 1900.0).abs() < 1e-6, "{ratio}");
}

#[test]
fn a_call_of_the_quicker_side_that_takes_long_ends_the_claim() {
    let mut seen = Seen { slow: vec![0.7e9], quick: vec![1e6], quick_wall: 4e6, start: 3e6, stopped: vec![] };
    assert!(seen.ratio(Duration::from_secs(2)) > SEPARATION);
    seen.quick.push(0.4e9);
    assert!(seen.ratio(Duration::from_secs(2)) < SEPARATION);
}

#[test]
fn a_smaller_budget_is_named_if_single_calls_would_do_with_it() {
    let long = |needed_seconds| Reason::TooLong { seconds: 6.0, needed_seconds, ns: None };
    assert_eq!(cheaper(long(90.0), Some(48.0)), long(30.0));
    assert_eq!(cheaper(long(20.0), Some(48.0)), long(20.0));
    assert_eq!(cheaper(long(90.0), None), long(90.0));
}
