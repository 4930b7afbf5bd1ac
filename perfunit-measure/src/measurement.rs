//! The pairs of one test until the rule is content or the budget used up, at one go or look by look.

use super::bench::Config;
use super::clock::{Clock, Limit};
use super::failures::Failures;
use super::layouts::Layouts;
use super::lockstep::{PairEnd, Task};
use super::pairs::{Pairs, Unit};
use super::secondary_metrics::{self, Rules};
use super::settled::{PROCESS_THRESHOLD, Settled};
use super::subject::{Figures, Finding};
use super::trial::Trial;
use perfunit_decide as decide;
use perfunit_decide::{Looks, Rule, Step};
use perfunit_model::error::Result;
use perfunit_model::{
    Between, Change, EffectClass, EffectSize, Measured, Metric, Metrics, Mode, Note, REACH_OF_PLACES, Reason, Sides,
    Threshold, Verdict,
};
use perfunit_system::interrupt;
use std::time::{Duration, Instant};

/// A cold call is noisier than any repeated one: no threshold below this.
const COLD_THRESHOLD: f64 = 0.05;
/// What the place of the same code does to its time, in 99 of 100 cases: 2.6 standard deviations of the 3.3 % that were
/// seen between layouts of one body.
const LAYOUT_BIAS: f64 = 0.085;

/// A test that is being measured.
#[derive(Debug, Clone)]
pub struct Measurement {
    settled: Settled,
    unit: Unit,
    gates: Vec<Metric>,
    /// Whether anything but time is asked for.
    is_metered: bool,
    /// The threshold that the user set.
    asked: Threshold,
    /// What is accepted, as a log ratio: values are relative to it.
    accepted: f64,
    pairs: Pairs,
    failures: Failures,
    budget: Duration,
    /// Time of this test alone: linking is no test's.
    spent: Duration,
    end: Option<End>,
}

/// Why there will be no more pairs.
#[derive(Debug, Clone, PartialEq)]
enum End {
    /// The rule is content, or the test's own limits are reached.
    Done,
    /// The whole run's budget was used up.
    CutShort,
    Not(Reason),
}

impl From<Limit> for End {
    fn from(limit: Limit) -> Self {
        match limit {
            Limit::OfTest => Self::Done,
            Limit::OfRun => Self::CutShort,
        }
    }
}

impl Measurement {
    /// A change is claimed at this level: the stricter, the longer it may take.
    pub fn new(config: &Config, settled: Settled, unit: Unit, alpha_of_change: f64) -> Self {
        let asked = config.threshold.fraction();
        let threshold = match settled.task.mode() {
            Mode::Cold => asked.max(COLD_THRESHOLD),
            Mode::Process => asked.max(PROCESS_THRESHOLD),
            Mode::FirstCall | Mode::Steady => asked.max(settled.least_change(settled.ns.base)),
        };
        let looks = if unit == Unit::Pair { Looks::OF_PAIRS } else { Looks::of_layouts(alpha_of_change) };
        let rule = Rule { alpha: config.alpha, alpha_of_change, threshold, bias: settled.clock_bias, looks };
        let rule = if settled.matched {
            rule
        } else {
            Rule { threshold: threshold.max(REACH_OF_PLACES), bias: LAYOUT_BIAS + rule.bias, ..rule }
        };
        let accepted = config.accepted.as_ref().map_or(0.0, |accepted| accepted.log_ratio(settled.task.mode()));
        Self {
            settled,
            unit,
            gates: config.metering.as_ref().map_or_else(Vec::new, |metering| metering.gates.clone()),
            is_metered: config.metering.is_some(),
            asked: config.threshold,
            accepted,
            pairs: Pairs::new(rule),
            failures: Failures::default(),
            budget: config.per_test_budget.mul_f64(decide::effort(alpha_of_change) * looks.delay(alpha_of_change)),
            spent: Duration::ZERO,
            end: None,
        }
    }

    /// Measures to the end. Layouts are needed where they are the units.
    pub fn run(
        mut self,
        trial: &Trial<'_>,
        layouts: Option<&mut Layouts<'_>>,
        random: &mut fastrand::Rng,
    ) -> Result<Finding> {
        self.advance(trial, layouts, usize::MAX, random)?;
        Ok(self.finish())
    }

