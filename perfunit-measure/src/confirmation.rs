//! Fresh pairs for flagged tests, and for tests whose verdict may depend on the layout of their code.
//!
//! Flagged tests must show the same change on fresh pairs, each with another layout of the code, at a level that keeps the
//! whole run's false alarms below 1 %. So must all tests that can reach changed code which has no common place in both
//! versions. This stage only measures; [`verdict`] decides.
//!
//! Flagged tests are measured to their end in groups of one target, slower ones first. All others follow breadth first: each
//! is measured up to its first look before any is measured up to its second, so that a budget that ends leaves many with a
//! verdict.

use super::bench::{Bench, Config};
use super::doubt::{Doubt, Instructions, doubt_on_metric, is_flagged, is_small, least_instructions, rests_on_places};
use super::extra_time::ExtraTime;
use super::first_calls::{self, Flagged};
use super::layouts::{Layouts, Placed};
use super::measurement::{Measurement, Unit};
use super::meter;
use super::subject::{Ended, Figures, Finding, Observer, Subject};
use super::trial::{LEAST_NS_BY_INSTRUCTIONS, Settled, Trial};
use super::verdict::{Confirmation, Criteria, Evidence, FirstCalls, Question, verdict};
use perfunit_build::SideBuild;
use perfunit_decide as decide;
use perfunit_decide::PairsPerLayout;
use perfunit_model::error::Result;
use perfunit_model::{Change, Measured, Metric, NotMetered, Sides, Spent, TargetId, Verdict};
use perfunit_system::interrupt;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::{Duration, Instant};

/// Flagged series of one target that are measured to their end before the next ones begin, so that changes are confirmed
/// early, also where the time does not suffice for all. They share layouts.
const AT_ONCE: usize = 16;

/// A test after its first pairs.
pub(super) struct Screened {
    pub evidence: Evidence,
    /// The way to measure more pairs; none if the first evidence is final.
    pub way: Option<Settled>,
    /// First calls that seem to differ from later ones.
    pub first_call: Option<Flagged>,
    /// True if the first pairs were stopped because only drawn layouts can decide.
    pub left_open: bool,
    /// True if the operations of its calls are still to be counted.
    pub is_uncounted: bool,
    /// The time for pairs in addition to the budget of the test.
    pub granted: Duration,
}

impl Screened {
    /// Returns a test with all its evidence.
    pub fn complete(criteria: Criteria, screening: Finding) -> Self {
        let first_calls = FirstCalls::Unremarkable;
        let (spent, places) = (Spent::default(), Placed::Uncertain);
        let evidence = Evidence { criteria, screening, places, confirmation: None, first_calls, spent };
        Self { evidence, way: None, first_call: None, left_open: false, is_uncounted: false, granted: Duration::ZERO }
    }

    /// Returns whether the test needs fresh pairs, given what is known of its places.
    pub fn needs_confirmation(&self, places: Option<Placed>) -> bool {
        let by_places = || self.rests_on_places() && places != Some(Placed::Matched);
        self.way.is_some() && (self.is_flagged() || self.first_call.is_some() || by_places() || self.is_small())
    }

    fn is_flagged(&self) -> bool {
        is_flagged(&self.evidence.screening, &self.evidence.criteria.gates)
    }

    /// Returns whether only drawn layouts can decide, or other ones may lead to another verdict.
    fn rests_on_places(&self) -> bool {
        self.left_open || rests_on_places(&self.evidence.screening)
    }

    /// Returns whether instructions can support a change that is too small for time alone. They support none of a test that
    /// starts processes.
    fn is_small(&self) -> bool {
        let may_be = |way: &Settled| way.matched && !way.starts_processes;
        self.way.as_ref().is_some_and(may_be) && is_small(&self.evidence.screening)
    }
}

/// The confirmation of tests that share a significance level.
pub(super) struct Confirmer<'r, 'a> {
    pub bench: &'a Bench,
    pub config: &'r Config,
    /// The level at which each flagged verdict must show again, so that all verdicts of the run share one error rate.
    pub alpha: f64,
    pub sides: &'r Sides<&'r SideBuild>,
    pub subjects: &'r [&'r Subject<'r>],
    pub observer: Observer<'r>,
    pub layouts: &'r mut Layouts<'a>,
    pub random: &'r mut fastrand::Rng,
    pub extra: &'r mut ExtraTime,
}

/// The calls that are measured again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Calls {
    Repeated(Question),
    First,
}

