//! What is said in the end of a test that was flagged, given what fresh pairs say. Pure.

use super::doubt::is_small;
use super::layouts::Placed;
use super::secondary_metrics::OF_PAIRS;
use super::subject::{Ended, Figures};
use perfunit_decide as decide;
use perfunit_model::{Metered, Metric, MetricVerdict, Metrics, NotMetered, Note, Reason, Verdict};

/// Whether something that decides changed by what pairs say: what is counted was read again already.
pub fn is_flagged(end: &Ended, gates: &[Metric]) -> bool {
    end.result.as_ref().is_ok_and(|figures| {
        let of_pairs = OF_PAIRS.into_iter().filter(|metric| gates.contains(metric));
        figures.verdict.is_change() || of_pairs.filter_map(|metric| figures.metrics.get(&metric)).any(is_flagged_metric)
    })
}

/// How many verdicts pairs give on a test with these gates, each of which can be a false alarm: of wall time, of the first
/// call's, and of the others that pairs tell. Wall time is confirmed even if nothing but counts decides.
pub fn verdicts_of_pairs(gates: &[Metric]) -> usize {
    let is_of_pairs = |metric: &&Metric| **metric == Metric::Time || OF_PAIRS.contains(metric);
    1 + gates.iter().filter(is_of_pairs).count().max(1)
}

fn is_flagged_metric(metered: &std::result::Result<Metered, NotMetered>) -> bool {
    metered.as_ref().is_ok_and(|metered| metered.verdict.is_change())
}

/// Whether time was said to have changed.
pub fn has_changed(end: &Ended) -> bool {
    end.result.as_ref().is_ok_and(|figures| figures.verdict.is_change())
}

/// Whether what was said may be due to the one layout that it was said of.
pub fn rests_on_places(end: &Ended) -> bool {
    end.result.as_ref().is_ok_and(|figures| {
        decide::rests_on_layout(figures.verdict, &figures.measured.change, figures.measured.threshold)
    })
}

/// Joins what the first pairs of a test said with what fresh ones say: of time, if that was flagged or rests on places, and
/// of the rest that pairs tell.
pub fn confirmed(first: &Ended, fresh: Ended, places: Placed) -> Ended {
    let Ok(before) = &first.result else { return first.clone() };
    let none = Metrics::new();
    let metrics_of_fresh = fresh.result.as_ref().map_or(&none, |fresh| &fresh.metrics);
    let metrics = confirmed_metrics(&before.metrics, metrics_of_fresh, places);
    let is_checked = before.verdict.is_change() || places != Placed::Matched;
    let mut end = if is_checked {
        confirmed_time(first, fresh)
    } else if let Some(flagged) = flagged_as_small(first, &fresh).filter(|_| is_small(first)) {
        confirmed_time(&flagged, fresh)
    } else {
        first.clone()
    };
    if let Ok(figures) = &mut end.result {
        figures.metrics = metrics;
        if places != Placed::Matched && figures.measured.layouts > 1 {
            let layouts = figures.measured.layouts;
            figures.notes.push(Note::Layouts { layouts });
        }
    }
    end
}

fn confirmed_metrics(first: &Metrics, fresh: &Metrics, places: Placed) -> Metrics {
    let joined = |(metric, before): (&Metric, &std::result::Result<Metered, NotMetered>)| {
        let rests_on_places = places != Placed::Matched && *metric == Metric::CpuTime;
        // Few pairs cannot claim a change of a metric that does not decide; the fresh ones are more.
        let is_open = matches!(before, Ok(known) if known.verdict == MetricVerdict::Inconclusive);
        let is_checked = OF_PAIRS.contains(metric) && (is_flagged_metric(before) || is_open || rests_on_places);
        let (Ok(known), true) = (before, is_checked) else { return (*metric, before.clone()) };
        let joined = match fresh.get(metric) {
            Some(Ok(after)) => {
                Metered { verdict: decide::on_fresh_values(known.verdict, after.verdict), ..after.clone() }
            }
            _ => Metered { verdict: MetricVerdict::Inconclusive, ..known.clone() },
        };
        (*metric, Ok(joined))
    };
    first.iter().map(joined).collect()
}

/// Joins what the first pairs of a test said, whose change was too small to count, with fresh pairs and instructions: that it
/// counts, or else nothing.
pub fn with_small(first: Ended, fresh: Ended) -> Ended {
    match flagged_as_small(&first, &fresh) {
        Some(flagged) => confirmed(&flagged, fresh, Placed::Matched),
        None => first,
    }
}

