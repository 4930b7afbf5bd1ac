//! One test: pilot, then pairs until the rule is content or the budget used up.

use super::bench::{Bench, Config};
use super::classify::{Class, classify, first_failure, per_run, runs};
use super::failures::Failures;
use super::first_calls;
use super::layouts::Layouts;
use super::lockstep::{self, PairEnd, Task};
use super::running::{Pads, Programs};
use super::schedule::Figures;
use super::secondary_metrics::{Beside, Rules};
use super::whole_process::{self, Asked};
use super::work::{Comparison, Work, clock_bias};
use crate::decide::{self, Looks, Rule, Sequential, Step};
use crate::error::Result;
use crate::model::{
    Between, Capture, EffectClass, EffectSize, FirstCallsBecause, Measured, Metrics, Mode, Note, Reason, Sample, Side,
    Sides, Threshold,
};
use crate::system::interrupt;
use std::time::{Duration, Instant};

/// Fewer ns than this are a few cycles: code that only moved by some bytes was seen to cost or save one. No threshold below.
const LEAST_NS: f64 = 1.0;
/// A cold call is noisier than any repeated one: no threshold below this.
const COLD_THRESHOLD: f64 = 0.05;
/// As is a whole process, of which much is not the test: no threshold below this.
pub const PROCESS_THRESHOLD: f64 = 0.05;
/// Layouts that nobody matched were seen to fake up to 13 % of one kind of edit after another: no threshold below this.
const UNMATCHED_THRESHOLD: f64 = 0.15;
/// What the place of the same code does to its time, in 99 of 100 cases: 2.6 standard deviations of the 3.3 % that were
/// seen between layouts of one body.
const LAYOUT_BIAS: f64 = 0.085;

/// A test with its way of being measured settled.
#[derive(Debug, Clone)]
pub struct Settled {
    pub task: Task,
    /// How it was captured.
    pub capture: Capture,
    /// Pairs that make a layout's mean.
    pub pairs_per_layout: usize,
    /// Whether what is the same in both versions lies at the same places.
    pub matched: bool,
    pub notes: Vec<Note>,
    /// Whether both processes of a pair get the same random numbers.
    pub equal_seeds: bool,
    /// How a pair's estimate is made.
    pub comparison: Comparison,
    /// What reading the clock can do to a pair's log ratio.
    pub clock_bias: f64,
    /// The smallest change that counts of so short a test, as a fraction of base.
    pub least_change: f64,
    /// Time of a run on each side by the pilot, ns; of a first call where nothing more is known.
    pub ns: Sides<f64>,
}

impl Settled {
    /// Draws what the next pair has in common.
    pub fn draw(&self, random: &mut fastrand::Rng) -> Pads {
        let pads = Pads::draw(random);
        if self.equal_seeds { pads } else { pads.without_seed() }
    }

    /// Runs the next pair.
    fn pair(
        &self,
        bench: &Bench,
        programs: &Programs<'_>,
        limit: Duration,
        random: &mut fastrand::Rng,
    ) -> Result<PairEnd> {
        let pads = self.draw(random);
        match self.task {
            Task::Process => whole_process::run(bench, programs, Asked::Test, pads, limit),
            task => lockstep::run(bench, programs, task, pads, limit),
        }
    }
}

/// The pairs of one test, one entry for each unit of replication.
#[derive(Debug)]
struct Pairs {
    sequential: Sequential,
    times: Sides<Vec<f64>>,
    /// Time of one run in each batch, ns.
    batches: Sides<Vec<f64>>,
    /// The pairs of the unit at hand: log ratio, and logarithms of both times.
    unit: Vec<(f64, Sides<f64>)>,
    work: Work,
    beside: Beside,
}