/// A series of fresh pairs of a test.
struct Open {
    subject: usize,
    calls: Calls,
    config: Config,
    settled: Settled,
    /// True if the first pairs or calls showed a change.
    is_flagged: bool,
    /// Pairs of each layout, if layouts can be drawn.
    pairs_per_layout: PairsPerLayout,
    /// Time of the first look, in seconds.
    cost: f64,
    /// The pairs so far.
    measurement: Option<Measurement>,
    /// True while it waits for extra time.
    is_in_doubt: bool,
    is_over: bool,
}

impl Confirmer<'_, '_> {
    /// Measures all open series, and returns the ends of all tests.
    pub fn run(&mut self, mut screened: Vec<Screened>) -> Result<Vec<Ended>> {
        let _span = tracing::debug_span!("confirm").entered();
        let mut open = self.open(&mut screened)?;
        let is_open: BTreeSet<usize> = open.iter().map(|open| open.subject).collect();
        for (index, screened) in screened.iter().enumerate().filter(|(index, _)| !is_open.contains(index)) {
            // Tests that cannot be measured again were announced when they were screened.
            if screened.way.is_some() {
                (self.observer.ended)(&self.subjects[index].test, &verdict(&screened.evidence));
            }
        }
        if !open.is_empty() {
            self.observer.progress.proceed("Confirming", is_open.len());
        }
        let subjects = self.subjects;
        let groups = groups(open.iter().map(|open| (open.is_flagged, &subjects[open.subject].test.target)));
        for group in groups {
            breadth_first(group.clone(), |index| self.take_further(&mut open, index, &mut screened))?;
            while let Some(index) = widest_in_doubt(&open, group.clone()) {
                self.lend_time(&mut open[index]);
                while self.take_further(&mut open, index, &mut screened)? {}
            }
        }
        Ok(screened.iter().map(|screened| verdict(&screened.evidence)).collect())
    }

    /// Measures a series up to its next look, and announces its test if all of the test's series are over. Returns false if
    /// the series does not go on.
    fn take_further(&mut self, open: &mut [Open], index: usize, screened: &mut [Screened]) -> Result<bool> {
        let subject = open[index].subject;
        let (started, pairs_before) = (Instant::now(), open[index].settled.pairs_run.get());
        if !self.measure_to_next_look(&mut open[index], &mut screened[subject])? {
            return Ok(false);
        }
        screened[subject].evidence.spent += Spent {
            seconds: started.elapsed().as_secs_f64(),
            pairs: open[index].settled.pairs_run.get() - pairs_before,
        };
        if open.iter().all(|open| open.subject != subject || open.is_over) {
            self.observer.progress.advance();
            (self.observer.ended)(&self.subjects[subject].test, &verdict(&screened[subject].evidence));
        }
        Ok(true)
    }

