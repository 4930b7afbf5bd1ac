//! Corrects the subtracted cost of probes by the test's time without probes.
//!
//! A process measures the cost of its probes in calls that do nothing. In other code they cost less or more, because a
//! processor overlaps them with the surrounding code, and a function with a probe may not be inlined. This does not
//! matter if both versions make the same number of calls. If one makes many more, as with deeper recursion, the error
//! is multiplied by the calls; it may exceed the change and have the other sign. The difference without probes then
//! serves as reference: in each pair the probes cost `f` times the measured cost, such that
//!
//! ```text
//! head - base without probes  =  (head - base with probes)  -  f * (cost in head - cost in base)
//! ```

use super::attribute::{Attribution, difference, pair_differences};
use super::merge::{Merged, MergedNode};
use perfunit_measure::THREADS;
use perfunit_model::{Difference, Sides};

/// Difference of the probes' cost below which no correction is made, as a fraction of the change and of the whole cost.
const RELEVANT: f64 = 0.05;
/// Largest factor by which probes cost more than measured. A larger one means that probes change the test.
const MOST: f64 = 2.0;

/// Attributes the difference of the test by `attribute`. Also returns the tree with the corrected cost of probes.
///
/// `plain` is the difference without probes, in ns per run.
pub fn attribute_corrected(
    merged: &Merged,
    plain: &Difference,
    attribute: impl Fn(&Merged) -> Option<Attribution>,
) -> Option<(Merged, Attribution)> {
    let measured = attribute(merged)?;
    let agrees = measured.whole.is_certain() && measured.whole.low <= plain.high && plain.low <= measured.whole.high;
    let costs = if agrees { None } else { Costs::of(merged, plain) };
    let Some(costs) = costs else { return Some((merged.clone(), measured)) };
    let corrected = merged.with_probe_cost(&costs.factors(plain.estimate)?);
    let mut attribution = attribute(&corrected)?;
    // The correction is as uncertain as the difference without probes.
    for end in [plain.low, plain.high] {
        attribution.widen(&attribute(&merged.with_probe_cost(&costs.factors(end)?))?);
    }
    Some((corrected, attribution))
}

/// Differences of head and base by pair, ns per run.
struct Costs {
    /// Time including probes.
    time: Vec<f64>,
    /// Measured cost of the probes.
    probes: Vec<f64>,
}

impl Costs {
    /// Returns the costs, if their difference between the sides is relevant.
    fn of(merged: &Merged, plain: &Difference) -> Option<Self> {
        // Times of parallel threads add up to more than the test takes.
        let has_threads = merged.nodes.iter().any(|node| node.key == THREADS);
        if has_threads || ![plain.low, plain.estimate, plain.high].iter().all(|ns| ns.is_finite()) {
            return None;
        }
        let probes = sum(merged, |node| &node.probe_cost);
        let own = sum(merged, |node| &node.self_cost);
        let [probes_more, own_more] = [&probes, &own].map(pair_differences);
        let mean = difference(&probes_more, 1.0)?.estimate;
        let most = probes.base.iter().chain(&probes.head).copied().fold(plain.estimate.abs(), f64::max);
        let is_alike = |more: &f64| more.signum() == mean.signum() && more.abs() >= 0.5 * mean.abs();
        let matters = mean.abs() > RELEVANT * most && probes_more.iter().all(is_alike);
        let time = own_more.iter().zip(&probes_more).map(|(own, probes)| own + probes).collect();
        matters.then_some(Self { time, probes: probes_more })
    }

    /// Returns the factor of the probes' cost in each pair that makes `plain` the difference without probes.
    fn factors(&self, plain: f64) -> Option<Vec<f64>> {
        let factors: Vec<f64> =
            self.time.iter().zip(&self.probes).map(|(time, probes)| (time - plain) / probes).collect();
        let mean = difference(&factors, 1.0)?.estimate;
        let is_possible = (0.0..=MOST).contains(&mean);
        Some(if is_possible { factors } else { vec![mean.clamp(0.0, MOST); self.time.len()] })
    }
}

