//! One series of pairs of a test, measured in one go or look by look until the rule is satisfied or the budget is used
//! up.
//!
//! A series has a unit of replication (a pair, two pairs that exchange files of programs, or a layout with several pairs),
//! a budget, and tolerates a few failed pairs.

use super::at_once::{self, Pace};
use super::bench::{Bench, Config};
use super::classify::runs;
use super::column::with_ratio;
use super::layouts::Layouts;
use super::lockstep::{PairEnd, Task};
use super::secondary_metrics::{self, Beside, Rules};
use super::subject::{Figures, Finding};
use super::trial::{PROCESS_THRESHOLD, Settled, Trial};
use super::work::{Comparison, Value, Work};
use perfunit_decide as decide;
use perfunit_decide::{Looks, PairsPerLayout, Rule, Sequential, Step};
use perfunit_model::error::Result;
use perfunit_model::{
    Between, EffectClass, EffectSize, FailedOn, Failure, Measured, Metric, Metrics, Mode, Note, REACH_OF_PLACES,
    Reason, Sample, Side, Sides, Threshold, Throughput, Verdict,
};
use perfunit_runtime::page::state;
use perfunit_system::interrupt;
use std::time::{Duration, Instant};

/// The smallest threshold of cold calls, which are noisier than repeated ones.
const COLD_THRESHOLD: f64 = 0.05;
/// The effect of placement on the time of the same code in 99 of 100 cases: 2.6 standard deviations of 3.3 %, as measured
/// between layouts of one body.
const LAYOUT_BIAS: f64 = 0.085;

/// A series of pairs of one test.
#[derive(Debug, Clone)]
pub struct Measurement {
    settled: Settled,
    unit: Unit,
    gates: Vec<Metric>,
    /// True if metrics other than time are requested.
    is_metered: bool,
    /// The threshold that the user set.
    asked: Threshold,
    /// The accepted loss as a log ratio; values are relative to it.
    accepted: f64,
    pairs: Pairs,
    failures: Failures,
    budget: Duration,
    /// The part of the budget that was lent because the rest left the test in doubt.
    lent: Duration,
    /// Time spent on this test, without linking.
    spent: Duration,
    end: Option<End>,
}

/// The reason why a series is over.
#[derive(Debug, Clone, PartialEq)]
enum End {
    /// The rule is satisfied, or the test's own limits are reached.
    Done,
    /// The whole run was stopped, by its budget or by the user.
    CutShort(Reason),
    Not(Reason),
}

impl From<Limit> for End {
    fn from(limit: Limit) -> Self {
        match limit {
            Limit::OfTest => Self::Done,
            Limit::OfRun => Self::CutShort(Reason::BudgetUsedUp),
        }
    }
}