    /// Returns all series to measure, target by target because layouts belong to a target, flagged tests first.
    fn open(&mut self, screened: &mut [Screened]) -> Result<Vec<Open>> {
        let subjects = self.subjects;
        let share = self.share(screened);
        let mut open = Vec::new();
        for (index, (subject, screened)) in subjects.iter().zip(&mut *screened).enumerate() {
            let (Some(settled), Ok(figures)) = (&screened.way, &screened.evidence.screening.result) else { continue };
            let is_flagged = screened.is_flagged();
            let config = self.config.on(subject.terms).plus(screened.granted);
            let mut ask = |calls, settled: &Settled, figures: &Figures| {
                let is_exchanged = settled.may_start_programs() && self.bench.exchanges_programs();
                let pairs_per_layout = pairs_per_layout(figures, &config, self.alpha, share, is_exchanged);
                open.push(Open {
                    subject: index,
                    calls,
                    settled: settled.clone(),
                    is_flagged: calls == Calls::First || is_flagged,
                    pairs_per_layout,
                    cost: pairs_per_layout.sum(decide::FIRST_LOOK) as f64 * figures.seconds_per_pair,
                    measurement: None,
                    is_in_doubt: false,
                    is_over: false,
                    config: if calls == Calls::First { first_calls::judging_config(&config) } else { config.clone() },
                });
            };
            let rests = screened.rests_on_places();
            let places = if is_flagged || rests { self.layouts.places(self.sides, subject)? } else { Placed::Matched };
            let known = if is_flagged || rests { Some(places) } else { self.layouts.known_places(subject) };
            if is_flagged || places != Placed::Matched {
                ask(Calls::Repeated(Question::Pairs(places)), settled, figures);
            } else if screened.is_small() {
                let settled = Settled { least_ns: LEAST_NS_BY_INSTRUCTIONS, ..settled.clone() };
                ask(Calls::Repeated(Question::Small), &settled, figures);
            }
            if let Some(flagged) = &screened.first_call {
                ask(Calls::First, &flagged.settled, &flagged.figures);
            }
            screened.evidence.places = known.unwrap_or(Placed::Uncertain);
        }
        let is_slower = |open: &Open| {
            let Screened { evidence, first_call, .. } = &screened[open.subject];
            let first = first_call.as_ref().map(|flagged| &flagged.figures).filter(|_| open.calls == Calls::First);
            first.or(evidence.screening.result.as_ref().ok()).is_some_and(|figures| figures.verdict == Verdict::Slower)
        };
        // If time is limited, changes come before all others, slower tests first, and cheap targets before dear ones.
        let is_limited = self.config.deadline.is_some();
        let mut costs: BTreeMap<&TargetId, (f64, usize)> = BTreeMap::new();
        for open in &open {
            let (cost, tests) = costs.entry(&subjects[open.subject].test.target).or_default();
            (*cost, *tests) = (*cost + open.cost, *tests + 1);
        }
        let cost = |target: &TargetId| costs.get(target).map_or(0, |(cost, tests)| (1e6 * cost / *tests as f64) as u64);
        open.sort_by_cached_key(|open| {
            let target = &subjects[open.subject].test.target;
            let order = (!open.is_flagged, !is_slower(open));
            (is_limited.then_some(order), if is_limited { cost(target) } else { 0 }, target, order)
        });
        Ok(open)
    }

    /// Returns the time for the first look of a test, if the time of the run is limited: an equal share.
    fn share(&self, screened: &[Screened]) -> Option<Duration> {
        let left = self.config.deadline?.saturating_duration_since(Instant::now());
        let tests = screened.iter().filter(|screened| screened.way.is_some()).count();
        Some(left / u32::try_from(tests.max(1)).unwrap_or(u32::MAX))
    }

    /// Measures up to a look; the last one completes the evidence. Returns false if the series was over before, or waits for
    /// extra time.
    fn measure_to_next_look(&mut self, open: &mut Open, screened: &mut Screened) -> Result<bool> {
        if open.is_over || open.is_in_doubt {
            return Ok(false);
        }
        let subject = &self.subjects[open.subject];
        let mut measurement = if let Some(measurement) = open.measurement.take() {
            measurement
        } else {
            let unit = self.unit(subject, open)?;
            // One layout decides such a test only with a wider interval.
            let on_one = !unit.is_layout()
                && matches!(open.calls, Calls::Repeated(Question::Pairs(Placed::Drawn | Placed::Uncertain)));
            let settled = Settled { matched: open.settled.matched && !on_one, ..open.settled.clone() };
            Measurement::new(&open.config, settled, unit, self.alpha)
        };
        // A change that was seen is confirmed before the next test's turn: time that ends should leave some confirmed and not
        // all of them open.
        let units = if open.is_flagged { measurement.next_look_at_change() } else { measurement.next_look() };
        self.advance(open, &mut measurement, units)?;
        let may_extend = open.calls != Calls::First && screened.granted.is_zero();
        open.is_in_doubt = may_extend && self.extra.may_settle(&measurement, &open.config);
        if open.is_in_doubt || !measurement.is_over() {
            open.measurement = Some(measurement);
            return Ok(true);
        }
        let (unused, started) = (measurement.unused(), Instant::now());
        self.complete(open, measurement, screened)?;
        // Completing may take further pairs.
        self.extra.give_back(unused.saturating_sub(started.elapsed()));
        open.is_over = true;
        Ok(true)
    }

    /// Lends extra time to a series that its budget left in doubt, as long as there is some.
    fn lend_time(&mut self, open: &mut Open) {
        open.is_in_doubt = false;
        open.measurement = open.measurement.take().map(|measurement| {
            let may_settle = self.extra.may_settle(&measurement, &open.config);
            if may_settle { self.extra.lend(measurement, &open.config) } else { measurement }
        });
    }