    /// Measures until there are so many units, or to the end if that comes before.
    pub fn advance(
        &mut self,
        trial: &Trial<'_>,
        mut layouts: Option<&mut Layouts<'_>>,
        units: usize,
        random: &mut fastrand::Rng,
    ) -> Result<()> {
        let _span = tracing::debug_span!("pairs").entered();
        let mut clock = Clock::start(self.spent, self.budget, trial.config.deadline);
        while self.end.is_none() && self.pairs.units() < units {
            self.end = self.step(trial, &mut layouts, &mut clock, random)?;
        }
        self.spent = clock.spent();
        Ok(())
    }

    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// The number of units at this look, the first being 0; none behind the last.
    pub fn units_at(&self, look: usize) -> Option<usize> {
        self.rule().looks.all().nth(look)
    }

    pub fn is_over(&self) -> bool {
        self.end.is_some() || self.pairs.units() >= self.rule().looks.last()
    }

    /// How many pairs did not fail.
    fn complete(&self) -> usize {
        self.unit.pairs(self.pairs.units()) + self.pairs.unit.len()
    }

    fn rule(&self) -> &Rule {
        self.pairs.sequential.rule()
    }

    /// Runs a pair; tells if it was the last one.
    fn step(
        &mut self,
        trial: &Trial<'_>,
        layouts: &mut Option<&mut Layouts<'_>>,
        clock: &mut Clock,
        random: &mut fastrand::Rng,
    ) -> Result<Option<End>> {
        if interrupt::requested() {
            return Ok(Some(End::Not(Reason::Interrupted)));
        }
        if self.pairs.units() >= self.rule().looks.last() {
            return Ok(Some(End::Done));
        }
        if clock.left().is_zero() {
            return Ok(Some(clock.limit().into()));
        }
        let mut trial = *trial;
        if let Some(layouts) = layouts {
            let started = Instant::now();
            let drawn = layouts.drawn(trial.programs.executables, self.pairs.units())?;
            clock.leave_out(started.elapsed());
            let Some(executables) = drawn else { return Ok(Some(End::Done)) };
            trial.programs.executables = executables;
            if self.pairs.unit.is_empty() && self.settled.task == Task::Process {
                // Who runs a new executable first finds less of it in the caches than who comes behind.
                self.settled.pair(&trial, random)?;
            }
        }
        let pair = self.settled.pair(&trial, random)?;
        Ok(self.add(&pair, trial.config, clock))
    }

    fn add(&mut self, pair: &PairEnd, config: &Config, clock: &Clock) -> Option<End> {
        if !pair.complete() {
            if interrupt::requested() {
                return Some(End::Not(Reason::Interrupted));
            }
            let complete = self.complete();
            return self.failures.add(pair, config.timeout, complete).map(End::Not);
        }
        let log_ratio = self.pairs.add(pair, self.settled.comparison, self.unit.pairs_of(self.pairs.units()))?;
        // The pilot may have met the machine at half its speed.
        self.pairs.sequential.raise_threshold(self.settled.least_change(self.pairs.fastest()));
        let units = self.pairs.units() + 1;
        let affordable = self.unit.units(clock.affordable(self.unit.pairs(units)));
        let step = self.pairs.sequential.push(log_ratio - self.accepted, affordable);
        let rule = *self.rule();
        let rules = Rules { time: rule, gates: &self.gates };
        let beside = &mut self.pairs.beside;
        let (is_look, has_all) = (rule.looks.contains(units), units >= rule.looks.last());
        let others_are_over = beside.is_told(&rules) || is_look && beside.is_hopeless(&rules, affordable);
        let end = if has_all { End::Done } else { clock.limit().into() };
        (matches!(step, Step::Ended(_)) && others_are_over).then_some(end)
    }

