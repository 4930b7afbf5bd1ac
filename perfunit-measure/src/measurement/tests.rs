use super::super::lockstep::{Shape, SideEnd};
use super::super::single_calls::tests::{config, settle};
use super::*;
use perfunit_decide::PairsPerLayout;
use perfunit_model::{Side, Sides};
use perfunit_runtime::page::state;

/// Quiet tests get one pair of each layout, noisier ones get two of each of the first layouts.
fn layouts_of(spread: f64) -> Unit {
    Unit::Layout { pairs: PairsPerLayout::new(spread, 0.02, 0.001, 1e3) }
}

const HOUR: Duration = Duration::from_hours(1);

/// Returns a pair in which head takes this many times as long.
fn pair(ratio: f64) -> PairEnd {
    let side = |ns: f64| SideEnd { state: state::DONE, times: vec![ns; 8], ..SideEnd::default() };
    let shape = Shape { repetitions: 1, batches: 8, warm: 0 };
    let sides = Sides { base: side(1e4), head: side(1e4 * ratio) };
    PairEnd { sides, shape, starter: Side::Base, timed_out: None, took: Duration::from_millis(1) }
}

/// Adds this many pairs: two with head slower, two with head faster by the same factor, and so on.
fn add_pairs(unit: Unit, pairs: usize, noise: f64, clock: &Clock) -> Measurement {
    let config = Config { metering: None, ..config() };
    let settled = Settled { task: Task::Steady(pair(1.0).shape), ..settle(1e4, 1e4) };
    let mut measurement = Measurement::new(&config, settled, unit, 0.001);
    for number in 0..pairs {
        let ratio = if number % 4 < 2 { 1.0 + noise } else { 1.0 / (1.0 + noise) };
        if measurement.end.is_none() {
            measurement.end = measurement.add(&pair(ratio), &config, clock);
        }
    }
    measurement
}

#[track_caller]
fn check(measurement: &Measurement, verdict: Verdict, reason: Option<&Reason>) -> Measured {
    let end = measurement.finish();
    assert_eq!(end.reason.as_ref(), reason);
    let figures = end.result.unwrap();
    assert_eq!(figures.verdict, verdict);
    figures.measured
}

#[test]
fn what_ends_before_it_is_clear_is_inconclusive_by_the_limit_that_ended_it() {
    let clock = |budget, of_run: Duration| Clock::start(Duration::ZERO, budget, Some(Instant::now() + of_run));
    for unit in [Unit::PAIR, layouts_of(0.005)] {
        // The values suffice for "same", but are fewer than the first look needs.
        let by_run = add_pairs(unit, 6, 0.001, &clock(HOUR, Duration::ZERO));
        assert_eq!(by_run.end, Some(End::CutShort(Reason::BudgetUsedUp)));
        // One pair is always added; figures need at least 4.
        assert!(matches!(by_run.finish().result, Err(Reason::BudgetUsedUp)));
        let mut by_run = add_pairs(unit, 6, 0.001, &clock(HOUR, HOUR));
        by_run.end = Some(clock(HOUR, Duration::ZERO).limit().into());
        check(&by_run, Verdict::Inconclusive, Some(&Reason::BudgetUsedUp));
        let mut by_test = add_pairs(unit, 6, 0.001, &clock(HOUR, HOUR));
        by_test.end = Some(clock(Duration::ZERO, HOUR).limit().into());
        check(&by_test, Verdict::Inconclusive, Some(&Reason::TooNoisy));
        // A clear result of a look stays.
        let mut clear = add_pairs(unit, 8, 0.001, &clock(HOUR, HOUR));
        clear.end = Some(clock(HOUR, Duration::ZERO).limit().into());
        check(&clear, Verdict::Same, None);
    }
}