    fn advance(&mut self, open: &Open, measurement: &mut Measurement, units: usize) -> Result<()> {
        let subject = &self.subjects[open.subject];
        self.bench.settle();
        self.observer.progress.message(subject.test.to_string());
        let mut programs = subject.programs(self.sides);
        let layouts = if measurement.unit().is_layout() {
            Some(&mut *self.layouts)
        } else {
            programs.executables = self.layouts.first_of(subject)?.unwrap_or(subject.executables);
            None
        };
        let trial = Trial { bench: self.bench, config: &open.config, programs };
        measurement.advance(&trial, layouts, units, self.random)
    }

    /// Adds a finished series to the evidence.
    fn complete(&mut self, open: &Open, measurement: Measurement, screened: &mut Screened) -> Result<()> {
        match (open.calls, &screened.first_call) {
            (Calls::Repeated(question), _) => {
                let decides = screened.evidence.criteria.gates.contains(&Metric::CpuTime);
                screened.evidence.confirmation = Some(self.confirmation(open, measurement, question, decides)?);
            }
            (Calls::First, Some(flagged)) => {
                let (first, fresh) = (Box::new(flagged.figures.clone()), Box::new(measurement.finish()));
                screened.evidence.first_calls = FirstCalls::Flagged { first, fresh };
            }
            (Calls::First, None) => {}
        }
        Ok(())
    }

    /// Completes fresh pairs with the instructions that decide whether their changes count. Pairs that instructions do not
    /// support go on until they exclude what the placement of code can explain, if that is less than they show.
    fn confirmation(
        &mut self,
        open: &Open,
        measurement: Measurement,
        question: Question,
        cpu_time_decides: bool,
    ) -> Result<Confirmation> {
        let pairs = measurement.finish();
        let mut confirmation =
            Confirmation { question, pairs, instructions: None, closer: None, cpu_instructions: None };
        let pairs = &confirmation.pairs;
        if let (Question::Pairs(_), true, Ok(figures)) = (question, is_small(pairs), &pairs.result) {
            if let Some(mut closer) = measurement.judged_from(LEAST_NS_BY_INSTRUCTIONS) {
                let instructions = self.instructions(open, &figures.measured.change, Doubt::Usual)?;
                if instructions.changed_like(figures) {
                    self.advance(open, &mut closer, usize::MAX)?;
                    confirmation.closer = Some(closer.finish());
                }
                confirmation.instructions = Some(instructions);
            }
        } else if let (Some(doubt), Ok(figures)) = (question.doubt_on(pairs), &pairs.result) {
            let Measured { change, base_ns, .. } = figures.measured;
            confirmation.instructions = Some(self.instructions(open, &change, doubt)?);
            let reach = doubt.reach(question.agreement(), base_ns);
            if confirmation.is_in_doubt() && change.estimate.abs() > reach {
                let mut further = measurement.continued_to(reach);
                self.advance(open, &mut further, usize::MAX)?;
                confirmation.replace_pairs(further.continued_to(0.0).finish());
            }
        }
        let in_doubt = doubt_on_metric(confirmation.decisive(), Metric::CpuTime, question.agreement());
        if let Some((change, doubt)) = in_doubt.filter(|_| cpu_time_decides && question != Question::Small) {
            confirmation.cpu_instructions = Some(self.instructions(open, &change, doubt)?);
        }
        Ok(confirmation)
    }

    /// Returns the change of a test's instructions, with a threshold that is large enough to support this change of time.
    fn instructions(&mut self, open: &Open, change: &Change, doubt: Doubt) -> Result<Instructions> {
        // The instructions of an accepted loss are among them; what exceeds it cannot be separated.
        if open.config.accepted.as_ref().is_some_and(|accepted| accepted.log_ratio(open.settled.task.mode()) != 0.0) {
            return Ok(Instructions { doubt, change: Err(NotMetered::OfAcceptedLoss) });
        }
        let subject = &self.subjects[open.subject];
        let programs = self.layouts.first_programs(self.sides, subject)?;
        let plain = self.config.on(subject.terms);
        let per_test_budget = plain.per_test_budget + self.extra.for_doubt(&plain);
        let config = Config { per_test_budget, ..open.config.clone() };
        let trial = Trial { bench: self.bench, config: &config, programs };
        let started = Instant::now();
        let change = meter::instructions(&trial, &open.settled, least_instructions(change, doubt), self.random)?;
        self.extra.take(started.elapsed().saturating_sub(plain.per_test_budget));
        Ok(Instructions { doubt, change })
    }

