//! Fresh pairs for what was flagged, and for what one layout says too little of.
//!
//! Flagged tests must show the same change on fresh pairs, each with another layout of the code, at a level that keeps the
//! whole run's false alarms below 1 %. So must all tests that can come by changed code which could not be put in the same
//! place in both versions. The fresh pairs alone give the reported figures: the first ones were selected for being extreme.
//!
//! Breadth first: each test is measured up to its first look before any is measured up to its second, so that a budget that
//! ends leaves many tests with a verdict.

use super::bench::{Bench, Config};
use super::confirmed::{confirmed, has_changed, is_flagged, rests_on_places, with_small};
use super::doubt::{
    Doubt, beyond_places, counts, doubt_on_metric, doubt_on_time, is_likewise, is_small, least_instructions,
};
use super::first_calls::{self, Flagged};
use super::layouts::{Layouts, Placed};
use super::measurement::Measurement;
use super::meter;
use super::pairs::Unit;
use super::settled::{LEAST_NS_BY_INSTRUCTIONS, Settled};
use super::subject::{Ended, Figures, Observer, Subject};
use super::trial::Trial;
use perfunit_build::SideBuild;
use perfunit_decide::PairsPerLayout;
use perfunit_model::error::Result;
use perfunit_model::{Metric, MetricVerdict, NotMetered, Reason, Sides};
use perfunit_system::interrupt;
use std::collections::BTreeSet;
use std::time::Instant;

/// A test after its first pairs.
pub(super) struct Screened {
    pub end: Ended,
    /// How it is measured, if fresh pairs can be asked for.
    pub way: Option<Settled>,
    /// What its first call seems to do apart from later ones.
    pub first_call: Option<Flagged>,
    /// Its pairs were broken off for layouts to decide.
    pub left_open: bool,
}

impl Screened {
    pub fn without_pairs(result: std::result::Result<Figures, Reason>) -> Self {
        Self { end: Ended { result, reason: None, capture: None }, way: None, first_call: None, left_open: false }
    }
}

/// What the fresh pairs of tests share that are confirmed together.
pub(super) struct Confirmation<'r, 'a> {
    pub bench: &'a Bench,
    pub config: &'r Config,
    /// The level at which each flagged verdict must show again, so that all verdicts of the run share one error rate.
    pub alpha: f64,
    pub sides: &'r Sides<&'r SideBuild>,
    pub subjects: &'r [&'r Subject<'r>],
    pub observer: Observer<'r>,
    pub layouts: &'r mut Layouts<'a>,
    pub random: &'r mut fastrand::Rng,
}

/// What is asked of a test once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Question {
    /// What its first pairs said.
    Pairs(Placed),
    /// Whether a change that is too small to count by time alone is there, with other instructions.
    Small,
    /// Whether its first call differs apart from later ones.
    FirstCall,
}

/// A test that is measured once more.
struct Open {
    subject: usize,
    question: Question,
    config: Config,
    settled: Settled,
    /// Pairs of each layout, if layouts can be drawn.
    pairs_per_layout: PairsPerLayout,
    /// As far as it got.
    measurement: Option<Measurement>,
    /// What it said, once it is over.
    answer: Option<Ended>,
}

impl Confirmation<'_, '_> {
    /// The ends of all tests.
    pub fn run(&mut self, mut screened: Vec<Screened>) -> Result<Vec<Ended>> {
        let _span = tracing::debug_span!("confirm").entered();
        let mut open = self.open(&screened)?;
        let is_open: BTreeSet<usize> = open.iter().map(|open| open.subject).collect();
        for (index, screened) in screened.iter().enumerate().filter(|(index, _)| !is_open.contains(index)) {
            // Without a way to measure it again it was announced when it was screened.
            if screened.way.is_some() {
                (self.observer.ended)(&self.subjects[index].test, &screened.end);
            }
        }
        if !open.is_empty() {
            self.observer.progress.proceed("Confirming", open.len());
        }
        breadth_first(open.len(), |look, index| {
            if !self.measure_to(look, &mut open[index])? {
                return Ok(false);
            }
            if open[index].answer.is_some() {
                self.observer.progress.advance();
            }
            let subject = open[index].subject;
            let of_subject: Vec<&Open> = open.iter().filter(|open| open.subject == subject).collect();
            if let Some(end) = joined(&screened[subject], of_subject) {
                (self.observer.ended)(&self.subjects[subject].test, &end);
                screened[subject].end = end;
            }
            Ok(true)
        })?;
        Ok(screened.into_iter().map(|screened| screened.end).collect())
    }