/// Runs the pilot and settles how to measure, or says why not.
pub fn settle(
    bench: &Bench,
    config: &Config,
    programs: &Programs<'_>,
    random: &mut fastrand::Rng,
) -> Result<std::result::Result<Settled, Reason>> {
    let Pilot { end, class, equal_seeds } = pilot(bench, config, programs, random)?;
    let apart = if equal_seeds { Vec::new() } else { vec![Note::OwnRandomNumbers] };
    if interrupt::requested() {
        return Ok(Err(Reason::Interrupted));
    }
    let whole = end.sides.base.whole_function || end.sides.head.whole_function;
    let capture = if whole { Capture::Runner } else { Capture::Macro };
    let equal_seeds = equal_seeds && bench.seeds.are_given();
    let (comparison, clock_bias) = (Comparison::for_pilot(&end), clock_bias(&end));
    let least_change = LEAST_NS / per_run(&end.sides.base, end.shape).max(LEAST_NS);
    match class {
        Class::Steady(shape) => {
            let (pairs_per_layout, matched, notes, task) = (1, true, apart, Task::Steady(shape));
            Ok(Ok(Settled {
                task,
                capture,
                pairs_per_layout,
                matched,
                notes,
                equal_seeds,
                comparison,
                clock_bias,
                least_change,
                ns: end.sides.as_ref().map(|side| per_run(side, end.shape)),
            }))
        }
        Class::NotRepeatable(why) => first_calls::settle(bench, config, programs, capture, why, random).map(Ok),
        Class::Not(reason @ Reason::FoldedAway { .. }) => {
            let held = first_calls::if_they_hold_work(bench, config, programs, capture, random)?;
            Ok(held.ok_or(reason))
        }
        Class::Not(reason) => Ok(Err(reason)),
        Class::Suspect => {
            if let Some(reason) = suspects(bench, config, programs, random)? {
                return Ok(Err(reason));
            }
            let why = FirstCallsBecause::NotSideBySide;
            first_calls::settle(bench, config, programs, capture, why, random).map(Ok)
        }
    }
}

/// A pilot pair with what it tells.
struct Pilot {
    end: PairEnd,
    class: Class,
    equal_seeds: bool,
}

/// Runs the pilot, with equal random numbers unless the two processes stand in each other's way with them: both then
/// choose the same names for files or ports that they share.
fn pilot(bench: &Bench, config: &Config, programs: &Programs<'_>, random: &mut fastrand::Rng) -> Result<Pilot> {
    let mut run = |equal_seeds: bool| -> Result<Pilot> {
        let pads = Pads::draw(random);
        let pads = if equal_seeds { pads } else { pads.without_seed() };
        let end = lockstep::run(bench, programs, Task::Pilot, pads, config.timeout)?;
        let class = classify(&end, config.timeout, config.per_test_budget);
        Ok(Pilot { end, class, equal_seeds })
    };
    let steady = |pilot: &Pilot| matches!(pilot.class, Class::Steady(_));
    let first = run(true)?;
    let failed = matches!(first.class, Class::NotRepeatable(_) | Class::Suspect) && first.end.timed_out.is_none();
    if !failed || !bench.seeds.are_given() || interrupt::requested() {
        return Ok(first);
    }
    let apart = run(false)?;
    if !steady(&apart) {
        return Ok(first);
    }
    // A test that fails with some random numbers only had bad luck.
    let again = run(true)?;
    Ok(if steady(&again) { again } else { apart })
}

/// The first call failed on some side while the other's process was alive: does it by itself?
fn suspects(
    bench: &Bench,
    config: &Config,
    programs: &Programs<'_>,
    random: &mut fastrand::Rng,
) -> Result<Option<Reason>> {
    let mut failures = Sides { base: None, head: None };
    for side in Side::BOTH {
        let end = lockstep::run(bench, programs, Task::Solo(side), Pads::draw(random), config.timeout)?;
        if interrupt::requested() {
            return Ok(Some(Reason::Interrupted));
        }
        *failures.get_mut(side) = if end.timed_out.is_some() {
            Some(Reason::TimedOut { side: side.into(), seconds: config.timeout.as_secs_f64() })
        } else {
            first_failure(end.sides.get(side), side)
        };
    }
    Ok(match (failures.base, failures.head) {
        (Some(reason), Some(_)) => Some(reason.on_both()),
        (base, head) => base.or(head),
    })
}

/// What is compared by this task.
pub fn mode(task: Task) -> Mode {
    match task {
        Task::Cold => Mode::Cold,
        Task::Fork(..) => Mode::FirstCall,
        Task::Process => Mode::Process,
        _ => Mode::Steady,
    }
}