/// Returns the sum over all nodes by pair.
fn sum(merged: &Merged, figure: impl Fn(&MergedNode) -> &Sides<Vec<f64>>) -> Sides<Vec<f64>> {
    let mut sums = Sides { base: vec![0.0; merged.pairs], head: vec![0.0; merged.pairs] };
    for node in &merged.nodes {
        let Sides { base, head } = figure(node);
        sums.base.iter_mut().zip(base).for_each(|(sum, value)| *sum += value);
        sums.head.iter_mut().zip(head).for_each(|(sum, value)| *sum += value);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::super::attribute::attribute;
    use super::*;
    use perfunit_measure::{ROOT, Recorded, RecordedNode};

    const SUM: u64 = 2;
    const FOLD: u64 = 3;
    const SPIN: u64 = 4;

    /// A processor: the cost of a call with a probe in ns, and the cost that its processes measure.
    #[derive(Clone, Copy)]
    struct Processor {
        costs: f64,
        measured: f64,
    }

    /// A version: `sum` calls `fold`, which calls itself, and `spin`; with calls and ns per call.
    #[derive(Clone, Copy)]
    struct Version {
        fold: (f64, f64),
        spin: (f64, f64),
    }

    impl Version {
        fn time(self) -> f64 {
            500.0 + self.fold.0 * self.fold.1 + self.spin.0 * self.spin.1
        }

        fn record(self, processor: Processor, noise: f64) -> Recorded {
            let node = |key, parent, (calls, each): (f64, f64), recursions| RecordedNode {
                parent,
                calls,
                recursions,
                self_cost: calls * (each + processor.costs - processor.measured) + noise,
                probe_cost: calls * processor.measured,
                ..RecordedNode::root(key)
            };
            let root = RecordedNode { self_cost: 400.0, ..RecordedNode::root(ROOT) };
            let sum = node(SUM, 0, (1.0, 100.0), 0.0);
            let fold = node(FOLD, 1, self.fold, self.fold.0 - 1.0);
            Recorded { nodes: vec![root, sum, fold, node(SPIN, 1, self.spin, 0.0)] }
        }
    }

    fn merge_sample(versions: [Version; 2], processor: Processor) -> Merged {
        let mut merged = Merged::default();
        for pair in 0..8 {
            let noise = f64::from(pair % 3) - 1.0;
            let [base, head] = versions.map(|version| version.record(processor, noise));
            merged.add(&Sides { base, head: Recorded { nodes: head.nodes } });
        }
        merged
    }

    /// Returns the difference without probes, known to 2 %.
    fn plain([base, head]: [Version; 2]) -> Difference {
        let estimate = head.time() - base.time();
        Difference { estimate, low: estimate - 0.02 * base.time(), high: estimate + 0.02 * base.time() }
    }

    fn correct_sample(versions: [Version; 2], processor: Processor) -> (Merged, Attribution) {
        let merged = merge_sample(versions, processor);
        attribute_corrected(&merged, &plain(versions), |merged| attribute(merged, 0.01)).unwrap()
    }

    const SHALLOW: Version = Version { fold: (21.0, 1.2), spin: (3.0, 900.0) };
    const DEEP: Version = Version { fold: (401.0, 1.2), ..SHALLOW };

    /// Returns processors with probes that cost from nothing to twice the measured cost.
    fn processors() -> impl Iterator<Item = Processor> {
        [(0.0, 18.0), (9.0, 18.0), (16.5, 18.0), (17.8, 18.0), (18.0, 18.0), (25.0, 18.0), (36.0, 18.0), (0.3, 2.0)]
            .into_iter()
            .map(|(costs, measured)| Processor { costs, measured })
    }

    #[test]
    fn deeper_recursion_is_responsible_whatever_the_processor_makes_of_probes() {
        for processor in processors() {
            for versions in [[SHALLOW, DEEP], [DEEP, SHALLOW]] {
                let (_, attribution) = correct_sample(versions, processor);
                let named: Vec<u64> = attribution.responsible().map(|part| part.key).collect();
                let Processor { costs, measured } = processor;
                assert_eq!(named, [FOLD], "{costs} for {measured}: {attribution:?}");
                let part = attribution.responsible().next().unwrap();
                assert_eq!(part.called_otherwise(), Some(FOLD), "{costs} for {measured}: {part:?}");
                let share = attribution.share(part);
                assert!((0.7..1.3).contains(&share), "{costs} for {measured}: {share}");
                assert!(attribution.whole.estimate * plain(versions).estimate > 0.0);
            }
        }
    }

    #[test]
    fn without_the_correction_a_slower_version_would_seem_quicker() {
        let processor = Processor { costs: 16.5, measured: 18.0 };
        let measured = attribute(&merge_sample([SHALLOW, DEEP], processor), 0.01).unwrap();
        assert!(measured.whole.high < 0.0, "{measured:?}");
    }

    #[test]
    fn another_function_is_responsible_although_calls_with_probes_are_more() {
        // Deeper, which costs 456 ns, while `spin` is faster by 900 ns: the test is faster because of `spin`.
        let head = Version { spin: (3.0, 600.0), ..DEEP };
        for processor in processors() {
            let (_, attribution) = correct_sample([SHALLOW, head], processor);
            let named: Vec<u64> = attribution.responsible().map(|part| part.key).collect();
            assert_eq!(named, [SPIN], "{} for {}: {attribution:?}", processor.costs, processor.measured);
        }
    }

    #[test]
    fn the_error_of_the_time_without_probes_is_the_corrections() {
        let processor = Processor { costs: 9.0, measured: 18.0 };
        let merged = merge_sample([SHALLOW, DEEP], processor);
        let within = |margin: f64| {
            let estimate = plain([SHALLOW, DEEP]).estimate;
            let plain = Difference { estimate, low: estimate - margin, high: estimate + margin };
            attribute_corrected(&merged, &plain, |merged| attribute(merged, 0.01)).unwrap().1.whole
        };
        let [narrow, wide] = [10.0, 300.0].map(within);
        assert!((narrow.high - narrow.low - 20.0).abs() < 1e-6, "{narrow:?}");
        assert!((wide.high - wide.low - 600.0).abs() < 1e-6, "{wide:?}");
        assert!(!within(1000.0).is_certain());
    }

    #[test]
    fn equally_many_calls_need_no_correction() {
        let processor = Processor { costs: 9.0, measured: 18.0 };
        let versions = [SHALLOW, Version { spin: (3.0, 1000.0), ..SHALLOW }];
        let merged = merge_sample(versions, processor);
        let as_measured = attribute(&merged, 0.01).unwrap();
        // The time without probes does not matter.
        for ns in [300.0, 3000.0, -300.0] {
            let plain = Difference { estimate: ns, low: ns - 1.0, high: ns + 1.0 };
            let (tree, attribution) = attribute_corrected(&merged, &plain, |merged| attribute(merged, 0.01)).unwrap();
            assert_eq!((&tree, &attribution), (&merged, &as_measured));
        }
    }

    #[test]
    fn threads_and_an_unknown_difference_leave_what_was_measured() {
        let processor = Processor { costs: 9.0, measured: 18.0 };
        let merged = merge_sample([SHALLOW, DEEP], processor);
        assert!(Costs::of(&merged, &plain([SHALLOW, DEEP])).is_some());
        let unknown = Difference { estimate: 1.0, low: f64::NEG_INFINITY, high: f64::INFINITY };
        assert!(Costs::of(&merged, &unknown).is_none());
        let mut threaded = merged.clone();
        threaded.nodes[3].key = THREADS;
        assert!(Costs::of(&threaded, &plain([SHALLOW, DEEP])).is_none());
    }
}