    /// All that is to be measured once more, target by target, as layouts are a target's, and what was flagged first.
    fn open(&mut self, screened: &[Screened]) -> Result<Vec<Open>> {
        let subjects = self.subjects;
        let mut open = Vec::new();
        for (index, (subject, screened)) in subjects.iter().zip(screened).enumerate() {
            let (Some(settled), Ok(figures)) = (&screened.way, &screened.end.result) else { continue };
            let config = self.config.on(subject.terms);
            let mut ask = |question, settled: &Settled, figures: &Figures| {
                open.push(Open {
                    subject: index,
                    question,
                    settled: settled.clone(),
                    pairs_per_layout: pairs_per_layout(figures, &config, self.alpha),
                    measurement: None,
                    answer: None,
                    config: if question == Question::FirstCall { first_calls::judged(&config) } else { config.clone() },
                });
            };
            let is_flagged = is_flagged(&screened.end, &gates(self.config, subject));
            let rests = screened.left_open || rests_on_places(&screened.end);
            let places = if is_flagged || rests { self.layouts.places(self.sides, subject)? } else { Placed::Matched };
            if is_flagged || places != Placed::Matched {
                ask(Question::Pairs(places), settled, figures);
            } else if settled.matched && is_small(&screened.end) {
                ask(Question::Small, &Settled { least_ns: LEAST_NS_BY_INSTRUCTIONS, ..settled.clone() }, figures);
            }
            if let Some(flagged) = &screened.first_call {
                ask(Question::FirstCall, &flagged.settled, &flagged.figures);
            }
        }
        let is_flagged = |open: &Open| {
            let (subject, end) = (&subjects[open.subject], &screened[open.subject].end);
            open.question == Question::FirstCall || is_flagged(end, &gates(self.config, subject))
        };
        open.sort_by_cached_key(|open| (&subjects[open.subject].test.target, !is_flagged(open)));
        Ok(open)
    }

    /// Measures up to a look, the last one of which gives the answer; false if it was there before.
    fn measure_to(&mut self, look: usize, open: &mut Open) -> Result<bool> {
        if open.answer.is_some() {
            return Ok(false);
        }
        let subject = &self.subjects[open.subject];
        let mut measurement = if let Some(measurement) = open.measurement.take() {
            measurement
        } else {
            let unit = self.unit(subject, open.pairs_per_layout)?;
            // What one layout says of such a test it says with a wider interval only.
            let on_one =
                unit == Unit::Pair && matches!(open.question, Question::Pairs(Placed::Drawn | Placed::Uncertain));
            let settled = Settled { matched: open.settled.matched && !on_one, ..open.settled.clone() };
            Measurement::new(&open.config, settled, unit, self.alpha)
        };
        let Some(units) = measurement.units_at(look) else {
            open.answer = Some(self.answer(open, measurement)?);
            return Ok(true);
        };
        self.advance(open, &mut measurement, units)?;
        if measurement.is_over() {
            open.answer = Some(self.answer(open, measurement)?);
        } else {
            open.measurement = Some(measurement);
        }
        Ok(true)
    }

    fn advance(&mut self, open: &Open, measurement: &mut Measurement, units: usize) -> Result<()> {
        let subject = &self.subjects[open.subject];
        self.bench.settle();
        self.observer.progress.message(subject.test.to_string());
        let mut programs = subject.programs(self.sides);
        let layouts = if measurement.unit() == Unit::Pair {
            programs.executables = self.layouts.first_of(subject)?.unwrap_or(subject.executables);
            None
        } else {
            Some(&mut *self.layouts)
        };
        let trial = Trial { bench: self.bench, config: &open.config, programs };
        measurement.advance(&trial, layouts, units, self.random)
    }

    /// What fresh values say in the end.
    fn answer(&mut self, open: &Open, measurement: Measurement) -> Result<Ended> {
        let end = measurement.finish();
        match open.question {
            Question::FirstCall => Ok(end),
            Question::Small => self.time_beyond_places(open, end, Some(Doubt::Usual)),
            Question::Pairs(places) => {
                let end = if is_small(&end) {
                    self.judged_closer(open, measurement, end)?
                } else {
                    let doubt = doubt_on_time(&end, places);
                    self.time_beyond_places(open, end, doubt)?
                };
                self.cpu_time_beyond_places(open, end, places)
            }
        }
    }

    /// The end of a test whose change counts only with other instructions, if it is in doubt.
    fn time_beyond_places(&mut self, open: &Open, end: Ended, doubt: Option<Doubt>) -> Result<Ended> {
        let change = end.result.as_ref().ok().filter(|_| has_changed(&end)).map(|figures| figures.measured.change);
        let (Some(change), Some(doubt)) = (change, doubt) else { return Ok(end) };
        let instructions = self.instructions(open, least_instructions(&change, doubt))?;
        Ok(beyond_places(end, doubt, instructions))
    }

    /// So, too, for CPU time, if it decides.
    fn cpu_time_beyond_places(&mut self, open: &Open, mut end: Ended, places: Placed) -> Result<Ended> {
        let decides = gates(self.config, self.subjects[open.subject]).contains(&Metric::CpuTime);
        let in_doubt = doubt_on_metric(&end, Metric::CpuTime, places).filter(|_| decides);
        if let Some((change, doubt)) = in_doubt {
            let instructions = self.instructions(open, least_instructions(&change, doubt))?;
            if !counts(change.estimate > 0.0, doubt, &instructions)
                && let Ok(figures) = &mut end.result
                && let Some(Ok(metered)) = figures.metrics.get_mut(&Metric::CpuTime)
            {
                metered.verdict = MetricVerdict::Inconclusive;
            }
        }
        Ok(end)
    }

