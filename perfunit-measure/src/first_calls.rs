//! First calls of tests that are measured by their later ones: for work that only a first call does.

use super::bench::Config;
use super::fork_pilot::Pilot;
use super::lockstep::Task;
use super::measurement::Measurement;
use super::pairs::Unit;
use super::settled::Settled;
use super::subject::{Ended, Figures};
use super::trial::Trial;
use super::work::{Comparison, uncertainty};
use perfunit_model::error::Result;
use perfunit_model::{FirstCallUnknown, Measured, Note, Reason, Sides, Threshold, Verdict};
use perfunit_system::interrupt;
use std::time::Instant;

/// Of a test that is repeated, a first call is judged apart if it differs by this fraction of base more than later calls do,
/// and by so many ns: a few page faults.
const APART: f64 = 0.05;
const APART_NS: f64 = 2_000.0;
/// Standard errors that a single pair's difference must be from 0 to be looked at closely.
const SUSPICIOUS: f64 = 4.0;

/// What the first calls of a test that was measured by its later ones show.
pub enum Look {
    /// Nothing that later calls do not.
    Nothing,
    /// Nothing is known.
    Unknown(FirstCallUnknown),
    /// They seem to differ although later calls do not, or not as much.
    Flagged(Box<Flagged>),
}

/// A first call that seems to differ.
#[derive(Debug)]
pub struct Flagged {
    pub settled: Settled,
    pub figures: Figures,
}

/// Compares the first calls of a test that was measured by its later ones: one pair, and as many as it takes if that
/// differs.
pub fn look(trial: &Trial<'_>, way: &Settled, later: &Figures, random: &mut fastrand::Rng) -> Result<Look> {
    let _span = tracing::debug_span!("first_call").entered();
    let config = trial.config;
    if !matches!(way.task, Task::Steady(_)) || interrupt::requested() {
        return Ok(Look::Nothing);
    }
    if config.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
        return Ok(Look::Unknown(FirstCallUnknown::BudgetUsedUp));
    }
    let pilot = Pilot::run(trial, way.capture, way.clock, random)?;
    if interrupt::requested() {
        return Ok(Look::Nothing);
    }
    if let Some(obstacle) = pilot.obstacle(config) {
        return Ok(Look::Unknown(FirstCallUnknown::NotForked { obstacle }));
    }
    let ns = pilot.end.sides.as_ref().map(|side| side.first_ns);
    let comparison = Comparison::for_pilot(&pilot.end);
    let certain = comparison.log_ratio(&pilot.end).abs() > SUSPICIOUS * uncertainty(&pilot.end);
    if !certain || !is_apart(config.threshold, ns, &later.measured) {
        return Ok(Look::Nothing);
    }
    let task = Task::Fork(way.capture, pilot.end.shape);
    let settled = Settled { matched: way.matched, ..pilot.settled(task, Vec::new()) };
    let judged = judged(config);
    let trial = Trial { config: &judged, ..*trial };
    let measurement = Measurement::new(&judged, settled.clone(), Unit::Pair, config.alpha);
    let Ended { result, reason: open, .. } = measurement.run(&trial, None, random)?;
    Ok(match result {
        // What may be a loss is for fresh pairs to decide, too.
        Ok(figures)
            if (figures.verdict.is_change() || is_loss(&figures))
                && is_apart(config.threshold, ns_of(&figures.measured), &later.measured) =>
        {
            Look::Flagged(Box::new(Flagged { settled, figures }))
        }
        Err(Reason::Interrupted) => Look::Nothing,
        Ok(Figures { verdict, .. }) if verdict != Verdict::Inconclusive => Look::Nothing,
        Ok(_) => Look::Unknown(FirstCallUnknown::OnePairDiffers { why: open.unwrap_or(Reason::TooNoisy) }),
        Err(why) => Look::Unknown(FirstCallUnknown::OnePairDiffers { why }),
    })
}