impl Measurement {
    /// Prepares a series that claims changes at this level; a stricter level gets more time.
    pub fn new(config: &Config, settled: Settled, unit: Unit, alpha_of_change: f64) -> Self {
        let asked = config.threshold.fraction();
        let threshold = match settled.task.mode() {
            Mode::Cold => asked.max(COLD_THRESHOLD),
            Mode::Process => asked.max(PROCESS_THRESHOLD),
            Mode::FirstCall | Mode::Steady => asked.max(settled.least_change(settled.ns.base)),
        };
        let looks = match unit {
            Unit::Layout { .. } => Looks::of_layouts(alpha_of_change),
            Unit::Pairs { values, .. } => Looks::of_calls(values),
        };
        let rule =
            Rule { alpha: config.alpha, alpha_of_change, threshold, distance: 0.0, bias: settled.clock_bias, looks };
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
            lent: Duration::ZERO,
            spent: Duration::ZERO,
            end: None,
        }
    }

    /// Measures to the end. A series with layouts as units needs `layouts`.
    pub fn run(
        mut self,
        trial: &Trial<'_>,
        layouts: Option<&mut Layouts<'_>>,
        random: &mut fastrand::Rng,
    ) -> Result<Finding> {
        self.advance(trial, layouts, usize::MAX, random)?;
        Ok(self.finish())
    }

    /// Measures until the series has this many values, or to its end.
    pub fn advance(
        &mut self,
        trial: &Trial<'_>,
        mut layouts: Option<&mut Layouts<'_>>,
        values: usize,
        random: &mut fastrand::Rng,
    ) -> Result<()> {
        let _span = tracing::debug_span!("pairs").entered();
        let mut clock = Clock::start(self.spent, self.budget, trial.config.deadline);
        while self.end.is_none() && self.pairs.values() < values {
            self.end = self.step(trial, &mut layouts, &mut clock, random)?;
        }
        self.spent = clock.spent();
        Ok(())
    }

    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// Returns the number of values at the next look; no limit after the last look.
    pub fn next_look(&self) -> usize {
        self.rule().looks.all().find(|look| *look > self.pairs.values()).unwrap_or(usize::MAX)
    }

    /// Returns the number of values at the next look that can show a change; no limit after the last look.
    pub fn next_look_at_change(&self) -> usize {
        let Rule { looks, alpha_of_change, .. } = self.rule();
        self.next_look().max(looks.fewest(*alpha_of_change))
    }

    /// Returns the largest change, as a fraction of base, that the pairs so far do not exclude.
    pub fn largest_possible(&self) -> f64 {
        self.pairs.sequential.conclude().map_or(f64::INFINITY, |decision| decision.change.largest_possible())
    }

    /// Returns whether this much more time may settle a series that its own budget ended, if something is in doubt: a change
    /// is probable, or one that is worth a statement is not excluded. Time is lent only once.
    pub fn is_worth(&self, more: Duration) -> bool {
        if self.end != Some(End::Done) || !self.lent.is_zero() {
            return false;
        }
        let Some(decision) = self.pairs.sequential.conclude() else { return false };
        let is_possible = decision.change.largest_possible() > Threshold::of_inconclusive().fraction();
        if decision.verdict != Verdict::Inconclusive || !(decision.change.leans() || is_possible) {
            return false;
        }
        let left = (self.budget + more).saturating_sub(self.spent);
        let pairs = decide::affordable(self.complete(), self.spent.as_secs_f64(), left.as_secs_f64());
        !decide::is_hopeless(self.rule(), self.pairs.sequential.log_ratios(), self.values_of(pairs))
    }

    /// Lends time to a series that its own budget ended.
    pub fn extend(self, more: Duration) -> Self {
        let distance = self.rule().distance;
        let extended = self.continued_to(distance);
        Self { budget: extended.budget + more, lent: more, ..extended }
    }

    /// Returns the lent time that was not used.
    pub fn unused(&self) -> Duration {
        self.budget.saturating_sub(self.spent).min(self.lent)
    }

    pub fn is_over(&self) -> bool {
        self.end.is_some() || self.pairs.values() >= self.rule().looks.last()
    }

    /// Returns the number of pairs that did not fail.
    fn complete(&self) -> usize {
        self.unit.pairs(self.pairs.units) + self.pairs.unit.len()
    }

    /// Returns the number of values that this many pairs give.
    fn values_of(&self, pairs: usize) -> usize {
        self.unit.units(pairs) * self.unit.values()
    }

    fn rule(&self) -> &Rule {
        self.pairs.sequential.rule()
    }

    /// Runs a pair, and returns the end of the series if this was the last pair.
    fn step(
        &mut self,
        trial: &Trial<'_>,
        layouts: &mut Option<&mut Layouts<'_>>,
        clock: &mut Clock,
        random: &mut fastrand::Rng,
    ) -> Result<Option<End>> {
        if interrupt::is_requested() {
            return Ok(Some(End::CutShort(interrupt::reason())));
        }
        if self.pairs.values() >= self.rule().looks.last() {
            return Ok(Some(End::Done));
        }
        if clock.left().is_zero() {
            return Ok(Some(clock.limit().into()));
        }
        let mut trial = *trial;
        if let Some(layouts) = layouts {
            let started = Instant::now();
            let drawn = layouts.drawn(trial.programs.executables, self.pairs.units)?;
            clock.leave_out(started.elapsed());
            let Some(executables) = drawn else { return Ok(Some(End::Done)) };
            trial.programs.executables = executables;
            trial.programs.is_drawn = true;
            if self.pairs.unit.is_empty() && self.settled.task == Task::Process {
                // The first process of a new executable has fewer cache hits than later ones.
                self.settled.pair(&trial, random)?;
            }
        }
        self.exchange_programs(&trial)?;
        let pair = self.settled.pair(&trial, random)?;
        let end = self.add(&pair, trial.config, clock);
        let is_open = self.settled.pace.get() == Pace::Open && !self.unit.is_layout();
        if is_open && at_once::is_busy(self.pairs.sequential.log_ratios()) {
            self.settled.pace.set(Pace::AtOnce);
            self.pairs = Pairs::new(*self.rule());
            clock.leave_out(clock.spent());
        }
        Ok(end)
    }

    /// Gives the sides the files of programs for the next pair: in the order A B, B A of four pairs, so that each set of files
    /// serves two pairs in a row.
    fn exchange_programs(&self, trial: &Trial<'_>) -> Result<()> {
        let Some(files) = trial.bench.program_files.as_ref().filter(|_| self.settled.may_start_programs()) else {
            return Ok(());
        };
        files.exchange(self.complete().div_ceil(2) % 2 == 1)
    }

    fn add(&mut self, pair: &PairEnd, config: &Config, clock: &Clock) -> Option<End> {
        if !pair.complete() {
            if interrupt::is_requested() {
                return Some(End::CutShort(interrupt::reason()));
            }
            let complete = self.complete();
            return self.failures.add(pair, config.timeout, complete).map(End::Not);
        }
        let before = self.pairs.values();
        let log_ratios = self.pairs.add(pair, self.settled.comparison(), self.unit);
        if log_ratios.is_empty() {
            return None;
        }
        // The pilot may have run while the machine had half its speed.
        self.pairs.sequential.raise_threshold(self.settled.least_change(self.pairs.fastest()));
        let affordable = self.values_of(clock.affordable(self.complete()));
        let mut step = Step::Continue;
        for log_ratio in log_ratios {
            step = self.pairs.sequential.push(log_ratio - self.accepted, affordable);
        }
        let values = self.pairs.values();
        let rule = *self.rule();
        let rules = Rules { time: rule, gates: &self.gates };
        let beside = &mut self.pairs.beside;
        let is_look = (before + 1..=values).any(|values| rule.looks.contains(values));
        let has_all = values >= rule.looks.last();
        let others_are_over = beside.is_told(&rules) || is_look && beside.is_hopeless(&rules, affordable);
        let end = if has_all { End::Done } else { clock.limit().into() };
        (matches!(step, Step::Ended(_)) && others_are_over).then_some(end)
    }

    /// Returns the same series, judged down to this difference, if small differences can be judged. The series continues
    /// unless its verdict is then a change.
    pub fn judged_from(mut self, ns: f64) -> Option<Self> {
        self.settled.least_ns = ns;
        let least = self.settled.least_change(self.pairs.fastest());
        let sequential = self.pairs.sequential.judged_at(self.asked.fraction().max(least));
        let is_clear = sequential.conclude().is_some_and(|decision| decision.verdict.is_change());
        self.end = self.end.filter(|end| is_clear || matches!(end, End::Not(_)));
        self.pairs.sequential = sequential;
        self.settled.matched.then_some(self)
    }

    /// Returns the same series, which goes on until the interval of its change keeps this distance from 0, a fraction of base.
    pub fn continued_to(mut self, distance: f64) -> Self {
        self.end = self.end.filter(|end| *end != End::Done);
        self.pairs.sequential = self.pairs.sequential.continued_to(distance);
        self
    }

    /// Returns what the pairs so far show. A series that ended with the run is inconclusive, unless an earlier look was clear.
    pub fn finish(&self) -> Finding {
        let capture = Some(self.settled.capture);
        let over = match &self.end {
            Some(End::Not(reason)) => return Finding { result: Err(reason.clone()), reason: None, capture },
            Some(End::CutShort(reason)) => reason.clone(),
            Some(End::Done) | None => Reason::TooNoisy,
        };
        let Some(decision) = self.pairs.sequential.conclude() else {
            return Finding { result: Err(over), reason: None, capture };
        };
        let figures = self.figures(&decision);
        let least = figures.measured.change.from_zero();
        let is_near = least > 0.0 && least < self.rule().threshold;
        let over = if over == Reason::TooNoisy && is_near { Reason::AtThreshold } else { over };
        let reason = (figures.verdict == Verdict::Inconclusive).then_some(over);
        Finding { result: Ok(figures), reason, capture }
    }

    fn figures(&self, decision: &decide::Decision) -> Figures {
        let (pairs, mode) = (&self.pairs, self.settled.task.mode());
        let used = decision.values.min(pairs.values());
        let (base, head) = (&pairs.times.base[..used], &pairs.times.head[..used]);
        let ratio = (1.0 + decision.change.estimate) * self.accepted.exp();
        let Sides { base: base_ns, head: head_ns } = with_ratio(base, head, ratio);
        let measured = Measured {
            change: decision.change,
            base_ns,
            head_ns,
            pairs: self.unit.pairs(used.div_ceil(self.unit.values())),
            layouts: if self.unit.is_layout() { used } else { 1 },
            detectable: decision.detectable,
            p_value: decision.p_value,
            // Without any spread d is infinite or undefined; the interval suffices.
            effect: decide::cohens_d(base, head).unwrap_or(EffectSize { d: 0.0, class: EffectClass::Trivial }),
            mode,
            threshold: self.rule().threshold,
            asked: self.asked,
            sample: pairs.sample(used),
            bound: None,
            throughput: pairs.throughput,
        };
        let all = self.unit.pairs(pairs.units).max(1);
        Figures {
            verdict: decision.verdict,
            measured,
            spread: decide::spread(pairs.sequential.log_ratios()) / (self.unit.values() as f64).sqrt(),
            seconds_per_pair: self.spent.as_secs_f64() / all as f64,
            has_level: used >= self.rule().looks.fewest(self.rule().alpha),
            first_calls_apart: pairs.beside.first_calls_apart(decision.change.estimate),
            notes: self.notes(mode),
            metrics: self.metrics(),
        }
    }

    fn notes(&self, mode: Mode) -> Vec<Note> {
        let mut notes = self.settled.notes.clone();
        notes.extend((self.settled.pace.get() == Pace::AtOnce).then_some(Note::AtOnce));
        if self.settled.least_change(self.pairs.fastest()) > self.asked.fraction() {
            notes.extend(match mode {
                Mode::Steady | Mode::FirstCall if self.settled.starts_processes => {
                    Some(Note::StartsProcesses { threshold: self.rule().threshold })
                }
                Mode::Steady => Some(Note::LeastDifference { ns: self.settled.least_ns }),
                _ => None,
            });
        }
        // Processes with different layouts differ for that reason alone.
        let differs = self.pairs.work.differs();
        let differs = differs.filter(|between| !self.unit.is_layout() || *between == Between::Calls);
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

/// The unit of replication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// One pair on one layout, or two, between which the sides exchange the files of the programs that the test starts.
    Pairs {
        pairs: usize,
        /// The number of values that the unit gives.
        values: usize,
    },
    /// A layout drawn at random, with the mean of this many pairs.
    Layout { pairs: PairsPerLayout },
}