/// Measures until the rule decides, the budget ends or pairs fail. With layouts the unit of replication is a layout
/// drawn at random, with the mean of a few pairs; without it is the pair. The stricter the level of a change, the longer.
pub fn measure(
    bench: &Bench,
    config: &Config,
    programs: &Programs<'_>,
    settled: &Settled,
    alpha_of_change: f64,
    mut layouts: Option<&mut Layouts>,
    random: &mut fastrand::Rng,
) -> Result<std::result::Result<Figures, Reason>> {
    let mode = mode(settled.task);
    let threshold = match mode {
        Mode::Cold => config.threshold.fraction().max(COLD_THRESHOLD),
        Mode::Process => config.threshold.fraction().max(PROCESS_THRESHOLD),
        Mode::FirstCall | Mode::Steady => config.threshold.fraction().max(settled.least_change),
    };
    let looks = if layouts.is_some() { Looks::of_layouts(alpha_of_change) } else { Looks::OF_PAIRS };
    let rule = Rule { alpha: config.alpha, alpha_of_change, threshold, bias: settled.clock_bias, looks };
    let rule = if settled.matched {
        rule
    } else {
        Rule { threshold: threshold.max(UNMATCHED_THRESHOLD), bias: LAYOUT_BIAS + rule.bias, ..rule }
    };
    let budget = config.per_test_budget.mul_f64(decide::effort(alpha_of_change));
    let per_unit = if layouts.is_some() { settled.pairs_per_layout } else { 1 };
    let started = Instant::now();
    let linked = layouts.as_ref().map_or(Duration::ZERO, |layouts| layouts.took);
    // Linking takes its time, but not this test's.
    let linking = |layouts: &Option<&mut Layouts>| {
        layouts.as_ref().map_or(Duration::ZERO, |layouts| layouts.took.saturating_sub(linked))
    };
    let end = |linking: Duration| {
        let end = started + budget + linking;
        config.deadline.map_or(end, |deadline| deadline.min(end))
    };
    let gates = config.metering.as_ref().map_or(&[][..], |metering| &metering.gates);
    let rules = Rules { time: rule, gates };
    let (mut pairs, mut failures) = (Pairs::new(rule), Failures::default());
    let decision = loop {
        if interrupt::requested() {
            return Ok(Err(Reason::Interrupted));
        }
        if Instant::now() >= end(linking(&layouts)) || pairs.units() >= looks.last() {
            break pairs.sequential.conclude();
        }
        let is_fresh = layouts.is_some() && pairs.unit.is_empty();
        let executables = match &mut layouts {
            Some(layouts) => layouts.drawn(programs.executables, pairs.units())?,
            None => Some(programs.executables),
        };
        let Some(executables) = executables else { break pairs.sequential.conclude() };
        let programs = Programs { executables, ..*programs };
        if is_fresh && settled.task == Task::Process {
            // Who runs a new executable first finds less of it in the caches than who comes behind.
            settled.pair(bench, &programs, config.timeout, random)?;
        }
        let pair = settled.pair(bench, &programs, config.timeout, random)?;
        if !pair.complete() {
            if interrupt::requested() {
                return Ok(Err(Reason::Interrupted));
            }
            if let Some(reason) = failures.add(&pair, config.timeout) {
                return Ok(Err(reason));
            }
            continue;
        }
        let Some(log_ratio) = pairs.add(&pair, settled.comparison, per_unit) else { continue };
        let linking = linking(&layouts);
        let (took, left) =
            (started.elapsed().saturating_sub(linking), end(linking).saturating_duration_since(Instant::now()));
        let affordable = decide::affordable(pairs.units() + 1, took.as_secs_f64(), left.as_secs_f64());
        let step = pairs.sequential.push(log_ratio, affordable);
        let others_are_told = pairs.beside.is_told(&rules);
        let others_are_over =
            others_are_told || looks.contains(pairs.units()) && pairs.beside.is_hopeless(&rules, affordable);
        if matches!(step, Step::Ended(_)) && others_are_over {
            break pairs.sequential.conclude();
        }
    };
    let Some(decision) = decision else { return Ok(Err(out_of_time(config))) };
    let mut figures = figures(&pairs, &decision, mode, settled, config.threshold);
    figures.seconds_per_pair = started.elapsed().as_secs_f64() / (pairs.units() * per_unit).max(1) as f64;
    if mode == Mode::Steady && settled.least_change > config.threshold.fraction() {
        figures.notes.push(Note::LeastDifference { ns: LEAST_NS });
    }
    if config.metering.is_some() {
        figures.metrics = pairs.beside.metrics(&rules);
        if settled.task == Task::Process {
            whole_process::withhold(&mut figures.metrics);
        }
    }
    if layouts.is_some() {
        figures.measured.layouts = figures.measured.pairs;
        figures.measured.pairs *= per_unit;
    }
    // With a layout of its own each process differs from the others for that alone.
    let differs = pairs.work.differs().filter(|between| layouts.is_none() || *between == Between::Calls);
    figures.notes.extend(differs.map(|between| Note::UnequalWork { between, equal_seeds: settled.equal_seeds }));
    figures.notes.extend(failures.note(pairs.units() * per_unit + pairs.unit.len()));
    Ok(Ok(figures))
}