#[test]
fn the_times_are_as_far_apart_as_the_change_says_on_a_machine_of_two_speeds() {
    let config = Config { metering: None, ..config() };
    let settled = Settled { task: Task::Steady(pair(1.0).shape), ..settle(1e4, 1e4) };
    let mut measurement = Measurement::new(&config, settled, Unit::PAIR, 0.001);
    let clock = Clock::start(Duration::ZERO, HOUR, None);
    for number in 0..8 {
        // Half of the pairs are slow; in one pair only base is.
        let mut pair = pair(1.03);
        for (side, slow_from) in [(Side::Base, 3), (Side::Head, 4)] {
            let speed = if number < slow_from { 1.0 } else { 1.6 };
            pair.sides.get_mut(side).times.iter_mut().for_each(|time| *time *= speed);
        }
        measurement.add(&pair, &config, &clock);
    }
    let Measured { change, base_ns, head_ns, .. } = measurement.finish().result.unwrap().measured;
    assert!((change.estimate - 0.03).abs() < 1e-3, "{}", change.estimate);
    assert!((head_ns / base_ns - 1.0 - change.estimate).abs() < 1e-9, "{base_ns} {head_ns}");
}

#[test]
fn the_limit_of_a_short_test_is_that_of_the_machine_at_its_fastest() {
    let config = Config { metering: None, ..config() };
    // The pilot ran at three fifths of the usual speed.
    let settled = Settled { task: Task::Steady(pair(1.0).shape), least_ns: 1.0, ..settle(32.0 / 0.6, 32.0 / 0.6) };
    let mut measurement = Measurement::new(&config, settled, Unit::PAIR, 0.001);
    let clock = Clock::start(Duration::ZERO, HOUR, None);
    for _ in 0..16 {
        let mut pair = pair(0.973);
        for side in Side::BOTH {
            pair.sides.get_mut(side).times.iter_mut().for_each(|time| *time *= 32.0 / 1e4);
        }
        measurement.add(&pair, &config, &clock);
    }
    let figures = measurement.finish().result.unwrap();
    assert_eq!(figures.verdict, Verdict::ChangedBelowThreshold);
    assert!((figures.measured.threshold - 1.0 / 32.0).abs() < 1e-6, "{}", figures.measured.threshold);
    assert_eq!(figures.notes, [Note::LeastDifference { ns: 1.0 }]);
    let judged =
        |measurement: Measurement, ns| measurement.judged_from(ns).map(|judged| judged.finish().result.unwrap());
    // 0.86 ns; the threshold of the run is more than 0.3 ns.
    let smaller = judged(measurement.clone(), 0.3).unwrap();
    assert_eq!((smaller.verdict, smaller.measured.threshold), (Verdict::Faster, 0.01));
    assert_eq!(judged(measurement.clone(), 0.9).unwrap().verdict, Verdict::ChangedBelowThreshold);
    // One layout is not enough if changed code has no common place.
    measurement.settled.matched = false;
    assert!(judged(measurement, 0.3).is_none());
}

#[test]
fn a_test_that_is_not_clear_goes_on_to_the_next_look() {
    let clock = Clock::start(Duration::ZERO, HOUR, None);
    let clear = add_pairs(layouts_of(0.013), 16, 0.001, &clock);
    assert!(clear.is_over());
    let measured_so = check(&clear, Verdict::Same, None);
    assert_eq!((measured_so.layouts, measured_so.pairs), (8, 16));
    let open = add_pairs(layouts_of(0.005), 8, 0.03, &clock);
    assert!(!open.is_over());
    let next_look = |units: usize| add_pairs(layouts_of(0.005), units, 0.03, &clock).next_look();
    assert_eq!([0, 8, 16, 32, 64].map(next_look), [8, 16, 32, 64, usize::MAX]);
    assert!(add_pairs(layouts_of(0.005), 64, 0.03, &clock).is_over());
}