/// Joins what fresh pairs say of a flagged first call with what was said of later calls. `threshold` is the test's.
pub fn join(flagged: &Flagged, fresh: Ended, threshold: Threshold, later: &mut Ended) {
    let Ok(figures) = &mut later.result else { return };
    let reason = fresh.reason;
    let seen = if is_loss(&flagged.figures) { Verdict::Slower } else { flagged.figures.verdict };
    // A loss that was seen and not refuted leaves the test open, whatever its later calls are.
    let is_open_loss = seen == Verdict::Slower && figures.verdict != Verdict::Slower;
    let fresh = match fresh.result {
        Ok(fresh) => fresh,
        Err(why) => {
            figures.notes.push(Note::FirstCallNotMeasuredAgain { why: why.clone() });
            if is_open_loss {
                let open = Figures { verdict: Verdict::Inconclusive, ..flagged.figures.clone() };
                *figures = as_first_calls(open, figures);
                later.reason = Some(match why {
                    Reason::BudgetUsedUp => Reason::Unconfirmed { seen: Verdict::Slower },
                    why => why,
                });
            }
            return;
        }
    };
    if fresh.verdict != seen || !is_changed(threshold, &fresh, figures) {
        let is_unsure = fresh.verdict == Verdict::Inconclusive;
        // What only leaned to it is seen once more, or not at all.
        let is_seen = flagged.figures.verdict == Verdict::Slower || is_loss(&fresh);
        if is_unsure && is_open_loss && is_seen {
            later.reason = Some(match reason {
                Some(Reason::BudgetUsedUp) if is_loss(&fresh) => Reason::Unconfirmed { seen: Verdict::Slower },
                Some(why @ (Reason::BudgetUsedUp | Reason::Interrupted)) => why,
                _ => Reason::NotConfirmed,
            });
            *figures = as_first_calls(fresh, figures);
        } else {
            figures.notes.push(if is_unsure { Note::FirstCallNotConfirmed } else { Note::FirstCallTakenBack });
        }
        return;
    }
    let first = &fresh.measured;
    // That the first call got faster says nothing of later ones that may have got slower.
    let is_open = figures.verdict == Verdict::Inconclusive && fresh.verdict == Verdict::Faster;
    // The worse of two changes decides.
    let is_worse = figures.verdict == Verdict::Faster && fresh.verdict == Verdict::Slower;
    if figures.verdict.is_change() && !is_worse || is_open {
        figures.notes.push(Note::FirstCallToo { ns: ns_of(first), change: first.change });
        return;
    }
    *figures = as_first_calls(fresh, figures);
    later.reason = None;
}

/// A test for which its first calls speak.
fn as_first_calls(first: Figures, later: &mut Figures) -> Figures {
    let note = Note::FirstCallDecides { later_ns: ns_of(&later.measured) };
    let notes = later.notes.drain(..).chain([note]).collect();
    Figures { notes, metrics: std::mem::take(&mut later.metrics), ..first }
}

/// First calls of tests that are repeated are judged from a larger change on: what they find in the caches is not all equal.
pub fn judged(config: &Config) -> Config {
    Config { threshold: threshold_of_first_calls(config.threshold), metering: None, ..config.clone() }
}

fn threshold_of_first_calls(threshold: Threshold) -> Threshold {
    threshold.at_least(APART)
}

fn ns_of(measured: &Measured) -> Sides<f64> {
    Sides { base: measured.base_ns, head: measured.head_ns }
}

/// Whether first calls got slower, or probably did.
fn is_loss(first: &Figures) -> bool {
    let change = first.measured.change;
    match first.verdict {
        Verdict::Slower => true,
        Verdict::Inconclusive => change.estimate > 0.0 && change.leans(),
        _ => false,
    }
}

fn is_changed(threshold: Threshold, first: &Figures, later: &Figures) -> bool {
    first.verdict.is_change() && is_apart(threshold, ns_of(&first.measured), &later.measured)
}

/// Whether a first call differs by more than later calls do, so that there is something to say of it.
fn is_apart(threshold: Threshold, first_ns: Sides<f64>, later: &Measured) -> bool {
    let beyond = (first_ns.head - first_ns.base) - (later.head_ns - later.base_ns);
    beyond.abs() >= APART_NS && beyond.abs() >= threshold_of_first_calls(threshold).fraction() * first_ns.base
}

#[cfg(test)]
mod tests {
    use super::super::confirmed::tests::figures;
    use super::*;
    use perfunit_model::{FailedOn, Failure};

    /// Figures of first calls of 100 us.
    fn first_calls(verdict: Verdict, estimate: f64) -> Figures {
        let mut figures = figures(verdict, estimate);
        figures.measured.base_ns = 100_000.0;
        figures.measured.head_ns = 100_000.0 * (1.0 + estimate);
        figures
    }

    /// The end of a test whose first calls were flagged as half as slow again, and whose later calls are the same.
    fn joined(fresh: std::result::Result<Figures, Reason>) -> Ended {
        joined_with(Verdict::Slower, Ended { result: fresh, reason: None, capture: None })
    }

    fn joined_with(flagged: Verdict, fresh: Ended) -> Ended {
        let estimate = if flagged == Verdict::Slower { 0.5 } else { -0.4 };
        let settled = crate::bound::tests::settled(1e5, 1e5 * (1.0 + estimate));
        let flagged = Flagged { settled, figures: first_calls(flagged, estimate) };
        let mut later = Ended { result: Ok(figures(Verdict::Same, 0.0)), reason: None, capture: None };
        join(&flagged, fresh, Threshold::default(), &mut later);
        later
    }

    #[test]
    fn a_first_call_that_shows_again_is_the_test_s_verdict() {
        let figures = joined(Ok(first_calls(Verdict::Slower, 0.4))).result.unwrap();
        assert_eq!(figures.verdict, Verdict::Slower);
        assert!(matches!(figures.notes[0], Note::FirstCallDecides { .. }), "{figures:?}");
    }