    /// The same pairs, judged from this difference on, if they can tell small ones. Over only if that is clear.
    pub fn judged_from(mut self, ns: f64) -> Option<Self> {
        self.settled.least_ns = ns;
        let least = self.settled.least_change(self.pairs.fastest());
        let sequential = self.pairs.sequential.judged_at(self.asked.fraction().max(least));
        let is_clear = sequential.conclude().is_some_and(|decision| decision.verdict.is_change());
        self.end = self.end.filter(|end| is_clear || matches!(end, End::Not(_)));
        self.pairs.sequential = sequential;
        self.settled.matched.then_some(self)
    }

    /// What the pairs so far say. What the run's budget cut short is inconclusive, unless a look before was clear.
    pub fn finish(&self) -> Finding {
        let capture = Some(self.settled.capture);
        let over = if self.end == Some(End::CutShort) { Reason::BudgetUsedUp } else { Reason::TooNoisy };
        if let Some(End::Not(reason)) = &self.end {
            return Finding { result: Err(reason.clone()), reason: None, capture };
        }
        let Some(decision) = self.pairs.sequential.conclude() else {
            return Finding { result: Err(over), reason: None, capture };
        };
        let figures = self.figures(&decision);
        let reason = (figures.verdict == Verdict::Inconclusive).then_some(over);
        Finding { result: Ok(figures), reason, capture }
    }

    fn figures(&self, decision: &decide::Decision) -> Figures {
        let (pairs, mode) = (&self.pairs, self.settled.task.mode());
        let used = decision.values.min(pairs.units());
        let (base, head) = (&pairs.times.base[..used], &pairs.times.head[..used]);
        let Sides { base: base_ns, head: head_ns } = self.times(base, head, &decision.change);
        let measured = Measured {
            change: decision.change,
            base_ns,
            head_ns,
            pairs: self.unit.pairs(used),
            layouts: if self.unit == Unit::Pair { 1 } else { used },
            detectable: decision.detectable,
            p_value: decision.p_value,
            // Without any spread d is infinite or undefined; the interval says it all.
            effect: decide::cohens_d(base, head).unwrap_or(EffectSize { d: 0.0, class: EffectClass::Trivial }),
            mode,
            threshold: self.rule().threshold,
            asked: self.asked,
            sample: pairs.sample(used),
            bound: None,
            throughput: pairs.throughput,
        };
        let all = self.unit.pairs(pairs.units()).max(1);
        Figures {
            verdict: decision.verdict,
            measured,
            spread: decide::spread(pairs.sequential.log_ratios()),
            seconds_per_pair: self.spent.as_secs_f64() / all as f64,
            notes: self.notes(mode),
            metrics: self.metrics(),
        }
    }

    /// One time of each side, as far apart as the pairs say: where the machine's speed jumps, the medians of the sides can be
    /// of different speeds.
    fn times(&self, base: &[f64], head: &[f64], change: &Change) -> Sides<f64> {
        let mut between: Vec<f64> = base.iter().zip(head).map(|(base, head)| (base * head).sqrt()).collect();
        let between = decide::median(&mut between);
        let half = ((1.0 + change.estimate) * self.accepted.exp()).sqrt();
        Sides { base: between / half, head: between * half }
    }

    fn notes(&self, mode: Mode) -> Vec<Note> {
        let mut notes = self.settled.notes.clone();
        if mode == Mode::Steady && self.settled.least_change(self.pairs.fastest()) > self.asked.fraction() {
            notes.push(Note::LeastDifference { ns: self.settled.least_ns });
        }
        // With a layout of its own each process differs from the others for that alone.
        let differs = self.pairs.work.differs();
        let differs = differs.filter(|between| self.unit == Unit::Pair || *between == Between::Calls);
        let equal_seeds = self.settled.equal_seeds;
        notes.extend(differs.map(|between| Note::UnequalWork { between, equal_seeds }));
        notes.extend(self.failures.note(self.complete()));
        notes
    }

    fn metrics(&self) -> Metrics {
        if !self.is_metered {
            return Metrics::new();
        }
        let mut metrics = self.pairs.beside.metrics(&Rules { time: *self.rule(), gates: &self.gates });
        if self.settled.task == Task::Process {
            secondary_metrics::withhold(&mut metrics);
        }
        metrics
    }
}

#[cfg(test)]
mod tests;
