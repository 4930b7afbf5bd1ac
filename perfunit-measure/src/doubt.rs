//! Findings that need more evidence before they count: flagged changes, changes that code placement can explain, and first
//! calls that differ. Pure; the stages that measure ask this module what to measure, and the verdict rests on the answers.

use super::layouts::Placed;
use super::secondary_metrics::OF_PAIRS;
use super::subject::{Figures, Finding};
use super::trial::LEAST_NS_BY_INSTRUCTIONS;
use perfunit_decide as decide;
use perfunit_model::{
    Change, Measured, Metered, Metric, MetricVerdict, Mode, NotMetered, OF_PLACES, OF_PLACES_NS, REACH_OF_CODE,
    REACH_WITHIN_CODE, Sides, Threshold, Verdict,
};

/// Returns whether pairs show a change of time or of a gated metric. Counts are not included: they were already read
/// twice.
pub fn is_flagged(finding: &Finding, gates: &[Metric]) -> bool {
    finding.result.as_ref().is_ok_and(|figures| {
        let of_pairs = OF_PAIRS.into_iter().filter(|metric| gates.contains(metric));
        figures.verdict.is_change() || of_pairs.filter_map(|metric| figures.metrics.get(&metric)).any(is_flagged_metric)
    })
}

/// Returns whether the verdict on a metric is a change.
pub fn is_flagged_metric(metered: &Result<Metered, NotMetered>) -> bool {
    metered.as_ref().is_ok_and(|metered| metered.verdict.is_change())
}

/// Returns whether another layout of the code may lead to another verdict.
pub fn rests_on_places(finding: &Finding) -> bool {
    finding.result.as_ref().is_ok_and(|figures| {
        decide::rests_on_layout(figures.verdict, &figures.measured.change, figures.measured.threshold)
    })
}

/// Returns whether a change is certain, but too small to count by time alone: between [`LEAST_NS_BY_INSTRUCTIONS`] and
/// [`LEAST_NS`](super::trial::LEAST_NS).
pub fn is_small(finding: &Finding) -> bool {
    finding.result.as_ref().is_ok_and(|figures| {
        let Measured { change, base_ns, mode, asked, .. } = &figures.measured;
        let least = asked.fraction().max(LEAST_NS_BY_INSTRUCTIONS / base_ns);
        let is_certain = figures.verdict == Verdict::ChangedBelowThreshold;
        is_certain && *mode == Mode::Steady && change.estimate.abs() >= least
    })
}

/// Plausibility of code placement as the cause of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// Placement usually has this effect: without more instructions nothing is slower, without fewer nothing faster.
    Usual,
    /// Placement had this effect in rare cases: as `Usual`, but unknown instructions do not contradict the change.
    Rare,
    /// Other code with the same work had this effect: with the same instructions the change does not count.
    Remote,
}

impl Doubt {
    /// Returns the largest effect on time that placement can have in this case, as a fraction of base.
    pub fn reach(self, places: Placed, base_ns: f64) -> f64 {
        match self {
            Self::Usual => usual_effect(places, base_ns),
            Self::Rare => REACH_WITHIN_CODE,
            Self::Remote => REACH_OF_CODE,
        }
    }
}

/// Returns the effect on time that placement usually has over all layouts, as a fraction of base.
pub fn usual_effect(places: Placed, base_ns: f64) -> f64 {
    match places {
        Placed::Matched | Placed::Drawn => OF_PLACES,
        Placed::Uncertain => OF_PLACES.max(OF_PLACES_NS / base_ns),
    }
}

/// Change of the instructions of a test, if code placement can explain the change of its time.
#[derive(Debug, Clone, PartialEq)]
pub struct Instructions {
    pub doubt: Doubt,
    pub change: Result<MetricVerdict, NotMetered>,
}

impl Instructions {
    /// Returns whether a change of time in this direction counts.
    pub fn support(&self, is_slower: bool) -> bool {
        match self.change {
            Ok(MetricVerdict::More) => is_slower || self.doubt == Doubt::Remote,
            Ok(MetricVerdict::Less) => !is_slower || self.doubt == Doubt::Remote,
            Ok(MetricVerdict::Same | MetricVerdict::ChangedBelowThreshold)
            | Err(NotMetered::BudgetUsedUp | NotMetered::Interrupted) => false,
            Ok(MetricVerdict::Varies | MetricVerdict::Inconclusive) | Err(_) => self.doubt != Doubt::Usual,
        }
    }

    /// Returns whether the instructions of a test changed in the direction of its time.
    pub fn changed_like(&self, figures: &Figures) -> bool {
        let is_more = figures.measured.change.estimate > 0.0;
        self.change == Ok(if is_more { MetricVerdict::More } else { MetricVerdict::Less })
    }
}

