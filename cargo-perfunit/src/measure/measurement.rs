//! The pairs of one test until the rule is content or the budget used up, at one go or look by look.

use super::bench::Config;
use super::clock::{Clock, Limit};
use super::failures::Failures;
use super::layouts::Layouts;
use super::lockstep::{PairEnd, Task};
use super::pairs::{Pairs, Unit};
use super::secondary_metrics::{self, Rules};
use super::settled::{PROCESS_THRESHOLD, Settled};
use super::subject::{Ended, Figures};
use super::trial::Trial;
use crate::decide::{self, Looks, Rule, Step};
use crate::error::Result;
use crate::model::{
    Between, Change, EffectClass, EffectSize, Measured, Metric, Metrics, Mode, Note, REACH_OF_PLACES, Reason, Sides,
    Threshold, Verdict,
};
use crate::system::interrupt;
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
            budget: config.per_test_budget.mul_f64(decide::effort(alpha_of_change)),
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
    ) -> Result<Ended> {
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
            return self.failures.add(pair, config.timeout).map(End::Not);
        }
        let log_ratio = self.pairs.add(pair, self.settled.comparison, self.unit.pairs())?;
        // The pilot may have met the machine at half its speed.
        self.pairs.sequential.raise_threshold(self.settled.least_change(self.pairs.fastest()));
        let units = self.pairs.units() + 1;
        let affordable = clock.affordable(units);
        let step = self.pairs.sequential.push(log_ratio - self.accepted, affordable);
        let rule = *self.rule();
        let rules = Rules { time: rule, gates: &self.gates };
        let beside = &mut self.pairs.beside;
        let (is_look, has_all) = (rule.looks.contains(units), units >= rule.looks.last());
        let others_are_over = beside.is_told(&rules) || is_look && beside.is_hopeless(&rules, affordable);
        let end = if has_all { End::Done } else { clock.limit().into() };
        (matches!(step, Step::Ended(_)) && others_are_over).then_some(end)
    }

    /// What the pairs so far say. What the run's budget cut short is inconclusive, unless a look before was clear.
    pub fn finish(self) -> Ended {
        let capture = Some(self.settled.capture);
        let over = if self.end == Some(End::CutShort) { Reason::BudgetUsedUp } else { Reason::TooNoisy };
        if let Some(End::Not(reason)) = self.end {
            return Ended { result: Err(reason), reason: None, capture };
        }
        let Some(decision) = self.pairs.sequential.conclude() else {
            return Ended { result: Err(over), reason: None, capture };
        };
        let figures = self.figures(&decision);
        let reason = (figures.verdict == Verdict::Inconclusive).then_some(over);
        Ended { result: Ok(figures), reason, capture }
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
            pairs: used * self.unit.pairs(),
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
        };
        let all = (pairs.units() * self.unit.pairs()).max(1);
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
        notes.extend(self.failures.note(self.pairs.units() * self.unit.pairs() + self.pairs.unit.len()));
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
mod tests {
    use super::super::bound::tests::{config, settled};
    use super::super::lockstep::{Shape, SideEnd};
    use super::*;
    use crate::model::{Side, Sides};
    use perfunit_runtime::page::state;

    const HOUR: Duration = Duration::from_hours(1);

    /// A pair of which head takes so many times as long.
    fn pair(ratio: f64) -> PairEnd {
        let side = |ns: f64| SideEnd { state: state::DONE, times: vec![ns; 8], ..SideEnd::default() };
        let shape = Shape { repetitions: 1, batches: 8, warm: 0 };
        let sides = Sides { base: side(1e4), head: side(1e4 * ratio) };
        PairEnd { sides, shape, starter: Side::Base, timed_out: None, took: Duration::from_millis(1) }
    }

    /// Adds so many pairs: two with head slower, two with it as much faster, and so on.
    fn measured(unit: Unit, pairs: usize, noise: f64, clock: &Clock) -> Measurement {
        let config = Config { metering: None, ..config() };
        let settled = Settled { task: Task::Steady(pair(1.0).shape), ..settled(1e4, 1e4) };
        let mut measurement = Measurement::new(&config, settled, unit, 0.001);
        for number in 0..pairs {
            let ratio = if number % 4 < 2 { 1.0 + noise } else { 1.0 / (1.0 + noise) };
            if measurement.end.is_none() {
                measurement.end = measurement.add(&pair(ratio), &config, clock);
            }
        }
        measurement
    }

    #[track_caller]
    fn check(measurement: Measurement, verdict: Verdict, reason: Option<&Reason>) -> Measured {
        let end = measurement.finish();
        assert_eq!(end.reason.as_ref(), reason);
        let figures = end.result.unwrap();
        assert_eq!(figures.verdict, verdict);
        figures.measured
    }