    /// The verdict on a test whose later calls and whose first call end so.
    fn verdict(later: Verdict, first: Verdict, estimate: f64) -> (Verdict, Option<Reason>) {
        let settled = crate::bound::tests::settled(1e5, 1e5 * (1.0 + estimate));
        let flagged = Flagged { settled, figures: first_calls(first, estimate) };
        let reason = (later == Verdict::Inconclusive).then_some(Reason::TooNoisy);
        let mut later = Ended { result: Ok(figures(later, 0.0)), reason, capture: None };
        let fresh = Ended { result: Ok(first_calls(first, estimate)), reason: None, capture: None };
        join(&flagged, fresh, Threshold::default(), &mut later);
        (later.result.unwrap().verdict, later.reason)
    }

    #[test]
    fn a_faster_first_call_is_no_verdict_on_later_calls_that_are_open_or_slower() {
        let check = |later, expected| assert_eq!(verdict(later, Verdict::Faster, -0.5), expected);
        check(Verdict::Inconclusive, (Verdict::Inconclusive, Some(Reason::TooNoisy)));
        check(Verdict::Slower, (Verdict::Slower, None));
        check(Verdict::Same, (Verdict::Faster, None));
    }

    #[test]
    fn a_slower_first_call_is_the_verdict_whatever_later_calls_are() {
        for later in [Verdict::Inconclusive, Verdict::Same, Verdict::Faster, Verdict::Slower] {
            assert_eq!(verdict(later, Verdict::Slower, 0.5), (Verdict::Slower, None));
        }
    }

    #[test]
    fn a_first_call_that_does_not_show_again_leaves_a_note() {
        let check = |fresh: Figures, note: Note| {
            let figures = joined(Ok(fresh)).result.unwrap();
            assert_eq!((figures.verdict, figures.notes), (Verdict::Same, vec![note]));
        };
        check(first_calls(Verdict::Same, 0.0), Note::FirstCallTakenBack);
        check(first_calls(Verdict::Faster, -0.5), Note::FirstCallTakenBack);
        // By less than matters.
        check(figures(Verdict::Slower, 0.5), Note::FirstCallTakenBack);
        // A gain that is not confirmed is none.
        let unsure = Ended { result: Ok(first_calls(Verdict::Inconclusive, -0.4)), reason: None, capture: None };
        let figures = joined_with(Verdict::Faster, unsure).result.unwrap();
        assert_eq!((figures.verdict, figures.notes), (Verdict::Same, vec![Note::FirstCallNotConfirmed]));
    }

    #[test]
    fn first_calls_that_leaned_to_slower_are_decided_by_fresh_ones() {
        let joined = |estimate: f64, fresh: Figures| {
            let settled = crate::bound::tests::settled(1e5, 1e5 * (1.0 + estimate));
            let mut later = Ended { result: Ok(figures(Verdict::Same, 0.0)), reason: None, capture: None };
            let figures = first_calls(Verdict::Inconclusive, estimate);
            let fresh = Ended { result: Ok(fresh), reason: None, capture: None };
            join(&Flagged { settled, figures }, fresh, Threshold::default(), &mut later);
            (later.result.unwrap().verdict, later.reason)
        };
        let open = (Verdict::Inconclusive, Some(Reason::NotConfirmed));
        assert_eq!(joined(0.5, first_calls(Verdict::Slower, 0.4)), (Verdict::Slower, None));
        assert_eq!(joined(0.5, first_calls(Verdict::Inconclusive, 0.4)), open);
        assert_eq!(joined(0.5, first_calls(Verdict::Inconclusive, -0.4)), (Verdict::Same, None));
        assert_eq!(joined(0.5, first_calls(Verdict::Same, 0.0)), (Verdict::Same, None));
    }

    #[test]
    fn a_slower_first_call_that_is_neither_confirmed_nor_refuted_leaves_the_test_open() {
        let check = |fresh: std::result::Result<Figures, Reason>, why: Option<Reason>, expected: Reason| {
            let end = joined_with(Verdict::Slower, Ended { result: fresh, reason: why, capture: None });
            let figures = end.result.unwrap();
            assert_eq!((figures.verdict, end.reason), (Verdict::Inconclusive, Some(expected)));
            assert!(figures.notes.iter().any(|note| matches!(note, Note::FirstCallDecides { .. })), "{figures:?}");
        };
        let seen = || Reason::Unconfirmed { seen: Verdict::Slower };
        let unsure = |estimate| Ok(first_calls(Verdict::Inconclusive, estimate));
        check(unsure(0.5), Some(Reason::TooNoisy), Reason::NotConfirmed);
        check(unsure(0.5), Some(Reason::BudgetUsedUp), seen());
        check(unsure(-0.5), Some(Reason::BudgetUsedUp), Reason::BudgetUsedUp);
        check(Err(Reason::BudgetUsedUp), None, seen());
        let how = Failure::Said("it is full".to_owned());
        let fails = || Reason::Fails { side: FailedOn::Head, how: how.clone(), intermittent: false };
        check(Err(fails()), None, fails());
    }
}