/// Returns a pair of five calls, the first of which does not count, with these ratios of head to base.
fn calls(ratios: [f64; 4]) -> PairEnd {
    let shape = Shape { repetitions: 1, batches: 4, warm: 0 };
    let side = |times: Vec<f64>| SideEnd { state: state::DONE, first_ns: 9e6, times, ..SideEnd::default() };
    let sides = Sides { base: side(vec![4e6; 4]), head: side(ratios.map(|ratio| 4e6 * ratio).to_vec()) };
    PairEnd { sides, shape, starter: Side::Base, timed_out: None, took: Duration::from_millis(40) }
}

/// Returns a series of independent calls, of which each unit has this many pairs, after these pairs.
fn series_of_calls(pairs_per_unit: usize, pairs: &[PairEnd]) -> Measurement {
    let config = Config { metering: None, ..config() };
    let comparison = Comparison::Calls { with_first: false };
    let settled = Settled { task: Task::Steady(calls([1.0; 4]).shape), comparison, ..settle(4e6, 4e6) };
    let unit = Unit::Pairs { pairs: pairs_per_unit, values: comparison.values(4) };
    let mut measurement = Measurement::new(&config, settled, unit, 0.001);
    let clock = Clock::start(Duration::ZERO, HOUR, None);
    for pair in pairs {
        assert_eq!(measurement.end, None);
        measurement.end = measurement.add(pair, &config, &clock);
    }
    measurement
}

#[test]
fn independent_calls_are_values_of_their_own() {
    let quiet = calls([1.0, 1.001, 0.999, 1.0]);
    let single = series_of_calls(1, &[quiet.clone(), quiet.clone(), quiet.clone()]);
    assert_eq!((single.pairs.values(), single.is_over(), single.next_look()), (12, false, 16));
    assert!(!single.finish().result.unwrap().has_level);
    let over = series_of_calls(1, &vec![quiet.clone(); 4]);
    assert!(over.is_over() && over.finish().result.unwrap().has_level);
    assert_eq!(check(&over, Verdict::Same, None).pairs, 4);
    // Two pairs give the means of their counterparts.
    let doubled = series_of_calls(2, &[calls([1.0, 1.0, 1.0, 1.1]), calls([1.0, 1.2, 1.0, 1.1])]);
    let values: Vec<f64> = doubled.pairs.sequential.log_ratios().iter().map(|value| value.exp()).collect();
    let expected = [1.0, 1.2_f64.sqrt(), 1.0, 1.1];
    assert!(values.iter().zip(expected).all(|(value, expected)| (value - expected).abs() < 1e-12), "{values:?}");
    let over = series_of_calls(2, &vec![quiet; 8]);
    assert!(over.is_over());
    assert_eq!(check(&over, Verdict::Same, None).pairs, 8);
}

#[test]
fn the_interval_has_its_level_from_the_first_look_that_can_decide() {
    let has_level = |alpha, pairs| {
        let config = Config { metering: None, alpha, ..config() };
        let settled = Settled { task: Task::Steady(pair(1.0).shape), ..settle(1e4, 1e4) };
        let mut series = Measurement::new(&config, settled, Unit::PAIR, 0.001);
        let clock = Clock::start(Duration::ZERO, HOUR, None);
        (0..pairs).for_each(|number| {
            let ratio = if number % 2 == 0 { 1.03 } else { 0.97 };
            series.add(&pair(ratio), &config, &clock);
        });
        series.finish().result.unwrap().has_level
    };
    assert_eq!([7, 8, 64].map(|pairs| has_level(0.01, pairs)), [false, true, true]);
    assert_eq!([8, 16].map(|pairs| has_level(0.001, pairs)), [false, true]);
}