/// The share of a change in time that instructions must show: the first if code placement can explain the change, the
/// second if other code with the same work can. One more instruction in a changed caller is a fraction of a cycle;
/// moved code costs several.
const LEAST_SHARE: f64 = 0.25;
const LEAST_SHARE_IF_REMOTE: f64 = 0.1;

/// Returns the least change of instructions, as a fraction, that supports this change of time.
pub fn least_instructions(change: &Change, doubt: Doubt) -> f64 {
    let share = if doubt == Doubt::Usual { LEAST_SHARE } else { LEAST_SHARE_IF_REMOTE };
    share * change.estimate.abs()
}

/// Returns how the placement of code can explain a change of time, if the verdict on time is a change.
pub fn doubt_on_time(finding: &Finding, places: Placed) -> Option<Doubt> {
    let figures = finding.result.as_ref().ok().filter(|figures| figures.verdict.is_change())?;
    let Measured { change, base_ns, head_ns, .. } = figures.measured;
    doubt(&change, &Sides { base: base_ns, head: head_ns }, places)
}

/// Returns the change of a metric that is a time, if its verdict is a change and the placement of code can explain it.
pub fn doubt_on_metric(finding: &Finding, metric: Metric, places: Placed) -> Option<(Change, Doubt)> {
    let metered = finding.result.as_ref().ok()?.metrics.get(&metric)?.as_ref().ok()?;
    let change = metered.change.filter(|_| metered.verdict.is_change())?;
    let ns = metered.readings.as_ref().map(|readings| readings.value);
    doubt(&change, &ns, places).map(|doubt| (change, doubt))
}

/// Returns how other code with the same work can explain a mean change over drawn layouts.
pub fn doubt_on_mean(change: &Change) -> Option<Doubt> {
    doubt(change, &Sides::default(), Placed::Drawn)
}

/// Returns how the placement of code can explain a change of a time `ns`. Placement explains large changes only where code
/// can neither have a common place nor be placed everywhere.
fn doubt(change: &Change, ns: &Sides<f64>, places: Placed) -> Option<Doubt> {
    let is_uncertain = places == Placed::Uncertain;
    if change.estimate.abs() < OF_PLACES || is_uncertain && (ns.head - ns.base).abs() < OF_PLACES_NS {
        return Some(Doubt::Usual);
    }
    match places {
        Placed::Uncertain => (change.from_zero() < REACH_WITHIN_CODE).then_some(Doubt::Rare),
        Placed::Matched | Placed::Drawn => (change.from_zero() < REACH_OF_CODE).then_some(Doubt::Remote),
    }
}

/// The least difference of first calls beyond that of later calls, as a fraction of base and in ns (a few page faults).
const APART: f64 = 0.05;
const APART_NS: f64 = 2_000.0;

/// Returns the threshold of first calls that are compared alongside later ones. It is larger because first calls start
/// with unequal caches.
pub fn threshold_of_first_calls(threshold: Threshold) -> Threshold {
    threshold.at_least(APART)
}

/// Returns whether first calls differ by more than later calls do, so that they need a separate verdict.
pub fn is_apart(threshold: Threshold, first_ns: Sides<f64>, later: &Measured) -> bool {
    let beyond = (first_ns.head - first_ns.base) - (later.head_ns - later.base_ns);
    beyond.abs() >= APART_NS && beyond.abs() >= threshold_of_first_calls(threshold).fraction() * first_ns.base
}