impl Unit {
    /// One pair with one value.
    pub const PAIR: Self = Self::Pairs { pairs: 1, values: 1 };

    /// Returns the unit of a test that is measured on one layout: two pairs where sides exchange files, if the first look
    /// then fits this time.
    pub fn on_one_layout(bench: &Bench, time: Duration, settled: &Settled) -> Self {
        if !(settled.may_start_programs() && bench.exchanges_programs()) {
            return Self::PAIR;
        }
        Self::Pairs { pairs: if settled.first_look(2) <= time { 2 } else { 1 }, values: settled.values() }
    }

    pub fn is_layout(self) -> bool {
        matches!(self, Self::Layout { .. })
    }

    /// Returns the number of values that a unit gives.
    pub fn values(self) -> usize {
        match self {
            Unit::Pairs { values, .. } => values,
            Unit::Layout { .. } => 1,
        }
    }

    /// Returns the number of pairs of the unit with this index, from 0.
    pub fn pairs_of(self, unit: usize) -> usize {
        match self {
            Unit::Pairs { pairs, .. } => pairs,
            Unit::Layout { pairs } => pairs.of(unit),
        }
    }

    /// Returns the number of pairs of this many units.
    pub fn pairs(self, units: usize) -> usize {
        match self {
            Unit::Pairs { pairs, .. } => pairs * units,
            Unit::Layout { pairs } => pairs.sum(units),
        }
    }