#[test]
fn calls_that_are_alike_within_their_processes_say_less() {
    // The mean of the pairs changes, and all calls of a pair agree.
    let pairs = [1.02, 0.99, 1.01, 0.98].map(|ratio| calls([ratio; 4]));
    let Measured { change, .. } = series_of_calls(1, &pairs).finish().result.unwrap().measured;
    let mixed = [[1.02, 0.99, 1.01, 0.98], [0.99, 1.01, 0.98, 1.02]].map(calls);
    let pairs = [mixed.clone(), mixed].concat();
    let Measured { change: of_mixed, .. } = series_of_calls(1, &pairs).finish().result.unwrap().measured;
    assert!((change.high - change.low) > 1.9 * (of_mixed.high - of_mixed.low), "{change:?} {of_mixed:?}");
}

#[test]
fn extra_time_is_worth_it_where_a_change_is_in_doubt() {
    const BUDGET: Duration = Duration::from_secs(10);
    let clock = Clock::start(Duration::ZERO, HOUR, None);
    let config = Config { metering: None, ..config() };
    let ended = |change: f64, noise: f64, end: End| {
        let mut series = add_pairs(Unit::PAIR, 0, 0.0, &clock);
        for number in 0..8 {
            let noise = if number % 4 < 2 { 1.0 + noise } else { 1.0 / (1.0 + noise) };
            series.add(&pair((1.0 + change) * noise), &config, &clock);
        }
        Measurement { end: Some(end), budget: BUDGET, spent: BUDGET, ..series }
    };
    let probable = ended(0.03, 0.04, End::Done);
    assert!(probable.is_worth(2 * BUDGET));
    // 8 of 16 pairs.
    assert!(!probable.is_worth(BUDGET / 2) && !probable.is_worth(Duration::ZERO));
    let longer = probable.extend(2 * BUDGET);
    assert_eq!((longer.is_over(), longer.next_look(), longer.budget), (false, 16, 3 * BUDGET));
    // Nothing of 10 % is excluded.
    assert!(ended(0.0, 0.12, End::Done).is_worth(2 * BUDGET));
    assert!(!ended(0.0, 0.02, End::Done).is_worth(2 * BUDGET));
    assert!(!ended(0.0, 0.001, End::Done).is_worth(2 * BUDGET));
    assert!(!ended(0.03, 0.04, End::CutShort(Reason::BudgetUsedUp)).is_worth(2 * BUDGET));
}

#[test]
fn of_many_pairs_a_part_may_fail() {
    let end = SideEnd { state: state::FAILED_FIRST, ..SideEnd::default() };
    let shape = Shape { repetitions: 1, batches: 1, warm: 0 };
    let (sides, starter, took) = (Sides { base: end.clone(), head: end }, Side::Base, Duration::ZERO);
    let failing = PairEnd { sides, shape, starter, timed_out: None, took };
    let borne = |pair: &PairEnd, complete: usize| {
        let mut failures = Failures::default();
        (1..20).find(|_| failures.add(pair, Duration::from_secs(1), complete).is_some())
    };
    assert_eq!((borne(&failing, 8), borne(&failing, 140), borne(&failing, 512)), (Some(3), Some(3), Some(11)));
    assert_eq!(borne(&PairEnd { timed_out: Some(Side::Head), ..failing }, 512), Some(3));
}

#[test]
fn a_note_counts_failed_pairs_and_has_the_first_known_cause() {
    let how = Failure::Said("it is full".to_owned());
    let fails = Reason::Fails { side: FailedOn::Head, how, intermittent: true };
    let note = |reasons| Failures { reasons }.note(8);
    assert_eq!(note(vec![]), None);
    let expected = Note::FailedPairs { failed: 2, pairs: 10, why: fails.clone() };
    assert_eq!(note(vec![None, Some(fails)]), Some(expected));
}

#[test]
fn the_first_look_at_calls_has_four_units() {
    let comparison = Comparison::Calls { with_first: false };
    let settled = Settled { task: Task::Steady(calls([1.0; 4]).shape), comparison, ..settle(4e6, 4e6) };
    // Four pairs of five calls of 4 ms on each side.
    assert_eq!(
        (settled.first_look(1), settled.first_look(2)),
        (Duration::from_millis(160), Duration::from_millis(320))
    );
}