/// Returns whether first calls got slower, or probably did.
pub fn is_loss(first: &Figures) -> bool {
    let change = first.measured.change;
    match first.verdict {
        Verdict::Slower => true,
        Verdict::Inconclusive => change.estimate > 0.0 && change.leans(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::verdict::tests::{figures, finding, with_cpu_time};
    use super::*;
    use perfunit_model::{Basis, Readings, Reason};

    #[test]
    fn only_what_decides_is_flagged() {
        let of = |time| finding(with_cpu_time(time, MetricVerdict::More, 100.0));
        assert!(is_flagged(&of(Verdict::Slower), &[Metric::Time]));
        assert!(is_flagged(&of(Verdict::Same), &[Metric::CpuTime]));
        assert!(!is_flagged(&of(Verdict::Same), &[Metric::Time, Metric::Allocations]));
    }

    #[test]
    fn what_noise_leaves_open_does_not_rest_on_places() {
        let open = |half: f64| {
            let mut figures = figures(Verdict::Inconclusive, 0.0);
            figures.measured.change = Change { estimate: 0.0, low: -half, high: half };
            rests_on_places(&finding(figures))
        };
        // The margin is 10 %.
        assert!(open(0.09) && !open(0.11));
    }

    #[test]
    fn placement_explains_changes_up_to_its_reach() {
        let of = |verdict, estimate, base_ns: f64| {
            let mut figures = figures(verdict, estimate);
            (figures.measured.base_ns, figures.measured.head_ns) = (base_ns, base_ns * (1.0 + estimate));
            let finding = finding(figures);
            [Placed::Matched, Placed::Drawn, Placed::Uncertain].map(|places| doubt_on_time(&finding, places))
        };
        assert_eq!(of(Verdict::Slower, 0.013, 100.0)[0], Some(Doubt::Usual));
        assert_eq!(of(Verdict::Faster, -0.013, 100.0)[0], Some(Doubt::Usual));
        assert_eq!(of(Verdict::Slower, 0.019, 1000.0), [Some(Doubt::Usual); 3]);
        assert_eq!(of(Verdict::Slower, 0.021, 1000.0), [Some(Doubt::Remote), Some(Doubt::Remote), Some(Doubt::Rare)]);
        assert_eq!(of(Verdict::Same, 0.013, 1000.0), [None; 3]);
        // The differences are 4 ns of 20 ns, and 6 ns.
        assert_eq!(of(Verdict::Slower, 0.2, 20.0), [None, None, Some(Doubt::Usual)]);
        // The interval is 1 % to both sides, so its nearer end is 9.9 %.
        assert_eq!(of(Verdict::Slower, 0.109, 1000.0), [Some(Doubt::Remote), Some(Doubt::Remote), Some(Doubt::Rare)]);
        assert_eq!(of(Verdict::Slower, 0.3, 20.0), [None, None, Some(Doubt::Rare)]);
        // The interval is 1 % to both sides, so its nearer ends are 49.9 % and 50.1 %.
        assert_eq!(of(Verdict::Faster, -0.509, 1000.0), [None, None, Some(Doubt::Rare)]);
        assert_eq!(of(Verdict::Faster, -0.511, 1000.0), [None; 3]);
    }

    #[test]
    fn a_small_change_is_certain_and_larger_than_a_cycle_and_the_threshold() {
        let small = |verdict, estimate, base_ns: f64, mode| {
            let mut figures = figures(verdict, estimate);
            figures.measured.base_ns = base_ns;
            figures.measured.mode = mode;
            figures.measured.asked = Threshold::new(0.01).unwrap();
            is_small(&finding(figures))
        };
        let below = Verdict::ChangedBelowThreshold;
        assert!(small(below, -0.028, 29.5, Mode::Steady) && small(below, 0.04, 10.0, Mode::Steady));
        assert!(!small(below, 0.02, 10.0, Mode::Steady));
        assert!(!small(below, 0.009, 100.0, Mode::Steady));
        assert!(!small(Verdict::Same, 0.028, 29.5, Mode::Steady));
        assert!(!small(below, 0.028, 29.5, Mode::FirstCall));
        assert!(!is_small(&Finding { result: Err(Reason::BudgetUsedUp), reason: None, capture: None }));
        // 494 instructions instead of 493 do not explain 0.8 of 58 ns; 20 of 580 can explain 0.8 of 32 ns.
        let least = |estimate, doubt| least_instructions(&figures(below, estimate).measured.change, doubt);
        assert!(least(0.014, Doubt::Usual) > 1.0 / 493.0 && least(-0.025, Doubt::Usual) < 20.0 / 580.0);
        // 897 instructions instead of 896 do not explain 2.2 %.
        assert!(least(0.022, Doubt::Remote) > 1.0 / 896.0);
    }

    #[test]
    fn a_metric_is_in_doubt_as_time_is_once_it_is_said_to_have_changed() {
        let of = |verdict, estimate: f64| {
            let reading = |value| Readings { value, low: value, high: value };
            let readings = Sides { base: reading(1000.0), head: reading(1000.0 * (1.0 + estimate)) };
            let mut figures = figures(Verdict::Same, 0.0);
            let change = Some(Change { estimate, low: estimate - 0.001, high: estimate + 0.001 });
            let metered = Metered {
                verdict,
                readings,
                change,
                threshold: 0.01,
                basis: Basis::Pairs(8),
                programs: Vec::new(),
                names: Vec::new(),
            };
            figures.metrics.insert(Metric::CpuTime, Ok(metered));
            let in_doubt = doubt_on_metric(&finding(figures), Metric::CpuTime, Placed::Matched);
            in_doubt.map(|(_, doubt)| doubt)
        };
        assert_eq!(of(MetricVerdict::More, 0.013), Some(Doubt::Usual));
        assert_eq!(of(MetricVerdict::Less, -0.05), Some(Doubt::Remote));
        assert_eq!(of(MetricVerdict::More, 0.3), None);
        assert_eq!(of(MetricVerdict::Same, 0.013), None);
    }
}
