use super::*;
use perfunit_model::{
    Basis, Bound, EffectClass, EffectSize, FailedOn, Failure, Mode, Readings, Sample, Sides, Threshold,
};

pub fn figures(verdict: Verdict, estimate: f64) -> Figures {
    let measured = Measured {
        change: Change { estimate, low: estimate - 0.01, high: estimate + 0.01 },
        base_ns: 100.0,
        head_ns: 100.0 * (1.0 + estimate),
        pairs: 8,
        layouts: 1,
        detectable: 0.02,
        p_value: 0.001,
        effect: EffectSize { d: 1.0, class: EffectClass::Large },
        mode: Mode::Steady,
        threshold: 0.1,
        asked: Threshold::new(0.1).unwrap(),
        sample: Sample::default(),
        bound: None,
        throughput: None,
    };
    let (notes, metrics) = (Vec::new(), Metrics::new());
    Figures {
        verdict,
        measured,
        spread: 0.01,
        seconds_per_pair: 0.01,
        has_level: true,
        first_calls_apart: None,
        notes,
        metrics,
    }
}

pub fn finding(figures: Figures) -> Finding {
    Finding { result: Ok(figures), reason: None, capture: None }
}

fn failed_finding(why: Reason) -> Finding {
    Finding { result: Err(why), reason: None, capture: None }
}

fn open(figures: Figures, why: Reason) -> Finding {
    Finding { reason: Some(why), ..finding(figures) }
}

/// Returns figures with this verdict on CPU time, and more allocations.
pub fn with_cpu_time(time: Verdict, verdict: MetricVerdict, ns: f64) -> Figures {
    let metered = |verdict, value| {
        let reading = Readings { value, low: value, high: value };
        let readings = Sides { base: reading, head: reading };
        Ok(Metered {
            verdict,
            readings,
            change: None,
            threshold: 0.02,
            basis: Basis::Pairs(8),
            programs: Vec::new(),
            names: Vec::new(),
        })
    };
    let mut figures = figures(time, 0.0);
    figures.metrics.insert(Metric::CpuTime, metered(verdict, ns));
    figures.metrics.insert(Metric::Allocations, metered(MetricVerdict::More, 3.0));
    figures
}

/// Builds the evidence of a test that is judged by its time.
fn screened_evidence(screening: Finding) -> Evidence {
    let criteria = Criteria { threshold: Threshold::default(), gates: vec![Metric::Time], accepted: None };
    let (places, spent) = (Placed::Matched, Spent { seconds: 2.5, pairs: 96 });
    Evidence { criteria, screening, places, confirmation: None, first_calls: FirstCalls::Unremarkable, spent }
}

fn confirmed_by(question: Question, screening: Finding, pairs: Finding) -> Evidence {
    let confirmation = Confirmation { question, pairs, instructions: None, closer: None, cpu_instructions: None };
    Evidence { places: question.agreement(), confirmation: Some(confirmation), ..screened_evidence(screening) }
}

/// Adds the change of instructions, as a confirmation with this doubt does.
fn with_instructions(mut evidence: Evidence, doubt: Doubt, change: Result<MetricVerdict, NotMetered>) -> Evidence {
    evidence.confirmation.as_mut().unwrap().instructions = Some(Instructions { doubt, change });
    evidence
}

#[track_caller]
fn check(evidence: &Evidence, expected: Verdict, reason: Option<Reason>) -> Figures {
    let end = verdict(evidence);
    assert_eq!((end.verdict, end.reason, end.spent), (expected, reason, evidence.spent));
    end.figures.unwrap()
}

const MATCHED: Question = Question::Pairs(Placed::Matched);
const DRAWN: Question = Question::Pairs(Placed::Drawn);
const UNCERTAIN: Question = Question::Pairs(Placed::Uncertain);