    /// Returns the number of units that this many pairs begin.
    pub fn units(self, pairs: usize) -> usize {
        match self {
            Unit::Pairs { pairs: of_unit, .. } => pairs.div_ceil(of_unit),
            Unit::Layout { pairs: of_layout } => of_layout.layouts(pairs),
        }
    }
}

/// The pairs of one test.
#[derive(Debug, Clone)]
pub struct Pairs {
    pub sequential: Sequential,
    /// The number of complete units of replication.
    pub units: usize,
    /// The time of one run, ns, an entry for each value.
    pub times: Sides<Vec<f64>>,
    /// Time of one run in each batch, ns.
    batches: Sides<Vec<f64>>,
    /// The values of each pair of the current unit.
    pub unit: Vec<Vec<Value>>,
    pub work: Work,
    pub beside: Beside,
    /// The amount that a run processes, if the benchmark declares it.
    pub throughput: Option<Throughput>,
}

impl Pairs {
    pub fn new(rule: Rule) -> Self {
        let (times, batches, unit) = Default::default();
        let (work, beside) = (Work::default(), Beside::default());
        Self { sequential: Sequential::new(rule), units: 0, times, batches, unit, work, beside, throughput: None }
    }

    pub fn values(&self) -> usize {
        self.sequential.log_ratios().len()
    }

