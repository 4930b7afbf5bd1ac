//! Changes that are no more than the place of code can do, or other code that does the same work. Pure.

use super::layouts::Placed;
use super::settled::LEAST_NS_BY_INSTRUCTIONS;
use super::subject::Ended;
use perfunit_model::{
    Change, Measured, Metric, MetricVerdict, Mode, NotMetered, OF_PLACES, OF_PLACES_NS, REACH_OF_CODE,
    REACH_WITHIN_CODE, Reason, Sides, Verdict,
};

/// How the place of code can be behind a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// It does as much: without more instructions nothing is slower, without fewer nothing faster.
    Usual,
    /// It was seen to do as much: so, too, unless nothing is known of the instructions.
    Rare,
    /// Other code with the same work was seen to do as much: with the same instructions the change does not count.
    Remote,
}

/// Whether a change is certain, but too small to count by time alone: between [`LEAST_NS_BY_INSTRUCTIONS`] and
/// [`LEAST_NS`](super::settled::LEAST_NS).
pub fn is_small(end: &Ended) -> bool {
    end.result.as_ref().is_ok_and(|figures| {
        let Measured { change, base_ns, mode, asked, .. } = &figures.measured;
        let least = asked.fraction().max(LEAST_NS_BY_INSTRUCTIONS / base_ns);
        let is_certain = figures.verdict == Verdict::ChangedBelowThreshold;
        is_certain && *mode == Mode::Steady && change.estimate.abs() >= least
    })
}

/// The share of a change in time which instructions must show, where the place of code can be behind it and where other code
/// with the same work can. One instruction more in a changed caller is a fraction of a cycle, and moved code costs several.
const LEAST_SHARE: f64 = 0.25;
const LEAST_SHARE_IF_REMOTE: f64 = 0.1;

/// The change of instructions, as a fraction, that this change of time takes to count.
pub fn least_instructions(change: &Change, doubt: Doubt) -> f64 {
    let share = if doubt == Doubt::Usual { LEAST_SHARE } else { LEAST_SHARE_IF_REMOTE };
    share * change.estimate.abs()
}

/// Whether the instructions of a test changed as its time did.
pub fn is_likewise(end: &Ended, instructions: &Result<MetricVerdict, NotMetered>) -> bool {
    end.result.as_ref().is_ok_and(|figures| {
        let is_more = figures.measured.change.estimate > 0.0;
        *instructions == Ok(if is_more { MetricVerdict::More } else { MetricVerdict::Less })
    })
}

/// The answer of fresh values on a test whose change the place of code can be behind, given how its instructions changed.
pub fn beyond_places(mut end: Ended, doubt: Doubt, instructions: Result<MetricVerdict, NotMetered>) -> Ended {
    let Ok(figures) = &mut end.result else { return end };
    let seen = figures.verdict;
    if !counts(seen == Verdict::Slower, doubt, &instructions) {
        figures.verdict = Verdict::Inconclusive;
        end.reason = Some(match instructions {
            Err(NotMetered::BudgetUsedUp) => Reason::BudgetUsedUp,
            Err(NotMetered::Interrupted) => Reason::Interrupted,
            instructions => Reason::AsPlacesDo { seen, instructions },
        });
    }
    end
}

/// Whether a change that the place of code can be behind counts, given how instructions changed.
pub fn counts(is_slower: bool, doubt: Doubt, instructions: &Result<MetricVerdict, NotMetered>) -> bool {
    match instructions {
        Ok(MetricVerdict::More) => is_slower || doubt == Doubt::Remote,
        Ok(MetricVerdict::Less) => !is_slower || doubt == Doubt::Remote,
        Ok(MetricVerdict::Same | MetricVerdict::ChangedBelowThreshold) => false,
        Ok(MetricVerdict::Varies | MetricVerdict::Inconclusive) | Err(_) => doubt != Doubt::Usual,
    }
}

/// Whether what changed in the end can be due to the place of code.
pub fn doubt_on_time(end: &Ended, places: Placed) -> Option<Doubt> {
    let figures = end.result.as_ref().ok().filter(|figures| figures.verdict.is_change())?;
    let Measured { change, base_ns, head_ns, .. } = figures.measured;
    doubt(&change, &Sides { base: base_ns, head: head_ns }, places)
}