    /// Returns the unit of fresh values: layouts, where the versions' code differs, they can be drawn and time is left.
    fn unit(&mut self, subject: &Subject<'_>, open: &Open) -> Result<Unit> {
        let is_late = self.config.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let is_fixed = self.layouts.is_as_built(&subject.test) || self.layouts.is_one_executable(&subject.test.target);
        if is_late || is_fixed || interrupt::is_requested() || self.layouts.drawn(subject.executables, 0)?.is_none() {
            return Ok(Unit::on_one_layout(self.bench, open.config.per_test_budget, &open.settled));
        }
        Ok(Unit::Layout { pairs: open.pairs_per_layout })
    }
}

/// Returns the groups of series, in order, given whether each is flagged and its target. Flagged series make groups of one
/// target. All others between them are one group, so that each has its first look early.
fn groups<T: PartialEq>(series: impl Iterator<Item = (bool, T)>) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut last = None;
    for (index, (is_flagged, target)) in series.enumerate() {
        let kind = (is_flagged, is_flagged.then_some(target));
        match groups.last_mut() {
            Some(group) if last.as_ref() == Some(&kind) && !(is_flagged && group.len() >= AT_ONCE) => group.end += 1,
            _ => groups.push(index..index + 1),
        }
        last = Some(kind);
    }
    groups
}

/// Takes all series of a group to their first look, then all to their second, and so on, until none goes on.
fn breadth_first(group: Range<usize>, mut take_further: impl FnMut(usize) -> Result<bool>) -> Result<()> {
    let mut is_more = true;
    while is_more {
        is_more = false;
        for index in group.clone() {
            is_more |= take_further(index)?;
        }
    }
    Ok(())
}

/// Returns the series of a group that waits for extra time and has the largest possible change.
fn widest_in_doubt(open: &[Open], group: Range<usize>) -> Option<usize> {
    let possible = |index: usize| open[index].measurement.as_ref().map_or(0.0, Measurement::largest_possible);
    group.filter(|index| open[*index].is_in_doubt).max_by(|a, b| possible(*a).total_cmp(&possible(*b)))
}

/// Returns the pairs per layout with which enough layouts fit the budget, and the share of the run's time.
/// The files of programs that are exchanged change sides between two pairs, so a layout has two pairs if these fit, too.
fn pairs_per_layout(
    first: &Figures,
    config: &Config,
    alpha: f64,
    share: Option<Duration>,
    is_exchanged: bool,
) -> PairsPerLayout {
    let change = first.measured.threshold.max(first.measured.change.estimate.abs());
    let affordable = |time: Duration| time.as_secs_f64() / first.seconds_per_pair;
    let pairs = PairsPerLayout::new(first.spread, change, alpha, affordable(config.per_test_budget));
    let pairs = share.map_or(pairs, |share| pairs.with_first_look_of(affordable(share)));
    let fits = |pairs: PairsPerLayout| {
        pairs.sum(2 * decide::FIRST_LOOK) as f64 <= affordable(share.unwrap_or(config.per_test_budget))
    };
    Some(pairs.in_twos()).filter(|twos| is_exchanged && fits(*twos)).unwrap_or(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_of_a_group_has_its_first_look_before_any_has_its_second() {
        // The entries are test and look, as long as the budget lasts.
        let visited = |budget: usize| {
            let mut visited = Vec::new();
            let needed = [3, 1, 2];
            let mut looks = [0; 3];
            breadth_first(0..needed.len(), |test| {
                let look = looks[test];
                looks[test] += 1;
                let goes_on = look < needed[test] && visited.len() < budget;
                visited.extend(goes_on.then_some((test, look)));
                Ok(goes_on)
            })
            .unwrap();
            visited
        };
        assert_eq!(visited(usize::MAX), [(0, 0), (1, 0), (2, 0), (0, 1), (2, 1), (0, 2)]);
        assert_eq!(visited(2), [(0, 0), (1, 0)]);
    }

    #[test]
    fn flagged_series_of_a_target_are_measured_in_groups() {
        let series = |series: &[(bool, char, usize)]| {
            let all = series.iter().flat_map(|(is_flagged, target, count)| vec![(*is_flagged, *target); *count]);
            groups(all)
        };
        assert_eq!(
            series(&[(true, 'a', 20), (true, 'b', 2), (false, 'a', 30), (false, 'b', 1)]),
            [0..16, 16..20, 20..22, 22..53]
        );
        assert!(series(&[]).is_empty());
    }
}