    #[test]
    fn what_ends_before_it_is_clear_is_inconclusive_by_the_limit_that_ended_it() {
        let clock = |budget, of_run: Duration| Clock::start(Duration::ZERO, budget, Some(Instant::now() + of_run));
        for unit in [Unit::Pair, Unit::Layout { pairs: 1 }] {
            // Values that would be the same, but fewer than the first look asks for.
            let by_run = measured(unit, 6, 0.001, &clock(HOUR, Duration::ZERO));
            assert_eq!(by_run.end, Some(End::CutShort));
            // A pair is always added; the fewest for figures are 4.
            assert!(matches!(by_run.finish().result, Err(Reason::BudgetUsedUp)));
            let mut by_run = measured(unit, 6, 0.001, &clock(HOUR, HOUR));
            by_run.end = Some(clock(HOUR, Duration::ZERO).limit().into());
            check(by_run, Verdict::Inconclusive, Some(&Reason::BudgetUsedUp));
            let mut by_test = measured(unit, 6, 0.001, &clock(HOUR, HOUR));
            by_test.end = Some(clock(Duration::ZERO, HOUR).limit().into());
            check(by_test, Verdict::Inconclusive, Some(&Reason::TooNoisy));
            // What a look was clear about stays so.
            let mut clear = measured(unit, 8, 0.001, &clock(HOUR, HOUR));
            clear.end = Some(clock(HOUR, Duration::ZERO).limit().into());
            check(clear, Verdict::Same, None);
        }
    }

    #[test]
    fn the_times_are_as_far_apart_as_the_change_says_on_a_machine_of_two_speeds() {
        let config = Config { metering: None, ..config() };
        let settled = Settled { task: Task::Steady(pair(1.0).shape), ..settled(1e4, 1e4) };
        let mut measurement = Measurement::new(&config, settled, Unit::Pair, 0.001);
        let clock = Clock::start(Duration::ZERO, HOUR, None);
        for number in 0..8 {
            // Half of the pairs are slow; in one only base is.
            let mut pair = pair(1.03);
            for (side, slow_from) in [(Side::Base, 3), (Side::Head, 4)] {
                let speed = if number < slow_from { 1.0 } else { 1.6 };
                pair.sides.get_mut(side).times.iter_mut().for_each(|time| *time *= speed);
            }
            measurement.add(&pair, &config, &clock);
        }
        let Measured { change, base_ns, head_ns, .. } = measurement.finish().result.unwrap().measured;
        assert!((change.estimate - 0.03).abs() < 1e-3, "{}", change.estimate);
        assert!((head_ns / base_ns - 1.0 - change.estimate).abs() < 1e-9, "{base_ns} {head_ns}");
    }

    #[test]
    fn the_limit_of_a_short_test_is_that_of_the_machine_at_its_fastest() {
        let config = Config { metering: None, ..config() };
        // The pilot met it at three fifths of its speed.
        let settled = Settled { task: Task::Steady(pair(1.0).shape), least_ns: 1.0, ..settled(32.0 / 0.6, 32.0 / 0.6) };
        let mut measurement = Measurement::new(&config, settled, Unit::Pair, 0.001);
        let clock = Clock::start(Duration::ZERO, HOUR, None);
        for _ in 0..16 {
            let mut pair = pair(0.973);
            for side in Side::BOTH {
                pair.sides.get_mut(side).times.iter_mut().for_each(|time| *time *= 32.0 / 1e4);
            }
            measurement.add(&pair, &config, &clock);
        }
        let figures = measurement.finish().result.unwrap();
        assert_eq!(figures.verdict, Verdict::ChangedBelowThreshold);
        assert!((figures.measured.threshold - 1.0 / 32.0).abs() < 1e-6, "{}", figures.measured.threshold);
        assert_eq!(figures.notes, [Note::LeastDifference { ns: 1.0 }]);
    }

    #[test]
    fn a_test_that_is_not_clear_goes_on_to_the_next_look() {
        let clock = Clock::start(Duration::ZERO, HOUR, None);
        let clear = measured(Unit::Layout { pairs: 2 }, 16, 0.001, &clock);
        assert!(clear.is_over());
        let measured_so = check(clear, Verdict::Same, None);
        assert_eq!((measured_so.layouts, measured_so.pairs), (8, 16));
        let open = measured(Unit::Layout { pairs: 1 }, 8, 0.03, &clock);
        assert!(!open.is_over());
        assert_eq!([0, 1, 2, 3, 4].map(|look| open.units_at(look)), [Some(8), Some(16), Some(32), Some(64), None]);
        assert!(measured(Unit::Layout { pairs: 1 }, 64, 0.03, &clock).is_over());
    }
}