/// The change of a time that a metric is, if it is said to have changed and the place of code can be behind it.
pub fn doubt_on_metric(end: &Ended, metric: Metric, places: Placed) -> Option<(Change, Doubt)> {
    let metered = end.result.as_ref().ok()?.metrics.get(&metric)?.as_ref().ok()?;
    let change = metered.change.filter(|_| metered.verdict.is_change())?;
    let ns = metered.readings.as_ref().map(|readings| readings.value);
    doubt(&change, &ns, places).map(|doubt| (change, doubt))
}

/// Whether a change can be so small that the place of code does as much; more than a little it does only where code can
/// neither have a common place nor be everywhere. `ns` is the time that changed.
pub fn doubt(change: &Change, ns: &Sides<f64>, places: Placed) -> Option<Doubt> {
    let is_uncertain = places == Placed::Uncertain;
    if change.estimate.abs() < OF_PLACES || is_uncertain && (ns.head - ns.base).abs() < OF_PLACES_NS {
        return Some(Doubt::Usual);
    }
    match places {
        Placed::Uncertain => (change.from_zero() < REACH_WITHIN_CODE).then_some(Doubt::Rare),
        Placed::Matched | Placed::Drawn => (change.from_zero() < REACH_OF_CODE).then_some(Doubt::Remote),
    }
}

#[cfg(test)]
mod tests {
    use super::super::confirmed::confirmed;
    use super::super::confirmed::tests::{ended, figures};
    use super::*;
    use perfunit_model::{Basis, Metered, Readings, Threshold};

    #[test]
    fn what_places_can_do_counts_only_with_other_work() {
        use MetricVerdict::{ChangedBelowThreshold, Less, More, Same};
        let check = |first: Verdict, instructions: Result<_, _>, verdict: Verdict| {
            let estimate = if first == Verdict::Slower { 0.013 } else { -0.013 };
            let fresh = ended(Ok(figures(first, estimate)));
            assert_eq!(doubt_on_time(&fresh, Placed::Matched), Some(Doubt::Usual));
            let before = ended(Ok(figures(first, estimate)));
            let end = confirmed(&before, beyond_places(fresh, Doubt::Usual, instructions.clone()), Placed::Uncertain);
            let why = Reason::AsPlacesDo { seen: first, instructions };
            assert_eq!(end.result.unwrap().verdict, verdict);
            assert_eq!(end.reason, (verdict == Verdict::Inconclusive).then_some(why));
        };
        check(Verdict::Slower, Ok(More), Verdict::Slower);
        check(Verdict::Faster, Ok(Less), Verdict::Faster);
        let others =
            [Ok(Same), Ok(Less), Ok(ChangedBelowThreshold), Ok(MetricVerdict::Varies), Err(NotMetered::TooLong)];
        for instructions in others {
            check(Verdict::Slower, instructions, Verdict::Inconclusive);
        }
        check(Verdict::Faster, Ok(More), Verdict::Inconclusive);
        let of = |verdict, estimate, base_ns: f64| {
            let mut figures = figures(verdict, estimate);
            (figures.measured.base_ns, figures.measured.head_ns) = (base_ns, base_ns * (1.0 + estimate));
            [Placed::Matched, Placed::Drawn, Placed::Uncertain]
                .map(|places| doubt_on_time(&ended(Ok(figures.clone())), places))
        };
        assert_eq!(of(Verdict::Slower, 0.019, 1000.0), [Some(Doubt::Usual); 3]);
        assert_eq!(of(Verdict::Slower, 0.021, 1000.0), [Some(Doubt::Remote), Some(Doubt::Remote), Some(Doubt::Rare)]);
        assert_eq!(of(Verdict::Same, 0.013, 1000.0), [None; 3]);
        // 4 ns of 20, and 6 ns.
        assert_eq!(of(Verdict::Slower, 0.2, 20.0), [None, None, Some(Doubt::Usual)]);
        // Of 1 % to both sides: 9.9 %.
        assert_eq!(of(Verdict::Slower, 0.109, 1000.0), [Some(Doubt::Remote), Some(Doubt::Remote), Some(Doubt::Rare)]);
        assert_eq!(of(Verdict::Slower, 0.3, 20.0), [None, None, Some(Doubt::Rare)]);
        // Intervals reach 1 % to both sides: 49.9 %, and 50.1 %.
        assert_eq!(of(Verdict::Faster, -0.509, 1000.0), [None, None, Some(Doubt::Rare)]);
        assert_eq!(of(Verdict::Faster, -0.511, 1000.0), [None; 3]);
    }

