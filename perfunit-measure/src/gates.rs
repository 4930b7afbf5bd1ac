//! From the metrics of a test to its verdict, and whether they go together. Pure.

use perfunit_model::{CrossCheck, Metric, MetricVerdict, Metrics, NoVerdict, Reason, Verdict};

/// The verdict by the metrics that decide, worst news first, with the reason if it cannot be told. `time` is what pairs
/// said of wall time.
pub fn gate(gates: &[Metric], time: (Verdict, Option<Reason>), metrics: &Metrics) -> (Verdict, Option<Reason>) {
    if time.0 == Verdict::NotMeasured {
        return time;
    }
    let verdicts = gates.iter().map(|metric| match metric {
        Metric::Time => time.clone(),
        other => verdict(*other, metrics),
    });
    verdicts.min_by_key(|(verdict, _)| urgency(*verdict)).unwrap_or_else(|| time.clone())
}

fn verdict(metric: Metric, metrics: &Metrics) -> (Verdict, Option<Reason>) {
    let unknown = |why| (Verdict::Inconclusive, Some(Reason::MetricUnknown { metric, why }));
    match metrics.get(&metric) {
        Some(Ok(metered)) => match metered.verdict {
            MetricVerdict::More => (Verdict::Slower, None),
            MetricVerdict::Less => (Verdict::Faster, None),
            MetricVerdict::ChangedBelowThreshold => (Verdict::ChangedBelowThreshold, None),
            MetricVerdict::Same => (Verdict::Same, None),
            MetricVerdict::Inconclusive => unknown(NoVerdict::TooNoisy),
            MetricVerdict::Varies => unknown(NoVerdict::Varies),
        },
        Some(Err(why)) => unknown(NoVerdict::NotMetered(why.clone())),
        None => unknown(NoVerdict::NotLookedAt),
    }
}

/// What is not known outranks what is better: a gate that cannot tell must not pass in silence.
fn urgency(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Slower => 0,
        Verdict::Inconclusive => 1,
        Verdict::Faster => 2,
        Verdict::ChangedBelowThreshold => 3,
        Verdict::Same => 4,
        Verdict::NotMeasured => 5,
    }
}

/// Work whose change should show in time.
const WORK: [Metric; 3] = [Metric::Allocations, Metric::AllocatedBytes, Metric::Instructions];
/// Without a change of these, time should not change.
const EXPLAINS: [Metric; 2] = [Metric::Allocations, Metric::Instructions];

/// Compares what time says with what was counted.
pub fn cross_check(time: Verdict, metrics: &Metrics) -> Option<CrossCheck> {
    let said = |metric: Metric| metrics.get(&metric)?.as_ref().ok().map(|metered| metered.verdict);
    // A change of work below its threshold, smaller than that of time, does not explain a change of time either.
    let unchanged = |verdict| matches!(verdict, MetricVerdict::Same | MetricVerdict::ChangedBelowThreshold);
    match time {
        Verdict::Slower | Verdict::Faster => {
            let equal = EXPLAINS.into_iter().all(|metric| said(metric).is_some_and(unchanged));
            equal.then_some(CrossCheck::Suspect)
        }
        Verdict::Same | Verdict::ChangedBelowThreshold => {
            let more = |metric: &Metric| said(*metric) == Some(MetricVerdict::More);
            let more: Vec<Metric> = WORK.into_iter().filter(more).collect();
            (!more.is_empty()).then_some(CrossCheck::WorkAlone(more))
        }
        Verdict::Inconclusive | Verdict::NotMeasured => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::{Basis, Metered, NotMetered, Readings, Sides};

    fn metrics(said: &[(Metric, MetricVerdict)]) -> Metrics {
        let reading = Readings { value: 12.0, low: 12.0, high: 12.0 };
        let metered = |verdict| Metered {
            verdict,
            readings: Sides { base: reading, head: reading },
            change: None,
            threshold: 0.01,
            basis: Basis::Calls(5),
        };
        said.iter().map(|(metric, verdict)| (*metric, Ok(metered(*verdict)))).collect()
    }

    #[track_caller]
    fn check_gate(gates: &[Metric], said: &[(Metric, MetricVerdict)], expected: Verdict) {
        assert_eq!(gate(gates, (Verdict::Slower, None), &metrics(said)).0, expected);
    }

    #[test]
    fn only_what_decides_counts() {
        let more = [(Metric::Allocations, MetricVerdict::More), (Metric::PeakHeap, MetricVerdict::Same)];
        check_gate(&[Metric::Time], &more, Verdict::Slower);
        check_gate(&[Metric::Allocations], &more, Verdict::Slower);
        check_gate(&[Metric::PeakHeap], &more, Verdict::Same);
        check_gate(&[Metric::PeakHeap, Metric::Allocations], &more, Verdict::Slower);
        check_gate(&[Metric::Allocations], &[(Metric::Allocations, MetricVerdict::Less)], Verdict::Faster);
    }

    #[test]
    fn what_is_not_known_does_not_pass() {
        let (verdict, reason) = gate(&[Metric::Instructions], (Verdict::Same, None), &Metrics::new());
        assert_eq!(verdict, Verdict::Inconclusive);
        assert_eq!(reason, Some(Reason::MetricUnknown { metric: Metric::Instructions, why: NoVerdict::NotLookedAt }));
        let own = Metrics::from([(Metric::Allocations, Err(NotMetered::OwnAllocator))]);
        let (_, reason) = gate(&[Metric::Allocations], (Verdict::Faster, None), &own);
        let why = NoVerdict::NotMetered(NotMetered::OwnAllocator);
        assert_eq!(reason, Some(Reason::MetricUnknown { metric: Metric::Allocations, why }));
        check_gate(&[Metric::PeakHeap], &[(Metric::PeakHeap, MetricVerdict::Varies)], Verdict::Inconclusive);
        let not_measured = (Verdict::NotMeasured, Some(Reason::Ignored));
        assert_eq!(gate(&[Metric::PeakHeap], not_measured.clone(), &own), not_measured);
    }

    #[track_caller]
    fn check(time: Verdict, allocations: MetricVerdict, instructions: MetricVerdict, expected: Option<&CrossCheck>) {
        let metrics = metrics(&[(Metric::Allocations, allocations), (Metric::Instructions, instructions)]);
        assert_eq!(cross_check(time, &metrics).as_ref(), expected);
    }

    #[test]
    fn time_without_work_is_suspect() {
        let (same, less) = (MetricVerdict::Same, MetricVerdict::Less);
        check(Verdict::Slower, same, same, Some(&CrossCheck::Suspect));
        check(Verdict::Faster, same, MetricVerdict::ChangedBelowThreshold, Some(&CrossCheck::Suspect));
        check(Verdict::Faster, same, less, None);
        check(Verdict::Slower, MetricVerdict::Varies, same, None);
        assert_eq!(cross_check(Verdict::Slower, &metrics(&[(Metric::Allocations, same)])), None);
    }

    #[test]
    fn more_work_without_time_is_worth_a_warning() {
        let (same, more) = (MetricVerdict::Same, MetricVerdict::More);
        check(Verdict::Same, more, same, Some(&CrossCheck::WorkAlone(vec![Metric::Allocations])));
        check(Verdict::Same, more, more, Some(&CrossCheck::WorkAlone(vec![Metric::Allocations, Metric::Instructions])));
        check(Verdict::Same, MetricVerdict::Less, same, None);
        check(Verdict::Inconclusive, more, more, None);
    }
}