impl Pairs {
    fn new(rule: Rule) -> Self {
        let (times, batches, unit) = Default::default();
        let (work, beside) = (Work::default(), Beside::default());
        Self { sequential: Sequential::new(rule), times, batches, unit, work, beside }
    }

    fn units(&self) -> usize {
        self.sequential.log_ratios().len()
    }

    /// What can be plotted of so many units; the batches are those of all.
    fn sample(&self, units: usize) -> Sample {
        let steps = Sample::QUANTILES - 1;
        let quantiles = |times: &Vec<f64>| {
            let times = &mut times.clone();
            let at = (0..=steps).map(|step| decide::quantile(times, step as f64 / steps as f64));
            if self.units() == 0 { Vec::new() } else { at.collect() }
        };
        Sample {
            estimates: self.sequential.log_ratios()[..units].iter().map(|log_ratio| log_ratio.exp_m1()).collect(),
            batches: self.batches.as_ref().map(quantiles),
        }
    }

    /// Adds a pair; the log ratio of the unit of so many that it completes.
    fn add(&mut self, pair: &PairEnd, comparison: Comparison, per_unit: usize) -> Option<f64> {
        let ns = pair.sides.as_ref().map(|side| per_run(side, pair.shape).max(0.01));
        for side in Side::BOTH {
            self.batches.get_mut(side).extend(runs(pair.sides.get(side), pair.shape));
        }
        self.work.add(pair);
        self.beside.add(pair, comparison);
        self.unit.push((comparison.log_ratio(pair), ns.map(f64::ln)));
        if self.unit.len() < per_unit {
            return None;
        }
        let mean = |of: fn(&(f64, Sides<f64>)) -> f64| {
            decide::trimmed_mean(&self.unit.iter().map(of).collect::<Vec<_>>(), decide::TRIMMING)
        };
        let log_ratio = mean(|(log_ratio, _)| *log_ratio);
        self.times.base.push(mean(|(_, ns)| ns.base).exp());
        self.times.head.push(mean(|(_, ns)| ns.head).exp());
        self.unit.clear();
        self.beside.end_unit();
        Some(log_ratio)
    }
}

fn out_of_time(config: &Config) -> Reason {
    let over = config.deadline.is_some_and(|deadline| Instant::now() >= deadline);
    if over { Reason::BudgetUsedUp } else { Reason::TooNoisy }
}

fn figures(pairs: &Pairs, decision: &decide::Decision, mode: Mode, settled: &Settled, asked: Threshold) -> Figures {
    let used = decision.values.min(pairs.units());
    let (base, head) = (&pairs.times.base[..used], &pairs.times.head[..used]);
    let (base_ns, head_ns) = (decide::median(&mut base.to_vec()), decide::median(&mut head.to_vec()));
    let measured = Measured {
        change: decision.change,
        base_ns,
        head_ns,
        pairs: used,
        layouts: 1,
        detectable: decision.detectable,
        p_value: decision.p_value,
        // Without any spread d is infinite or undefined; the interval says it all.
        effect: decide::cohens_d(base, head).unwrap_or(EffectSize { d: 0.0, class: EffectClass::Trivial }),
        mode,
        threshold: pairs.sequential.rule().threshold,
        asked,
        sample: pairs.sample(used),
        bound: None,
    };
    let spread = decide::spread(pairs.sequential.log_ratios());
    let (verdict, notes, metrics) = (decision.verdict, settled.notes.clone(), Metrics::new());
    Figures { verdict, measured, spread, seconds_per_pair: 0.0, notes, metrics }
}