    #[test]
    fn a_small_change_is_certain_and_beyond_what_a_cycle_and_the_threshold_are() {
        let small = |verdict, estimate, base_ns: f64, mode| {
            let mut figures = figures(verdict, estimate);
            figures.measured.base_ns = base_ns;
            figures.measured.mode = mode;
            figures.measured.asked = Threshold::new(0.01).unwrap();
            is_small(&ended(Ok(figures)))
        };
        let below = Verdict::ChangedBelowThreshold;
        assert!(small(below, -0.028, 29.5, Mode::Steady) && small(below, 0.04, 10.0, Mode::Steady));
        assert!(!small(below, 0.02, 10.0, Mode::Steady));
        assert!(!small(below, 0.009, 100.0, Mode::Steady));
        assert!(!small(Verdict::Same, 0.028, 29.5, Mode::Steady));
        assert!(!small(below, 0.028, 29.5, Mode::FirstCall));
        assert!(!is_small(&ended(Err(Reason::BudgetUsedUp))));
        // 494 instructions for 493 are not what 0.8 of 58 ns are of; 20 of 580 can be what 0.8 of 32 ns are of.
        let least = |estimate, doubt| least_instructions(&figures(below, estimate).measured.change, doubt);
        assert!(least(0.014, Doubt::Usual) > 1.0 / 493.0 && least(-0.025, Doubt::Usual) < 20.0 / 580.0);
        // 897 instructions for 896 are not what 2.2 % are of.
        assert!(least(0.022, Doubt::Remote) > 1.0 / 896.0);
    }

    #[test]
    fn a_metric_is_in_doubt_as_time_is_once_it_is_said_to_have_changed() {
        let of = |verdict, estimate: f64| {
            let reading = |value| Readings { value, low: value, high: value };
            let readings = Sides { base: reading(1000.0), head: reading(1000.0 * (1.0 + estimate)) };
            let mut figures = figures(Verdict::Same, 0.0);
            let change = Some(Change { estimate, low: estimate - 0.001, high: estimate + 0.001 });
            let metered = Metered { verdict, readings, change, threshold: 0.01, basis: Basis::Pairs(8) };
            figures.metrics.insert(Metric::CpuTime, Ok(metered));
            let in_doubt = doubt_on_metric(&ended(Ok(figures)), Metric::CpuTime, Placed::Matched);
            in_doubt.map(|(_, doubt)| doubt)
        };
        assert_eq!(of(MetricVerdict::More, 0.013), Some(Doubt::Usual));
        assert_eq!(of(MetricVerdict::Less, -0.05), Some(Doubt::Remote));
        assert_eq!(of(MetricVerdict::More, 0.3), None);
        assert_eq!(of(MetricVerdict::Same, 0.013), None);
    }

    #[test]
    fn what_places_did_once_counts_if_the_instructions_do_not_contradict_it() {
        use MetricVerdict::{ChangedBelowThreshold, Less, More, Same, Varies};
        let check = |instructions: Result<_, _>, verdict: Verdict| {
            let end = beyond_places(ended(Ok(figures(Verdict::Slower, 0.13))), Doubt::Rare, instructions);
            assert_eq!(end.result.unwrap().verdict, verdict);
        };
        for contrary in [Same, ChangedBelowThreshold, Less] {
            check(Ok(contrary), Verdict::Inconclusive);
        }
        for known in [Ok(More), Ok(Varies), Err(NotMetered::TooLong)] {
            check(known, Verdict::Slower);
        }
        let check = |instructions: Result<_, _>, verdict: Verdict| {
            let end = beyond_places(ended(Ok(figures(Verdict::Slower, 0.05))), Doubt::Remote, instructions);
            assert_eq!(end.result.unwrap().verdict, verdict);
        };
        check(Ok(Same), Verdict::Inconclusive);
        // Fewer of them can take longer.
        for known in [Ok(Less), Ok(More), Ok(Varies), Err(NotMetered::TooLong)] {
            check(known, Verdict::Slower);
        }
    }

    #[test]
    fn instructions_that_the_run_had_no_time_to_count_leave_a_change_unconfirmed() {
        let fresh = || ended(Ok(figures(Verdict::Slower, 0.013)));
        let check = |why, expected| {
            let end = confirmed(&fresh(), beyond_places(fresh(), Doubt::Usual, Err(why)), Placed::Matched);
            assert_eq!((end.result.unwrap().verdict, end.reason), (Verdict::Inconclusive, Some(expected)));
        };
        check(NotMetered::BudgetUsedUp, Reason::Unconfirmed { seen: Verdict::Slower });
        check(NotMetered::Interrupted, Reason::Interrupted);
    }
}