    /// Returns the time of a run on base while the machine was fastest, ns.
    pub fn fastest(&self) -> f64 {
        self.times.base.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// Returns the plot data of this many values; the batches are those of all pairs.
    pub fn sample(&self, values: usize) -> Sample {
        let steps = Sample::QUANTILES - 1;
        let quantiles = |times: &Vec<f64>| {
            let times = &mut times.clone();
            let at = (0..=steps).map(|step| decide::quantile(times, step as f64 / steps as f64));
            if self.values() == 0 { Vec::new() } else { at.collect() }
        };
        Sample {
            estimates: self.sequential.log_ratios()[..values].iter().map(|log_ratio| log_ratio.exp_m1()).collect(),
            batches: self.batches.as_ref().map(quantiles),
        }
    }

    /// Adds a pair, and returns the log ratios of the unit if this pair completes one, else none.
    pub fn add(&mut self, pair: &PairEnd, comparison: Comparison, unit: Unit) -> Vec<f64> {
        for side in Side::BOTH {
            self.batches.get_mut(side).extend(runs(pair.sides.get(side), pair.shape));
        }
        self.work.add(pair);
        self.throughput = Throughput::of(pair.sides.as_ref().map(|side| side.work));
        self.beside.add(pair, comparison, unit.values());
        self.unit.push(comparison.split(pair, unit.values()));
        if self.unit.len() < unit.pairs_of(self.units) {
            return Vec::new();
        }
        self.units += 1;
        self.beside.end_unit();
        let pairs = std::mem::take(&mut self.unit);
        (0..unit.values()).map(|at| self.add_counterparts(&pairs, at)).collect()
    }

    /// Adds the mean of the values at this index of the pairs of a unit, and returns its log ratio.
    fn add_counterparts(&mut self, pairs: &[Vec<Value>], at: usize) -> f64 {
        let mean = |of: fn(&Value) -> f64| {
            let values: Vec<f64> = pairs.iter().filter_map(|pair| pair.get(at)).map(of).collect();
            decide::trimmed_mean(&values, decide::TRIMMING)
        };
        self.times.base.push(mean(|value| value.log_ns.base).exp());
        self.times.head.push(mean(|value| value.log_ns.head).exp());
        mean(|value| value.log_ratio)
    }
}

/// The number of pairs that may fail before a test counts as not measurable in its mode, and the share of many pairs.
const BORNE: usize = 2;
const BORNE_PART: f64 = 0.02;

/// The failed pairs of a test.
#[derive(Debug, Clone, Default)]
pub struct Failures {
    /// The reason of each failure, if its processes gave one.
    reasons: Vec<Option<Reason>>,
}

impl Failures {
    /// Adds a failed pair, given the number of complete ones, and returns the reason why the test cannot be measured once too
    /// many have failed.
    pub fn add(&mut self, pair: &PairEnd, timeout: Duration, complete: usize) -> Option<Reason> {
        self.reasons.push(reason(pair, timeout));
        let failed = self.reasons.len();
        // Each pair that does not end uses up the whole time limit.
        let is_dear = self.reasons.iter().flatten().any(|reason| matches!(reason, Reason::TimedOut { .. }));
        let is_rare = !is_dear && failed as f64 <= BORNE_PART * (failed + complete) as f64;
        (failed > BORNE && !is_rare).then(|| self.first_known())
    }

