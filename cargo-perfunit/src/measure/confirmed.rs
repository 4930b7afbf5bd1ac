//! What is said in the end of a test that was flagged, given what fresh pairs say. Pure.

use super::beside::OF_PAIRS;
use super::schedule::{Ended, Figures};
use crate::model::{Metered, Metric, MetricVerdict, Metrics, NotMetered, Reason, Verdict};

/// The note of a test that was slower or faster until fresh pairs told something else, and that is not inconclusive.
pub const TAKEN_BACK: &str = "a larger change was seen first and did not show again on fresh pairs and layouts";

/// Whether something that decides changed by what pairs say: what is counted was read again already.
pub fn is_flagged(end: &Ended, gates: &[Metric]) -> bool {
    end.result.as_ref().is_ok_and(|figures| {
        let of_pairs = OF_PAIRS.into_iter().filter(|metric| gates.contains(metric));
        is_changed(figures) || of_pairs.filter_map(|metric| figures.metrics.get(&metric)).any(is_flagged_metric)
    })
}

fn is_changed(figures: &Figures) -> bool {
    matches!(figures.verdict, Verdict::Slower | Verdict::Faster)
}

fn is_flagged_metric(metered: &std::result::Result<Metered, NotMetered>) -> bool {
    matches!(metered, Ok(metered) if matches!(metered.verdict, MetricVerdict::More | MetricVerdict::Less))
}

/// Joins what the first pairs of a flagged test said with what fresh ones say: of time, if that was flagged, and of the
/// rest that pairs tell.
pub fn confirmed(first: &Ended, fresh: std::result::Result<Figures, Reason>) -> Ended {
    let Ok(flagged) = &first.result else { return first.clone() };
    let metrics = confirmed_metrics(&flagged.metrics, fresh.as_ref().map_or(&Metrics::new(), |fresh| &fresh.metrics));
    let mut end = if is_changed(flagged) { confirmed_time(first, fresh) } else { first.clone() };
    if let Ok(figures) = &mut end.result {
        figures.metrics = metrics;
    }
    end
}

/// As [`confirmed_time`]: only the same verdict counts, and with it the figures of fresh pairs.
fn confirmed_metrics(first: &Metrics, fresh: &Metrics) -> Metrics {
    let joined = |(metric, flagged): (&Metric, &std::result::Result<Metered, NotMetered>)| {
        let (Ok(before), true) = (flagged, OF_PAIRS.contains(metric) && is_flagged_metric(flagged)) else {
            return (*metric, flagged.clone());
        };
        let unclear = |metered: &Metered| Metered { verdict: MetricVerdict::Inconclusive, ..metered.clone() };
        let joined = match fresh.get(metric) {
            Some(Ok(after)) => match after.verdict {
                MetricVerdict::Same | MetricVerdict::ChangedBelowThreshold => after.clone(),
                verdict if verdict == before.verdict => after.clone(),
                _ => unclear(after),
            },
            _ => unclear(before),
        };
        (*metric, Ok(joined))
    };
    first.iter().map(joined).collect()
}

/// Joins the first verdict of a flagged test with the one on fresh pairs.
fn confirmed_time(first: &Ended, fresh: std::result::Result<Figures, Reason>) -> Ended {
    let capture = first.capture;
    // What the first pairs told of the test's work holds; drawn layouts hide some of it.
    let told = first.result.as_ref().map_or(&[][..], |flagged| &flagged.notes);
    let fresh = fresh.map(|mut figures| {
        let missing = told.iter().filter(|note| !figures.notes.contains(note)).cloned().collect::<Vec<_>>();
        figures.notes.extend(missing);
        figures
    });
    match (&first.result, fresh) {
        (Ok(flagged), Ok(figures)) if figures.verdict == flagged.verdict => {
            Ended { result: Ok(figures), reason: None, capture }
        }
        (Ok(_), Ok(mut figures)) if matches!(figures.verdict, Verdict::Same | Verdict::ChangedBelowThreshold) => {
            figures.notes.push(TAKEN_BACK.to_owned());
            Ended { result: Ok(figures), reason: None, capture }
        }
        (Ok(_), Ok(mut figures)) => {
            figures.verdict = Verdict::Inconclusive;
            Ended { result: Ok(figures), reason: Some(Reason::NotConfirmed), capture }
        }
        (Ok(flagged), Err(why)) => {
            let mut figures = flagged.clone();
            figures.verdict = Verdict::Inconclusive;
            Ended { result: Ok(figures), reason: Some(why), capture }
        }
        (Err(_), _) => first.clone(),
    }
}

/// What is said in the end of a flagged test, given the verdict on fresh pairs.
pub fn after_confirmation(flagged: Verdict, fresh: Verdict) -> Verdict {
    match fresh {
        Verdict::Same | Verdict::ChangedBelowThreshold => fresh,
        _ if fresh == flagged => fresh,
        _ => Verdict::Inconclusive,
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::model::{Basis, Change, EffectClass, EffectSize, Measured, Mode, Readings, Sample, Sides};

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
            sample: Sample::default(),
            bound: None,
        };
        let (notes, metrics) = (Vec::new(), Metrics::new());
        Figures { verdict, measured, spread: 0.01, seconds_per_pair: 0.01, notes, metrics }
    }

    #[track_caller]
    fn check(fresh: std::result::Result<Figures, Reason>, verdict: Verdict, reason: Option<&Reason>) {
        let first = Ended { result: Ok(figures(Verdict::Slower, 0.3)), reason: None, capture: None };
        if let Ok(fresh) = &fresh {
            assert_eq!(after_confirmation(Verdict::Slower, fresh.verdict), verdict);
        }
        let end = confirmed(&first, fresh);
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
    fn the_figures_of_a_confirmed_test_are_those_of_the_fresh_pairs() {
        let first = Ended { result: Ok(figures(Verdict::Slower, 0.3)), reason: None, capture: None };
        let end = confirmed(&first, Ok(figures(Verdict::Slower, 0.25)));
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
        let figures = confirmed(&first, Ok(after)).result.unwrap();
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