/// What the first pairs would have said, had they been allowed to, if fresh ones say the same.
fn flagged_as_small(first: &Ended, fresh: &Ended) -> Option<Ended> {
    let (before, after) = (first.result.as_ref().ok()?, fresh.result.as_ref().ok()?);
    let agrees = before.measured.change.estimate.signum() == after.measured.change.estimate.signum();
    let flagged = Figures { verdict: after.verdict, ..before.clone() };
    (after.verdict.is_change() && agrees).then(|| Ended { result: Ok(flagged), ..first.clone() })
}

/// Joins the first verdict with the one on fresh pairs, whose figures are reported.
fn confirmed_time(first: &Ended, fresh: Ended) -> Ended {
    let capture = first.capture;
    // What the first pairs told of the test's work holds; drawn layouts hide some of it.
    let told = first.result.as_ref().map_or(&[][..], |flagged| &flagged.notes);
    let of_fresh = fresh.result.map(|mut figures| {
        let missing = told.iter().filter(|note| !figures.notes.contains(note)).cloned().collect::<Vec<_>>();
        figures.notes.extend(missing);
        figures
    });
    match (&first.result, of_fresh) {
        (Ok(before), Ok(mut figures)) => {
            figures.verdict = decide::on_fresh_values(before.verdict, figures.verdict);
            let was_changed = before.verdict.is_change();
            if was_changed && matches!(figures.verdict, Verdict::Same | Verdict::ChangedBelowThreshold) {
                figures.notes.push(Note::TakenBack);
            }
            let fresh_change = figures.measured.change;
            let agrees = before.measured.change.estimate.signum() == fresh_change.estimate.signum();
            let why = match fresh.reason {
                Some(Reason::BudgetUsedUp) if was_changed && agrees && fresh_change.leans() => {
                    Reason::Unconfirmed { seen: before.verdict }
                }
                Some(why @ (Reason::BudgetUsedUp | Reason::Interrupted | Reason::AsPlacesDo { .. })) => why,
                _ if was_changed => Reason::NotConfirmed,
                _ => Reason::TooNoisy,
            };
            let reason = (figures.verdict == Verdict::Inconclusive).then_some(why);
            Ended { result: Ok(figures), reason, capture }
        }
        (Ok(flagged), Err(why)) => {
            let mut figures = flagged.clone();
            figures.verdict = Verdict::Inconclusive;
            let why = match why {
                Reason::BudgetUsedUp if flagged.verdict.is_change() => Reason::Unconfirmed { seen: flagged.verdict },
                why => why,
            };
            Ended { result: Ok(figures), reason: Some(why), capture }
        }
        (Err(_), _) => first.clone(),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use perfunit_model::{Basis, Change, EffectClass, EffectSize, Measured, Mode, Readings, Sample, Sides, Threshold};

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
        Figures { verdict, measured, spread: 0.01, seconds_per_pair: 0.01, notes, metrics }
    }

    #[test]
    fn each_deciding_metric_that_pairs_judge_can_be_a_false_alarm() {
        use Metric::{Allocations, Cold, CpuTime, Instructions, PeakRss, Time};
        assert_eq!(verdicts_of_pairs(&[Time]), 2);
        assert_eq!(verdicts_of_pairs(&[Time, Allocations, CpuTime]), 3);
        assert_eq!(verdicts_of_pairs(&[Time, CpuTime, Cold, PeakRss, Instructions]), 4);
        assert_eq!(verdicts_of_pairs(&[Allocations]), 2);
    }

    pub fn ended(result: std::result::Result<Figures, Reason>) -> Ended {
        Ended { result, reason: None, capture: None }
    }

    #[test]
    fn what_the_run_s_budget_cut_short_is_not_said_to_be_the_test_s_fault() {
        let check = |first: (Verdict, f64), fresh: Option<f64>, places, expected: Reason| {
            let fresh = match fresh {
                Some(estimate) => {
                    Ended { reason: Some(Reason::BudgetUsedUp), ..ended(Ok(figures(Verdict::Inconclusive, estimate))) }
                }
                // Not one pair was left.
                None => ended(Err(Reason::BudgetUsedUp)),
            };
            let end = confirmed(&ended(Ok(figures(first.0, first.1))), fresh, places);
            assert_eq!((end.result.unwrap().verdict, end.reason), (Verdict::Inconclusive, Some(expected)));
        };
        let slower = || Reason::Unconfirmed { seen: Verdict::Slower };
        check((Verdict::Slower, 0.3), Some(0.2), Placed::Matched, slower());
        check((Verdict::Slower, 0.3), None, Placed::Matched, slower());
        check((Verdict::Faster, -0.3), None, Placed::Matched, Reason::Unconfirmed { seen: Verdict::Faster });
        // Fresh pairs that point elsewhere make nothing probable.
        check((Verdict::Slower, 0.3), Some(-0.2), Placed::Matched, Reason::BudgetUsedUp);
        // Nor do pairs that scatter widely around 0: the interval is 0.004 +- 0.01 against 0.006 +- 0.01.
        check((Verdict::Slower, 0.3), Some(0.004), Placed::Matched, Reason::BudgetUsedUp);
        check((Verdict::Slower, 0.3), Some(0.006), Placed::Matched, slower());
        check((Verdict::Same, 0.0), Some(0.0), Placed::Uncertain, Reason::BudgetUsedUp);
        check((Verdict::Same, 0.0), None, Placed::Uncertain, Reason::BudgetUsedUp);
    }

    #[track_caller]
    fn check(fresh: std::result::Result<Figures, Reason>, verdict: Verdict, reason: Option<&Reason>) {
        let end = confirmed(&ended(Ok(figures(Verdict::Slower, 0.3))), ended(fresh), Placed::Matched);
        assert_eq!(end.result.unwrap().verdict, verdict);
        assert_eq!(end.reason.as_ref(), reason);
    }

    #[test]
    fn only_the_same_verdict_on_fresh_pairs_confirms() {
        check(Ok(figures(Verdict::Slower, 0.25)), Verdict::Slower, None);
        check(Ok(figures(Verdict::Same, 0.0)), Verdict::Same, None);
        check(Ok(figures(Verdict::ChangedBelowThreshold, 0.05)), Verdict::ChangedBelowThreshold, None);
        check(Ok(figures(Verdict::Faster, -0.3)), Verdict::Inconclusive, Some(&Reason::NotConfirmed));
        check(Ok(figures(Verdict::Inconclusive, 0.3)), Verdict::Inconclusive, Some(&Reason::NotConfirmed));
        check(Err(Reason::Interrupted), Verdict::Inconclusive, Some(&Reason::Interrupted));
    }

    #[test]
    fn a_small_change_counts_if_fresh_pairs_show_it_and_is_what_it_was_if_not() {
        let check = |fresh: Verdict, estimate, expected: Verdict, reported: f64| {
            let first = ended(Ok(figures(Verdict::ChangedBelowThreshold, -0.03)));
            let end = with_small(first, ended(Ok(figures(fresh, estimate))));
            let figures = end.result.unwrap();
            assert_eq!((figures.verdict, end.reason), (expected, None));
            assert!((figures.measured.change.estimate - reported).abs() < 1e-12);
        };
        check(Verdict::Faster, -0.028, Verdict::Faster, -0.028);
        check(Verdict::Slower, 0.028, Verdict::ChangedBelowThreshold, -0.03);
        for verdict in [Verdict::Inconclusive, Verdict::Same, Verdict::ChangedBelowThreshold] {
            check(verdict, -0.02, Verdict::ChangedBelowThreshold, -0.03);
        }
        let cut =
            with_small(ended(Ok(figures(Verdict::ChangedBelowThreshold, -0.03))), ended(Err(Reason::Interrupted)));
        assert_eq!(cut.result.unwrap().verdict, Verdict::ChangedBelowThreshold);
    }

    #[test]
    fn the_figures_of_a_confirmed_test_are_those_of_the_fresh_pairs() {
        let first = ended(Ok(figures(Verdict::Slower, 0.3)));
        let end = confirmed(&first, ended(Ok(figures(Verdict::Slower, 0.25))), Placed::Matched);
        assert!((end.result.unwrap().measured.change.estimate - 0.25).abs() < 1e-12);
    }

    /// Figures in which CPU time has this verdict, and allocations are counted.
    fn with_cpu_time(time: Verdict, verdict: MetricVerdict, ns: f64) -> Figures {
        let metered = |verdict, value| {
            let reading = Readings { value, low: value, high: value };
            let readings = Sides { base: reading, head: reading };
            Ok(Metered { verdict, readings, change: None, threshold: 0.02, basis: Basis::Pairs(8) })
        };
        let mut figures = figures(time, 0.0);
        figures.metrics.insert(Metric::CpuTime, metered(verdict, ns));
        figures.metrics.insert(Metric::Allocations, metered(MetricVerdict::More, 3.0));
        figures
    }

    #[track_caller]
    fn check_cpu_time(before: MetricVerdict, fresh: MetricVerdict, expected: MetricVerdict) {
        let first = with_cpu_time(Verdict::Same, before, 100.0);
        let first = Ended { result: Ok(first), reason: None, capture: None };
        let mut after = with_cpu_time(Verdict::Inconclusive, fresh, 200.0);
        after.metrics.remove(&Metric::Allocations);
        let figures = confirmed(&first, ended(Ok(after)), Placed::Matched).result.unwrap();
        // Time was not flagged, so that nothing is to be confirmed of it.
        assert_eq!(figures.verdict, Verdict::Same);
        assert_eq!(figures.metrics[&Metric::CpuTime].as_ref().unwrap().verdict, expected);
        assert_eq!(figures.metrics[&Metric::Allocations].as_ref().unwrap().verdict, MetricVerdict::More);
    }

    #[test]
    fn what_pairs_say_of_a_metric_is_confirmed_as_time_is() {
        use MetricVerdict::{ChangedBelowThreshold, Inconclusive, Less, More, Same};
        check_cpu_time(More, More, More);
        check_cpu_time(More, Same, Same);
        check_cpu_time(More, ChangedBelowThreshold, ChangedBelowThreshold);
        check_cpu_time(More, Less, Inconclusive);
        check_cpu_time(More, Inconclusive, Inconclusive);
        // What was not flagged stays.
        check_cpu_time(Same, More, Same);
    }

    #[test]
    fn a_small_change_of_time_is_not_lost_beside_another_metric_s() {
        let of = |verdict, estimate: f64| {
            let mut figures = with_cpu_time(verdict, MetricVerdict::More, 103.0);
            figures.measured.change = Change { estimate, low: estimate - 0.001, high: estimate + 0.001 };
            figures.measured.asked = Threshold::new(0.01).unwrap();
            ended(Ok(figures))
        };
        let check = |first: f64, fresh, expected| {
            let end = confirmed(&of(Verdict::ChangedBelowThreshold, first), of(fresh, 0.03), Placed::Matched);
            assert_eq!(end.result.unwrap().verdict, expected);
        };
        check(0.03, Verdict::Slower, Verdict::Slower);
        check(0.03, Verdict::Inconclusive, Verdict::ChangedBelowThreshold);
        check(0.009, Verdict::Slower, Verdict::ChangedBelowThreshold);
    }

    #[test]
    fn fresh_pairs_say_what_few_pairs_left_open_of_a_metric() {
        let of = |metric, head_ns| ended(Ok(with_cpu_time(Verdict::Slower, metric, head_ns)));
        let check = |first, fresh, expected| {
            let end = confirmed(&of(first, 103.0), of(fresh, 110.0), Placed::Matched);
            let metric = end.result.unwrap().metrics[&Metric::CpuTime].clone().unwrap();
            assert_eq!(metric.verdict, expected);
        };
        check(MetricVerdict::Inconclusive, MetricVerdict::More, MetricVerdict::More);
        check(MetricVerdict::Inconclusive, MetricVerdict::Inconclusive, MetricVerdict::Inconclusive);
        check(MetricVerdict::Less, MetricVerdict::More, MetricVerdict::Inconclusive);
        // What was clear is not asked again.
        check(MetricVerdict::Same, MetricVerdict::More, MetricVerdict::Same);
    }

    #[test]
    fn what_rests_on_places_is_what_layouts_say() {
        let first =
            Ended { result: Ok(with_cpu_time(Verdict::Same, MetricVerdict::Same, 100.0)), reason: None, capture: None };
        assert!(rests_on_places(&first));
        let check = |fresh: Verdict, metric, reason: Option<Reason>| {
            let mut after = with_cpu_time(fresh, metric, 110.0);
            after.measured.layouts = 16;
            let end = confirmed(&first, ended(Ok(after)), Placed::Uncertain);
            let figures = end.result.unwrap();
            assert_eq!((figures.verdict, end.reason), (fresh, reason));
            assert_eq!(figures.metrics[&Metric::CpuTime].as_ref().unwrap().verdict, metric);
            assert_eq!(figures.notes, [Note::Layouts { layouts: 16 }]);
        };
        check(Verdict::Slower, MetricVerdict::More, None);
        check(Verdict::Same, MetricVerdict::Same, None);
        check(Verdict::Inconclusive, MetricVerdict::Inconclusive, Some(Reason::TooNoisy));
    }

    #[test]
    fn what_noise_leaves_open_does_not_rest_on_places() {
        let open = |half: f64| {
            let mut figures = figures(Verdict::Inconclusive, 0.0);
            figures.measured.change = Change { estimate: 0.0, low: -half, high: half };
            rests_on_places(&Ended { result: Ok(figures), reason: None, capture: None })
        };
        // Its threshold is 10 %.
        assert!(open(0.09) && !open(0.11));
    }

    #[test]
    fn only_what_decides_is_flagged() {
        let end = |time| {
            let figures = with_cpu_time(time, MetricVerdict::More, 100.0);
            Ended { result: Ok(figures), reason: None, capture: None }
        };
        assert!(is_flagged(&end(Verdict::Slower), &[Metric::Time]));
        assert!(is_flagged(&end(Verdict::Same), &[Metric::CpuTime]));
        assert!(!is_flagged(&end(Verdict::Same), &[Metric::Time, Metric::Allocations]));
    }
}