    /// The end of a test whose change was too small to count, unless its instructions changed likewise and more values show
    /// the change.
    fn judged_closer(&mut self, open: &Open, measurement: Measurement, end: Ended) -> Result<Ended> {
        let Some(mut closer) = measurement.judged_from(LEAST_NS_BY_INSTRUCTIONS) else { return Ok(end) };
        let Ok(change) = end.result.as_ref().map(|figures| figures.measured.change) else { return Ok(end) };
        let instructions = self.instructions(open, least_instructions(&change, Doubt::Usual))?;
        if !is_likewise(&end, &instructions) {
            return Ok(end);
        }
        self.advance(open, &mut closer, usize::MAX)?;
        let closer = beyond_places(closer.finish(), Doubt::Usual, instructions);
        Ok(if has_changed(&closer) { closer } else { end })
    }

    /// How the instructions of a test changed, if by this fraction or more.
    fn instructions(&mut self, open: &Open, least: f64) -> Result<std::result::Result<MetricVerdict, NotMetered>> {
        // Those of what is accepted are among them, and do not tell what came on top of it.
        if open.config.accepted.as_ref().is_some_and(|accepted| accepted.log_ratio(open.settled.task.mode()) != 0.0) {
            return Ok(Err(NotMetered::OfAcceptedLoss));
        }
        let subject = &self.subjects[open.subject];
        let mut programs = subject.programs(self.sides);
        programs.executables = self.layouts.first_of(subject)?.unwrap_or(subject.executables);
        let trial = Trial { bench: self.bench, config: &open.config, programs };
        meter::instructions(&trial, &open.settled, least, self.random)
    }

    /// What fresh values are of: layouts, where they can be drawn and there is time for it.
    fn unit(&mut self, subject: &Subject<'_>, pairs: PairsPerLayout) -> Result<Unit> {
        let is_late = self.config.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let is_as_built = self.layouts.is_as_built(&subject.test);
        if is_late || is_as_built || interrupt::requested() || self.layouts.drawn(subject.executables, 0)?.is_none() {
            return Ok(Unit::Pair);
        }
        Ok(Unit::Layout { pairs })
    }
}

/// The metrics that decide on a test.
pub(super) fn gates(config: &Config, subject: &Subject<'_>) -> Vec<Metric> {
    config.on(subject.terms).metering.map_or_else(Vec::new, |metering| metering.gates)
}

/// The end of a test, once all that was asked of it is answered.
fn joined(screened: &Screened, mut open: Vec<&Open>) -> Option<Ended> {
    // What is said of first calls depends on what is said of later ones.
    open.sort_by_key(|open| open.question == Question::FirstCall);
    open.into_iter().try_fold(screened.end.clone(), |mut end, open| {
        let fresh = open.answer.clone()?;
        match (open.question, &screened.first_call) {
            (Question::Pairs(places), _) => end = confirmed(&end, fresh, places),
            (Question::Small, _) => end = with_small(end, fresh),
            (Question::FirstCall, Some(flagged)) => {
                first_calls::join(flagged, fresh, open.config.threshold, &mut end);
            }
            (Question::FirstCall, None) => {}
        }
        Some(end)
    })
}

/// Takes all to their first look, then all to their second, and so on, until none goes any further.
fn breadth_first(all: usize, mut take_to: impl FnMut(usize, usize) -> Result<bool>) -> Result<()> {
    for look in 0.. {
        let mut is_more = false;
        for index in 0..all {
            is_more |= take_to(look, index)?;
        }
        if !is_more {
            break;
        }
    }
    Ok(())
}

/// Pairs that make a layout's mean, of which enough layouts fit the budget.
fn pairs_per_layout(first: &Figures, config: &Config, alpha: f64) -> PairsPerLayout {
    let change = first.measured.threshold.max(first.measured.change.estimate.abs());
    let affordable = config.per_test_budget.as_secs_f64() / first.seconds_per_pair;
    PairsPerLayout::new(first.spread, change, alpha, affordable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_has_its_first_look_before_any_has_its_second() {
        // Test and look, as long as the budget lasts; the second test is content after one look.
        let visited = |budget: usize| {
            let mut visited = Vec::new();
            let needed = [3, 1, 2];
            breadth_first(needed.len(), |look, test| {
                let goes_on = look < needed[test] && visited.len() < budget;
                visited.extend(goes_on.then_some((test, look)));
                Ok(goes_on)
            })
            .unwrap();
            visited
        };
        assert_eq!(visited(usize::MAX), [(0, 0), (1, 0), (2, 0), (0, 1), (2, 1), (0, 2)]);
        assert_eq!(visited(4), [(0, 0), (1, 0), (2, 0), (0, 1)]);
    }
}