/// First pairs, question, fresh pairs (`None`: no time for a single one), verdict, reason, estimate of the reported series in
/// per cent, and notes.
type Row = (Verdict, Question, Option<Verdict>, Verdict, Option<Reason>, i32, &'static [Note]);

#[test]
fn the_table_of_pairs_is_complete() {
    use Verdict::{ChangedBelowThreshold as Below, Faster, Inconclusive, Same, Slower};
    let at_threshold = || Some(Reason::AtThreshold);
    let budget = || Some(Reason::BudgetUsedUp);
    let not_confirmed = || Some(Reason::NotConfirmed);
    let rows: &[Row] = &[
        (Slower, MATCHED, Some(Slower), Slower, None, 20, &[]),
        (Slower, MATCHED, Some(Faster), Inconclusive, not_confirmed(), -20, &[]),
        (Slower, MATCHED, Some(Below), Below, None, 4, &[Note::TakenBack]),
        (Slower, MATCHED, Some(Same), Same, None, 0, &[Note::TakenBack]),
        (Slower, MATCHED, Some(Inconclusive), Inconclusive, Some(Reason::Unconfirmed { seen: Slower }), 15, &[]),
        (Slower, MATCHED, None, Inconclusive, Some(Reason::Unconfirmed { seen: Slower }), 30, &[]),
        (Faster, MATCHED, Some(Faster), Faster, None, -20, &[]),
        (Faster, MATCHED, Some(Slower), Inconclusive, not_confirmed(), 20, &[]),
        (Faster, MATCHED, Some(Below), Below, None, 4, &[Note::TakenBack]),
        (Faster, MATCHED, Some(Same), Same, None, 0, &[Note::TakenBack]),
        (Faster, MATCHED, Some(Inconclusive), Inconclusive, not_confirmed(), 15, &[]),
        (Faster, MATCHED, None, Inconclusive, Some(Reason::Unconfirmed { seen: Faster }), -30, &[]),
        // Another metric was flagged: the verdict on time stays, unless its change is small and recurs.
        (Same, MATCHED, Some(Slower), Same, None, 1, &[]),
        (Same, MATCHED, None, Same, None, 1, &[]),
        (Inconclusive, MATCHED, Some(Slower), Inconclusive, at_threshold(), 12, &[]),
        (Below, MATCHED, Some(Slower), Slower, None, 20, &[]),
        (Below, MATCHED, Some(Faster), Below, None, 5, &[]),
        (Below, MATCHED, Some(Inconclusive), Below, None, 5, &[]),
        (Below, MATCHED, None, Below, None, 5, &[]),
        // Only a small change is in question.
        (Below, Question::Small, Some(Slower), Slower, None, 20, &[]),
        (Below, Question::Small, Some(Faster), Below, None, 5, &[]),
        (Below, Question::Small, Some(Same), Below, None, 5, &[]),
        (Below, Question::Small, Some(Inconclusive), Below, None, 5, &[]),
        (Below, Question::Small, None, Below, None, 5, &[]),
        // Drawn layouts decide, because one layout is not enough.
        (Same, DRAWN, Some(Slower), Slower, None, 20, &[Note::Layouts { layouts: 16 }]),
        (Same, DRAWN, Some(Same), Same, None, 0, &[Note::Layouts { layouts: 16 }]),
        (Same, UNCERTAIN, Some(Inconclusive), Inconclusive, at_threshold(), 15, &[Note::Layouts { layouts: 16 }]),
        (Same, UNCERTAIN, None, Inconclusive, budget(), 1, &[]),
        (Below, DRAWN, Some(Faster), Faster, None, -20, &[Note::Layouts { layouts: 16 }]),
        (Inconclusive, DRAWN, Some(Slower), Slower, None, 20, &[Note::Layouts { layouts: 16 }]),
        (Inconclusive, DRAWN, None, Inconclusive, budget(), 12, &[]),
        (Slower, UNCERTAIN, Some(Faster), Inconclusive, not_confirmed(), -20, &[Note::Layouts { layouts: 16 }]),
        (Slower, DRAWN, Some(Same), Same, None, 0, &[Note::TakenBack, Note::Layouts { layouts: 16 }]),
        (Faster, DRAWN, Some(Slower), Slower, None, 20, &[Note::Layouts { layouts: 16 }]),
        (Slower, DRAWN, None, Inconclusive, Some(Reason::Unconfirmed { seen: Slower }), 30, &[]),
    ];
    for row in rows {
        let (first, question, fresh, expected, reason, estimate, notes) = row;
        let of = |verdict, [slower, faster, below, same, inconclusive]: [i32; 5]| {
            let estimate = match verdict {
                Slower => slower,
                Faster => faster,
                Below => below,
                Same | Verdict::NotMeasured => same,
                Inconclusive => inconclusive,
            };
            let mut figures = figures(verdict, f64::from(estimate) / 100.0);
            figures.measured.asked = Threshold::new(0.01).unwrap();
            let reason = (verdict == Inconclusive).then_some(Reason::AtThreshold);
            Finding { reason, ..finding(figures) }
        };
        let fresh = fresh.map_or_else(
            || failed_finding(Reason::BudgetUsedUp),
            |verdict| {
                let mut fresh = of(verdict, [20, -20, 4, 0, 15]);
                fresh.result.as_mut().unwrap().measured.layouts =
                    if *question == DRAWN || *question == UNCERTAIN { 16 } else { 1 };
                fresh
            },
        );
        let end = verdict(&confirmed_by(*question, of(*first, [30, -30, 5, 1, 12]), fresh));
        let figures = end.figures.unwrap();
        assert_eq!((end.verdict, &end.reason, &*figures.notes), (*expected, reason, *notes), "{row:?}");
        assert_eq!((figures.measured.change.estimate * 100.0).round() as i32, *estimate, "{row:?}");
    }
}

#[test]
fn without_confirmation_the_first_pairs_decide() {
    for seen in [Verdict::Slower, Verdict::Same, Verdict::ChangedBelowThreshold] {
        check(&screened_evidence(finding(figures(seen, 0.3))), seen, None);
    }
    let open = open(figures(Verdict::Inconclusive, 0.3), Reason::TooNoisy);
    check(&screened_evidence(open), Verdict::Inconclusive, Some(Reason::TooNoisy));
    let because = FirstCallUnknown::BudgetUsedUp;
    let unknown = Evidence {
        first_calls: FirstCalls::Unknown(because.clone()),
        ..confirmed_by(MATCHED, finding(figures(Verdict::Slower, 0.3)), finding(figures(Verdict::Same, 0.0)))
    };
    let notes = check(&unknown, Verdict::Same, None).notes;
    assert_eq!(notes, [Note::FirstCallUnknown { because }, Note::TakenBack]);
}

#[test]
fn each_deciding_metric_that_pairs_judge_can_be_a_false_alarm() {
    use Metric::{Allocations, Cold, CpuTime, Instructions, PeakRss, Time};
    assert_eq!(verdicts_of_pairs(&[Time]), 2);
    assert_eq!(verdicts_of_pairs(&[Time, Allocations, CpuTime]), 3);
    assert_eq!(verdicts_of_pairs(&[Time, CpuTime, Cold, PeakRss, Instructions]), 4);
    assert_eq!(verdicts_of_pairs(&[Allocations]), 2);
}

#[test]
fn a_budget_that_ends_is_not_the_test_s_fault() {
    let check = |first: (Verdict, f64), fresh: Option<f64>, places, expected: Reason| {
        let fresh = match fresh {
            Some(estimate) => open(figures(Verdict::Inconclusive, estimate), Reason::BudgetUsedUp),
            // No time was left for a single pair.
            None => failed_finding(Reason::BudgetUsedUp),
        };
        let evidence = confirmed_by(Question::Pairs(places), finding(figures(first.0, first.1)), fresh);
        check(&evidence, Verdict::Inconclusive, Some(expected));
    };
    let slower = || Reason::Unconfirmed { seen: Verdict::Slower };
    check((Verdict::Slower, 0.3), Some(0.2), Placed::Matched, slower());
    check((Verdict::Slower, 0.3), None, Placed::Matched, slower());
    check((Verdict::Faster, -0.3), None, Placed::Matched, Reason::Unconfirmed { seen: Verdict::Faster });
    // Fresh pairs in the other direction do not make a loss probable.
    check((Verdict::Slower, 0.3), Some(-0.2), Placed::Matched, Reason::BudgetUsedUp);
    // Pairs that scatter widely around 0 do not either: the interval is 0.004 +- 0.01 against 0.006 +- 0.01.
    check((Verdict::Slower, 0.3), Some(0.004), Placed::Matched, Reason::BudgetUsedUp);
    check((Verdict::Slower, 0.3), Some(0.006), Placed::Matched, slower());
    check((Verdict::Same, 0.0), Some(0.0), Placed::Uncertain, Reason::BudgetUsedUp);
    check((Verdict::Same, 0.0), None, Placed::Uncertain, Reason::BudgetUsedUp);
}

#[test]
fn only_the_same_verdict_on_fresh_pairs_confirms() {
    let check = |fresh: Finding, expected, reason: Option<Reason>| {
        check(&confirmed_by(MATCHED, finding(figures(Verdict::Slower, 0.3)), fresh), expected, reason);
    };
    check(finding(figures(Verdict::Slower, 0.25)), Verdict::Slower, None);
    check(finding(figures(Verdict::Same, 0.0)), Verdict::Same, None);
    check(finding(figures(Verdict::ChangedBelowThreshold, 0.05)), Verdict::ChangedBelowThreshold, None);
    check(finding(figures(Verdict::Faster, -0.3)), Verdict::Inconclusive, Some(Reason::NotConfirmed));
    check(finding(figures(Verdict::Inconclusive, 0.3)), Verdict::Inconclusive, Some(Reason::NotConfirmed));
    let probably = Reason::Unconfirmed { seen: Verdict::Slower };
    check(failed_finding(Reason::Interrupted), Verdict::Inconclusive, Some(probably));
}

#[test]
fn a_small_change_counts_if_fresh_pairs_show_it_and_else_stays_as_it_was() {
    let of = |verdict, estimate| {
        let mut figures = figures(verdict, estimate);
        figures.measured.asked = Threshold::new(0.01).unwrap();
        finding(figures)
    };
    let below = || of(Verdict::ChangedBelowThreshold, -0.03);
    let check = |fresh: Verdict, estimate, expected: Verdict, reported: f64| {
        let figures = check(&confirmed_by(Question::Small, below(), of(fresh, estimate)), expected, None);
        assert!((figures.measured.change.estimate - reported).abs() < 1e-12);
    };
    check(Verdict::Faster, -0.028, Verdict::Faster, -0.028);
    check(Verdict::Slower, 0.028, Verdict::ChangedBelowThreshold, -0.03);
    for verdict in [Verdict::Inconclusive, Verdict::Same, Verdict::ChangedBelowThreshold] {
        check(verdict, -0.02, Verdict::ChangedBelowThreshold, -0.03);
    }
    let cut = verdict(&confirmed_by(Question::Small, below(), failed_finding(Reason::Interrupted)));
    assert_eq!(cut.verdict, Verdict::ChangedBelowThreshold);
}

#[test]
fn pairs_judged_closer_decide_if_instructions_changed_alike() {
    let below = || finding(figures(Verdict::ChangedBelowThreshold, 0.03));
    let check = |instructions: Result<_, _>, closer: Option<Verdict>, expected, reported: f64| {
        let first = finding(figures(Verdict::Slower, 0.3));
        let mut evidence = with_instructions(confirmed_by(MATCHED, first, below()), Doubt::Usual, instructions);
        evidence.confirmation.as_mut().unwrap().closer = closer.map(|verdict| finding(figures(verdict, 0.028)));
        let figures = check(&evidence, expected, None);
        assert!((figures.measured.change.estimate - reported).abs() < 1e-12);
    };
    check(Ok(MetricVerdict::More), Some(Verdict::Slower), Verdict::Slower, 0.028);
    check(Ok(MetricVerdict::More), Some(Verdict::Faster), Verdict::ChangedBelowThreshold, 0.03);
    check(Ok(MetricVerdict::More), Some(Verdict::Inconclusive), Verdict::ChangedBelowThreshold, 0.03);
    check(Ok(MetricVerdict::Same), None, Verdict::ChangedBelowThreshold, 0.03);
}

#[test]
fn the_figures_of_a_confirmed_test_are_those_of_the_fresh_pairs() {
    let (first, fresh) = (figures(Verdict::Slower, 0.3), figures(Verdict::Slower, 0.25));
    let figures = check(&confirmed_by(MATCHED, finding(first), finding(fresh)), Verdict::Slower, None);
    assert!((figures.measured.change.estimate - 0.25).abs() < 1e-12);
}

#[track_caller]
fn check_cpu_time(before: MetricVerdict, fresh: MetricVerdict, expected: MetricVerdict) {
    let first = with_cpu_time(Verdict::Same, before, 100.0);
    let mut after = with_cpu_time(Verdict::Inconclusive, fresh, 200.0);
    after.metrics.remove(&Metric::Allocations);
    // Time was not flagged, so it needs no confirmation.
    let figures = check(&confirmed_by(MATCHED, finding(first), finding(after)), Verdict::Same, None);
    assert_eq!(figures.metrics[&Metric::CpuTime].as_ref().unwrap().verdict, expected);
    assert_eq!(figures.metrics[&Metric::Allocations].as_ref().unwrap().verdict, MetricVerdict::More);
}

#[test]
fn metrics_of_pairs_are_confirmed_as_time_is() {
    use MetricVerdict::{ChangedBelowThreshold, Inconclusive, Less, More, Same};
    check_cpu_time(More, More, More);
    check_cpu_time(More, Same, Same);
    check_cpu_time(More, ChangedBelowThreshold, ChangedBelowThreshold);
    check_cpu_time(More, Less, Inconclusive);
    check_cpu_time(More, Inconclusive, Inconclusive);
    // Metrics that were not flagged stay.
    check_cpu_time(Same, More, Same);
}

#[test]
fn cpu_time_needs_instructions_where_placement_explains_its_change() {
    let check = |change, expected| {
        let of = || finding(with_cpu_time(Verdict::Same, MetricVerdict::More, 100.0));
        let mut evidence = confirmed_by(MATCHED, of(), of());
        let confirmation = evidence.confirmation.as_mut().unwrap();
        confirmation.cpu_instructions = Some(Instructions { doubt: Doubt::Usual, change });
        let figures = check(&evidence, Verdict::Same, None);
        assert_eq!(figures.metrics[&Metric::CpuTime].as_ref().unwrap().verdict, expected);
    };
    check(Ok(MetricVerdict::More), MetricVerdict::More);
    check(Ok(MetricVerdict::Less), MetricVerdict::Inconclusive);
    check(Err(NotMetered::TooLong), MetricVerdict::Inconclusive);
}

#[test]
fn a_small_change_of_time_is_not_lost_beside_another_metric_s() {
    let of = |verdict, estimate: f64| {
        let mut figures = with_cpu_time(verdict, MetricVerdict::More, 103.0);
        figures.measured.change = Change { estimate, low: estimate - 0.001, high: estimate + 0.001 };
        figures.measured.asked = Threshold::new(0.01).unwrap();
        finding(figures)
    };
    let check = |first: f64, fresh, expected| {
        check(&confirmed_by(MATCHED, of(Verdict::ChangedBelowThreshold, first), of(fresh, 0.03)), expected, None);
    };
    check(0.03, Verdict::Slower, Verdict::Slower);
    check(0.03, Verdict::Inconclusive, Verdict::ChangedBelowThreshold);
    check(0.009, Verdict::Slower, Verdict::ChangedBelowThreshold);
}

#[test]
fn fresh_pairs_decide_on_metrics_that_few_pairs_left_open() {
    let of = |metric, head_ns| finding(with_cpu_time(Verdict::Slower, metric, head_ns));
    let check = |first, fresh, expected| {
        let evidence = confirmed_by(MATCHED, of(first, 103.0), of(fresh, 110.0));
        let metric = check(&evidence, Verdict::Slower, None).metrics[&Metric::CpuTime].clone().unwrap();
        assert_eq!(metric.verdict, expected);
    };
    check(MetricVerdict::Inconclusive, MetricVerdict::More, MetricVerdict::More);
    check(MetricVerdict::Inconclusive, MetricVerdict::Inconclusive, MetricVerdict::Inconclusive);
    check(MetricVerdict::Less, MetricVerdict::More, MetricVerdict::Inconclusive);
    // Clear verdicts are not confirmed.
    check(MetricVerdict::Same, MetricVerdict::More, MetricVerdict::Same);
}

#[test]
fn layouts_decide_on_verdicts_that_rest_on_places() {
    let first = finding(with_cpu_time(Verdict::Same, MetricVerdict::Same, 100.0));
    assert!(super::super::doubt::rests_on_places(&first));
    let check = |fresh: Verdict, metric, reason: Option<Reason>| {
        let mut after = with_cpu_time(fresh, metric, 110.0);
        after.measured.layouts = 16;
        let figures = check(&confirmed_by(UNCERTAIN, first.clone(), finding(after)), fresh, reason);
        assert_eq!(figures.metrics[&Metric::CpuTime].as_ref().unwrap().verdict, metric);
        assert_eq!(figures.notes, [Note::Layouts { layouts: 16 }]);
    };
    check(Verdict::Slower, MetricVerdict::More, None);
    check(Verdict::Same, MetricVerdict::Same, None);
    check(Verdict::Inconclusive, MetricVerdict::Inconclusive, Some(Reason::TooNoisy));
}

#[test]
fn changes_that_placement_explains_count_only_with_other_work() {
    use MetricVerdict::{ChangedBelowThreshold, Less, More, Same};
    let check = |first: Verdict, instructions: Result<_, _>, expected: Verdict| {
        let estimate = if first == Verdict::Slower { 0.013 } else { -0.013 };
        let of = || finding(figures(first, estimate));
        let evidence = with_instructions(confirmed_by(UNCERTAIN, of(), of()), Doubt::Usual, instructions.clone());
        let why = Reason::AsPlacesDo { seen: first, instructions };
        check(&evidence, expected, (expected == Verdict::Inconclusive).then_some(why));
    };
    check(Verdict::Slower, Ok(More), Verdict::Slower);
    check(Verdict::Faster, Ok(Less), Verdict::Faster);
    let others = [Ok(Same), Ok(Less), Ok(ChangedBelowThreshold), Ok(MetricVerdict::Varies), Err(NotMetered::TooLong)];
    for instructions in others {
        check(Verdict::Slower, instructions, Verdict::Inconclusive);
    }
    check(Verdict::Faster, Ok(More), Verdict::Inconclusive);
    // Placement is also the reason if fresh pairs contradict the first ones.
    let (first, fresh) = (finding(figures(Verdict::Slower, 0.013)), finding(figures(Verdict::Faster, -0.013)));
    let contrary = with_instructions(confirmed_by(MATCHED, first, fresh), Doubt::Usual, Ok(Same));
    let why = Reason::AsPlacesDo { seen: Verdict::Faster, instructions: Ok(Same) };
    let end = verdict(&contrary);
    assert_eq!((end.verdict, end.reason), (Verdict::Inconclusive, Some(why)));
}

#[test]
fn changes_that_placement_rarely_explains_count_if_the_instructions_do_not_contradict_them() {
    use MetricVerdict::{ChangedBelowThreshold, Less, More, Same, Varies};
    let check = |doubt, estimate, instructions: Result<_, _>, expected: Verdict| {
        let of = || finding(figures(Verdict::Slower, estimate));
        let evidence = with_instructions(confirmed_by(MATCHED, of(), of()), doubt, instructions);
        assert_eq!(verdict(&evidence).verdict, expected);
    };
    for contrary in [Same, ChangedBelowThreshold, Less] {
        check(Doubt::Rare, 0.13, Ok(contrary), Verdict::Inconclusive);
    }
    for known in [Ok(More), Ok(Varies), Err(NotMetered::TooLong)] {
        check(Doubt::Rare, 0.13, known, Verdict::Slower);
    }
    check(Doubt::Remote, 0.05, Ok(Same), Verdict::Inconclusive);
    // Fewer instructions can take longer.
    for known in [Ok(Less), Ok(More), Ok(Varies), Err(NotMetered::TooLong)] {
        check(Doubt::Remote, 0.05, known, Verdict::Slower);
    }
}

#[test]
fn a_change_that_fresh_pairs_put_just_below_the_threshold_is_not_called_unconfirmed() {
    let fresh = |estimate| {
        let mut figures = figures(Verdict::Inconclusive, estimate);
        figures.measured.threshold = 0.05;
        Finding { reason: Some(Reason::AtThreshold), ..finding(figures) }
    };
    let check = |estimate, reason| {
        let evidence = confirmed_by(MATCHED, finding(figures(Verdict::Slower, 0.06)), fresh(estimate));
        check(&evidence, Verdict::Inconclusive, Some(reason));
    };
    check(0.049, Reason::AtThreshold);
    check(0.055, Reason::Unconfirmed { seen: Verdict::Slower });
}

#[test]
fn instructions_that_the_run_had_no_time_to_count_leave_a_change_unconfirmed() {
    let check = |why, expected| {
        let of = || finding(figures(Verdict::Slower, 0.013));
        let evidence = with_instructions(confirmed_by(MATCHED, of(), of()), Doubt::Usual, Err(why));
        check(&evidence, Verdict::Inconclusive, Some(expected));
    };
    check(NotMetered::BudgetUsedUp, Reason::Unconfirmed { seen: Verdict::Slower });
    check(NotMetered::Interrupted, Reason::Unconfirmed { seen: Verdict::Slower });
}

/// Returns figures of first calls of 100 us.
fn first_calls(verdict: Verdict, estimate: f64) -> Figures {
    let mut figures = figures(verdict, estimate);
    figures.measured.base_ns = 100_000.0;
    figures.measured.head_ns = 100_000.0 * (1.0 + estimate);
    figures
}

fn with_first_calls(later: Finding, first: Figures, fresh: Finding) -> Evidence {
    let first_calls = FirstCalls::Flagged { first: Box::new(first), fresh: Box::new(fresh) };
    Evidence { first_calls, ..screened_evidence(later) }
}

/// Builds the evidence of a test with flagged first calls and with unchanged later calls.
fn flagged_evidence(seen: Verdict, fresh: Finding) -> Evidence {
    let estimate = if seen == Verdict::Slower { 0.5 } else { -0.4 };
    with_first_calls(finding(figures(Verdict::Same, 0.0)), first_calls(seen, estimate), fresh)
}

#[test]
fn a_first_call_that_shows_again_is_the_test_s_verdict() {
    let evidence = flagged_evidence(Verdict::Slower, finding(first_calls(Verdict::Slower, 0.4)));
    let figures = check(&evidence, Verdict::Slower, None);
    assert!(matches!(figures.notes[0], Note::FirstCallDecides { .. }), "{figures:?}");
}

/// Returns the end of a test with this verdict on its later calls and with the same change of its first calls twice.
fn verdict_with(later: Verdict, first: Verdict, estimate: f64) -> (Verdict, Option<Reason>) {
    let reason = (later == Verdict::Inconclusive).then_some(Reason::TooNoisy);
    let later = Finding { reason, ..finding(figures(later, 0.0)) };
    let end = verdict(&with_first_calls(later, first_calls(first, estimate), finding(first_calls(first, estimate))));
    (end.verdict, end.reason)
}

#[test]
fn a_faster_first_call_is_no_verdict_on_later_calls_that_are_open_or_slower() {
    let check = |later, expected| assert_eq!(verdict_with(later, Verdict::Faster, -0.5), expected);
    check(Verdict::Inconclusive, (Verdict::Inconclusive, Some(Reason::TooNoisy)));
    check(Verdict::Slower, (Verdict::Slower, None));
    check(Verdict::Faster, (Verdict::Faster, None));
    check(Verdict::Same, (Verdict::Faster, None));
    check(Verdict::ChangedBelowThreshold, (Verdict::Faster, None));
}

#[test]
fn a_slower_first_call_is_the_verdict_whatever_later_calls_are() {
    for later in [Verdict::Inconclusive, Verdict::Same, Verdict::Faster, Verdict::Slower] {
        assert_eq!(verdict_with(later, Verdict::Slower, 0.5), (Verdict::Slower, None));
    }
}

#[test]
fn a_first_call_that_does_not_show_again_leaves_a_note() {
    let check = |seen, fresh: Finding, note: Note| {
        let figures = check(&flagged_evidence(seen, fresh), Verdict::Same, None);
        assert_eq!(figures.notes, [note]);
    };
    check(Verdict::Slower, finding(first_calls(Verdict::Same, 0.0)), Note::FirstCallTakenBack);
    check(Verdict::Slower, finding(first_calls(Verdict::Faster, -0.5)), Note::FirstCallTakenBack);
    // The difference is too small to matter.
    check(Verdict::Slower, finding(figures(Verdict::Slower, 0.5)), Note::FirstCallTakenBack);
    // A gain that is not confirmed does not count.
    check(Verdict::Faster, finding(first_calls(Verdict::Inconclusive, -0.4)), Note::FirstCallNotConfirmed);
    let why = Reason::BudgetUsedUp;
    check(Verdict::Faster, failed_finding(why.clone()), Note::FirstCallNotMeasuredAgain { why });
}

#[test]
fn fresh_pairs_decide_on_first_calls_that_are_probably_slower() {
    let check = |estimate: f64, fresh: Figures, expected, reason: Option<Reason>| {
        let first = first_calls(Verdict::Inconclusive, estimate);
        check(&with_first_calls(finding(figures(Verdict::Same, 0.0)), first, finding(fresh)), expected, reason);
    };
    let open = Some(Reason::NotConfirmed);
    check(0.5, first_calls(Verdict::Slower, 0.4), Verdict::Slower, None);
    check(0.5, first_calls(Verdict::Inconclusive, 0.4), Verdict::Inconclusive, open);
    check(0.5, first_calls(Verdict::Inconclusive, -0.4), Verdict::Same, None);
    check(0.5, first_calls(Verdict::Same, 0.0), Verdict::Same, None);
}

#[test]
fn a_slower_first_call_that_is_neither_confirmed_nor_refuted_leaves_the_test_open() {
    let check = |fresh: Finding, expected: Reason| {
        let figures = check(&flagged_evidence(Verdict::Slower, fresh), Verdict::Inconclusive, Some(expected));
        assert!(figures.notes.iter().any(|note| matches!(note, Note::FirstCallDecides { .. })), "{figures:?}");
    };
    let seen = || Reason::Unconfirmed { seen: Verdict::Slower };
    let unsure = |estimate| first_calls(Verdict::Inconclusive, estimate);
    check(open(unsure(0.5), Reason::TooNoisy), Reason::NotConfirmed);
    check(open(unsure(0.5), Reason::BudgetUsedUp), seen());
    check(open(unsure(-0.5), Reason::BudgetUsedUp), Reason::BudgetUsedUp);
    check(failed_finding(Reason::BudgetUsedUp), seen());
    let how = Failure::Said("it is full".to_owned());
    let fails = || Reason::Fails { side: FailedOn::Head, how: how.clone(), intermittent: false };
    check(failed_finding(fails()), fails());
    // Later calls that are slower decide on their own.
    let slower = with_first_calls(
        finding(figures(Verdict::Slower, 0.3)),
        first_calls(Verdict::Slower, 0.5),
        failed_finding(Reason::BudgetUsedUp),
    );
    assert_eq!(verdict(&slower).verdict, Verdict::Slower);
}

fn accept_loss(loss: f64, mode: Mode) -> AcceptedLoss {
    let (test, reason, date) = Default::default();
    AcceptedLoss { test, loss, mode, reason, date }
}

fn report(figures: &Figures, accepted: Option<AcceptedLoss>) -> (Verdict, Measured) {
    let mut evidence = screened_evidence(finding(figures.clone()));
    evidence.criteria.accepted = accepted;
    let end = verdict(&evidence);
    (end.verdict, end.figures.unwrap().measured)
}

#[test]
fn reported_figures_are_relative_to_base() {
    let (figures, loss) = (figures(Verdict::Same, 0.0), accept_loss(0.5, Mode::Steady));
    let (verdict, measured) = report(&figures, Some(loss));
    assert_eq!(verdict, Verdict::Same);
    assert!((measured.change.estimate - 0.5).abs() < 1e-12, "{measured:?}");
    assert!(measured.change.low < 0.5 && measured.change.high > 0.5);
    assert_eq!(report(&figures, None).1, figures.measured);
    // An accepted loss of first calls does not apply to later calls.
    assert_eq!(report(&figures, Some(accept_loss(0.5, Mode::FirstCall))).1, figures.measured);
}

#[test]
fn single_calls_are_relative_to_base_already() {
    let mut figures = figures(Verdict::Slower, 19.0);
    figures.measured.bound = Some(Bound { ratio: 20.0, limit_ns: None, calls: Sides { base: 62, head: 2 } });
    let reported = report(&figures, Some(accept_loss(2.0, Mode::Steady)));
    assert_eq!(reported, (Verdict::Slower, figures.measured));
}

fn metrics(said: &[(Metric, MetricVerdict)]) -> Metrics {
    let reading = Readings { value: 12.0, low: 12.0, high: 12.0 };
    let metered = |verdict| Metered {
        verdict,
        readings: Sides { base: reading, head: reading },
        change: None,
        threshold: 0.01,
        basis: Basis::Calls(5),
        programs: Vec::new(),
        names: Vec::new(),
    };
    said.iter().map(|(metric, verdict)| (*metric, Ok(metered(*verdict)))).collect()
}

/// Returns the end of a test that is decided by these metrics.
fn decide_by_gates(gates: &[Metric], time: Verdict, metrics: Metrics) -> (Verdict, Option<Reason>) {
    let mut evidence = screened_evidence(finding(Figures { metrics, ..figures(time, 0.3) }));
    evidence.criteria.gates = gates.to_vec();
    let end = verdict(&evidence);
    assert_eq!(end.figures.unwrap().verdict, time);
    (end.verdict, end.reason)
}

#[track_caller]
fn check_gate(gates: &[Metric], said: &[(Metric, MetricVerdict)], expected: Verdict) {
    assert_eq!(decide_by_gates(gates, Verdict::Slower, metrics(said)).0, expected);
}

#[test]
fn only_the_metrics_that_decide_count() {
    let more = [(Metric::Allocations, MetricVerdict::More), (Metric::PeakHeap, MetricVerdict::Same)];
    check_gate(&[Metric::Time], &more, Verdict::Slower);
    check_gate(&[], &more, Verdict::Slower);
    check_gate(&[Metric::Allocations], &more, Verdict::Slower);
    check_gate(&[Metric::PeakHeap], &more, Verdict::Same);
    check_gate(&[Metric::PeakHeap, Metric::Allocations], &more, Verdict::Slower);
    check_gate(&[Metric::Allocations], &[(Metric::Allocations, MetricVerdict::Less)], Verdict::Faster);
}

#[test]
fn unknown_metrics_do_not_pass() {
    let (verdict, reason) = decide_by_gates(&[Metric::Instructions], Verdict::Same, Metrics::new());
    assert_eq!(verdict, Verdict::Inconclusive);
    assert_eq!(reason, Some(Reason::MetricUnknown { metric: Metric::Instructions, why: NoVerdict::NotLookedAt }));
    let own = Metrics::from([(Metric::Allocations, Err(NotMetered::OwnAllocator))]);
    let (_, reason) = decide_by_gates(&[Metric::Allocations], Verdict::Faster, own);
    let why = NoVerdict::NotMetered(NotMetered::OwnAllocator);
    assert_eq!(reason, Some(Reason::MetricUnknown { metric: Metric::Allocations, why }));
    check_gate(&[Metric::PeakHeap], &[(Metric::PeakHeap, MetricVerdict::Varies)], Verdict::Inconclusive);
    let mut evidence = screened_evidence(failed_finding(Reason::Ignored));
    evidence.criteria.gates = vec![Metric::PeakHeap];
    let end = super::verdict(&evidence);
    assert_eq!((end.verdict, end.reason), (Verdict::NotMeasured, Some(Reason::Ignored)));
    assert_eq!((end.figures, end.cross_check), (None, None));
}

#[track_caller]
fn check_work(time: Verdict, allocations: MetricVerdict, instructions: MetricVerdict, expected: Option<&CrossCheck>) {
    let metrics = metrics(&[(Metric::Allocations, allocations), (Metric::Instructions, instructions)]);
    let mut evidence = screened_evidence(finding(Figures { metrics, ..figures(time, 0.3) }));
    assert_eq!(verdict(&evidence).cross_check.as_ref(), expected);
    evidence.criteria.accepted = Some(accept_loss(0.5, Mode::Steady));
    assert_eq!(verdict(&evidence).cross_check, None);
}

#[test]
fn time_without_work_is_suspect() {
    let (same, less) = (MetricVerdict::Same, MetricVerdict::Less);
    check_work(Verdict::Slower, same, same, Some(&CrossCheck::Suspect));
    check_work(Verdict::Faster, same, MetricVerdict::ChangedBelowThreshold, Some(&CrossCheck::Suspect));
    check_work(Verdict::Faster, same, less, None);
    check_work(Verdict::Slower, MetricVerdict::Varies, same, None);
    assert_eq!(cross_check(Verdict::Slower, &metrics(&[(Metric::Allocations, same)])), None);
}

#[test]
fn more_work_without_time_is_worth_a_warning() {
    let (same, more) = (MetricVerdict::Same, MetricVerdict::More);
    check_work(Verdict::Same, more, same, Some(&CrossCheck::WorkAlone(vec![Metric::Allocations])));
    let both = CrossCheck::WorkAlone(vec![Metric::Allocations, Metric::Instructions]);
    check_work(Verdict::Same, more, more, Some(&both));
    check_work(Verdict::Same, MetricVerdict::Less, same, None);
    check_work(Verdict::Inconclusive, more, more, None);
}

/// Returns figures with an interval of 3 % to both sides, of this many values.
fn of_values(values: usize, verdict: Verdict, estimate: f64) -> Figures {
    let mut figures = figures(verdict, estimate);
    figures.measured.change = Change { estimate, low: estimate - 0.03, high: estimate + 0.03 };
    figures.measured.base_ns = 1000.0;
    figures.measured.sample.estimates = vec![estimate; values];
    figures.has_level = values >= 8;
    figures
}

/// Returns the largest slowdown that the evidence leaves possible, in hundredths of a per cent.
fn slower(evidence: &Evidence) -> Option<i32> {
    verdict(evidence).possible.map(|possible| (10_000.0 * possible.slower).round() as i32)
}

#[test]
fn only_an_interval_of_enough_values_and_of_time_alone_bounds_a_change() {
    let noisy = |values| screened_evidence(open(of_values(values, Verdict::Inconclusive, 0.01), Reason::TooNoisy));
    assert_eq!([7, 8, 64].map(|values| slower(&noisy(values))), [None, Some(400), Some(400)]);
    let by_calls = |mut evidence: Evidence| {
        let calls = Sides { base: 62, head: 2 };
        let bound = Bound { ratio: 3.0, limit_ns: None, calls };
        evidence.screening.result.as_mut().unwrap().measured.bound = Some(bound);
        evidence
    };
    assert_eq!(slower(&by_calls(noisy(8))), None);
    let gated = |gates: &[Metric]| {
        let criteria = Criteria { gates: gates.to_vec(), ..noisy(8).criteria };
        slower(&Evidence { criteria, ..noisy(8) })
    };
    assert_eq!((gated(&[]), gated(&[Metric::Time, Metric::Allocations])), (Some(400), None));
    assert_eq!(slower(&screened_evidence(failed_finding(Reason::BudgetUsedUp))), None);
}

#[test]
fn one_layout_bounds_little_where_code_lies_elsewhere() {
    let noisy = || screened_evidence(open(of_values(8, Verdict::Inconclusive, 0.0), Reason::TooNoisy));
    let at = |places| slower(&Evidence { places, ..noisy() });
    // 1.03 * 1.15.
    assert_eq!([Placed::Matched, Placed::Drawn, Placed::Uncertain].map(at), [Some(300), Some(1845), Some(1845)]);
    // The budget ended before a layout was drawn.
    let screening = || open(of_values(8, Verdict::Inconclusive, 0.0), Reason::TooNoisy);
    assert_eq!(slower(&confirmed_by(DRAWN, screening(), failed_finding(Reason::BudgetUsedUp))), Some(1845));
    // Drawn layouts include the effect of placement, except the effect of alignment in all of them: 1.05 * 1.02 and, of
    // 100 ns, 1.05 * 1.05.
    let fresh = || open(of_values(16, Verdict::Inconclusive, 0.02), Reason::TooNoisy);
    assert_eq!(slower(&confirmed_by(DRAWN, screening(), fresh())), Some(500));
    assert_eq!(slower(&confirmed_by(UNCERTAIN, screening(), fresh())), Some(710));
    let mut small = fresh();
    small.result.as_mut().unwrap().measured.base_ns = 100.0;
    assert_eq!(slower(&confirmed_by(UNCERTAIN, screening(), small)), Some(1025));
    assert_eq!(
        slower(&confirmed_by(DRAWN, screening(), open(of_values(7, Verdict::Inconclusive, 0.0), Reason::TooNoisy))),
        None
    );
}

#[test]
fn a_change_that_does_not_count_is_bounded_with_what_can_explain_it() {
    let seen = |change, doubt| {
        let screening = finding(of_values(8, Verdict::Slower, 0.04));
        let fresh = finding(of_values(16, change, 0.04));
        with_instructions(confirmed_by(DRAWN, screening, fresh), doubt, Ok(MetricVerdict::Same))
    };
    // 1.07 * 1.02, 1.07 * 1.1 and 1.07 * 1.5.
    assert_eq!(slower(&seen(Verdict::Slower, Doubt::Usual)), Some(914));
    assert_eq!(slower(&seen(Verdict::Slower, Doubt::Remote)), Some(1770));
    assert_eq!(slower(&seen(Verdict::Slower, Doubt::Rare)), Some(6050));
    // The first pairs are slower and the fresh ones faster: one of the two series is wrong.
    assert_eq!(slower(&seen(Verdict::Faster, Doubt::Usual)), None);
    let contradicting = confirmed_by(
        MATCHED,
        finding(of_values(8, Verdict::Slower, 0.04)),
        finding(of_values(16, Verdict::Faster, -0.04)),
    );
    assert_eq!(slower(&contradicting), None);
}

#[test]
fn first_calls_that_decide_bound_nothing() {
    let first = Box::new(of_values(8, Verdict::Slower, 0.5));
    let fresh = Box::new(open(of_values(8, Verdict::Inconclusive, 0.4), Reason::TooNoisy));
    let later = screened_evidence(finding(of_values(8, Verdict::Same, 0.0)));
    assert_eq!(slower(&later), Some(300));
    assert_eq!(slower(&Evidence { first_calls: FirstCalls::Flagged { first, fresh }, ..later }), None);
}

#[test]
fn a_bound_is_relative_to_an_accepted_loss() {
    let (test, reason, date) = ("t".to_owned(), String::new(), String::new());
    let accepted = Some(AcceptedLoss { test, loss: 0.2, mode: Mode::Steady, reason, date });
    let evidence = screened_evidence(open(of_values(8, Verdict::Inconclusive, 0.01), Reason::TooNoisy));
    let evidence = Evidence { criteria: Criteria { accepted, ..evidence.criteria }, ..evidence };
    assert_eq!(slower(&evidence), Some(400));
}