    /// Returns the note that pairs failed, given the number of complete ones; `None` if no pair failed.
    pub fn note(&self, complete: usize) -> Option<Note> {
        let failed = self.reasons.len();
        (failed > 0).then(|| Note::FailedPairs { failed, pairs: failed + complete, why: self.first_known() })
    }

    fn first_known(&self) -> Reason {
        let unknown = Reason::Fails { side: FailedOn::Both, how: Failure::Unfinished, intermittent: true };
        self.reasons.iter().flatten().next().cloned().unwrap_or(unknown)
    }
}

fn reason(pair: &PairEnd, timeout: Duration) -> Option<Reason> {
    if let Some(side) = pair.timed_out {
        return Some(Reason::timed_out(side.into(), timeout));
    }
    Side::BOTH.into_iter().find_map(|side| {
        let end = pair.sides.get(side);
        let ended_badly = end.status.is_some() && end.state != state::DONE;
        ended_badly.then(|| Reason::Fails { side: side.into(), how: end.failure(), intermittent: true })
    })
}

/// The time of a test between two of its looks.
#[derive(Debug)]
pub struct Clock {
    started: Instant,
    spent_before: Duration,
    budget: Duration,
    /// The time at which the whole run has to end.
    deadline: Option<Instant>,
    /// Time spent on linking since the start.
    linking: Duration,
}

/// The limit that ends a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The test's own budget.
    OfTest,
    /// The budget of the whole run.
    OfRun,
}

impl Clock {
    pub fn start(spent_before: Duration, budget: Duration, deadline: Option<Instant>) -> Self {
        Self { started: Instant::now(), spent_before, budget, deadline, linking: Duration::ZERO }
    }

    pub fn spent(&self) -> Duration {
        self.spent_before + self.started.elapsed().saturating_sub(self.linking)
    }

    /// Returns the time left for the test and for the whole run.
    fn left_of(&self) -> (Duration, Duration) {
        let of_run = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        (self.budget.saturating_sub(self.spent()), of_run.unwrap_or(Duration::MAX))
    }

    pub fn left(&self) -> Duration {
        let (of_test, of_run) = self.left_of();
        of_test.min(of_run)
    }

    /// Returns the closer limit.
    pub fn limit(&self) -> Limit {
        let (of_test, of_run) = self.left_of();
        if of_run < of_test { Limit::OfRun } else { Limit::OfTest }
    }

    /// Excludes time spent on linking.
    pub fn leave_out(&mut self, linking: Duration) {
        self.linking += linking;
    }

    /// Returns the total number of pairs that fit the time, given the time that `pairs` took: at least one more while time is
    /// left.
    pub fn affordable(&self, pairs: usize) -> usize {
        decide::affordable(pairs, self.spent().as_secs_f64(), self.left().as_secs_f64())
    }
}

#[cfg(test)]
mod tests;
