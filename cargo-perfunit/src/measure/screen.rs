//! One test: pilot, then pairs until the rule is content or the budget used up.

use super::bench::{Bench, Config};
use super::beside::{Beside, Rules};
use super::classify::{Class, classify, first_failure, per_run, runs};
use super::layouts::{self, Layouts};
use super::lockstep::{self, PairEnd, Shape, Task};
use super::running::{Pads, Programs};
use super::schedule::Figures;
use super::whole_process::{self, Asked};
use super::work::{Comparison, Differs, Work, clock_bias};
use crate::error::Result;
use crate::interrupt;
use crate::model::{Capture, EffectClass, EffectSize, Measured, Metrics, Mode, Reason, Sample, Side, Sides, Verdict};
use crate::stats::{self, LOOKS, Look, Rule};
use std::time::{Duration, Instant};

/// Pairs that may fail before a test counts as not measurable in its mode.
const FAILURES_BORNE: usize = 2;
/// Below this a cycle is several percent of the time.
const TINY_NS: f64 = 50.0;
/// A difference of fewer ns than this is a handful of cycles, as a moved loop makes them: shown, not judged.
const FEWEST_NS: f64 = 3.0;
/// A cold call is noisier than any repeated one: no threshold below this.
const COLD_THRESHOLD: f64 = 0.05;
/// As is a whole process, of which much is not the test: no threshold below this.
pub const PROCESS_THRESHOLD: f64 = 0.05;
/// Layouts that nobody matched were seen to fake up to 13 % of one kind of edit after another: no threshold below this.
const UNMATCHED_THRESHOLD: f64 = 0.15;
/// What the place of the same code does to its time, in 99 of 100 cases: 2.6 standard deviations of the 3.3 % that were
/// seen between layouts of one body.
const LAYOUT_BIAS: f64 = 0.085;

/// The note on a test that fails beside itself with equal random numbers.
const APART: &str = "base and head get into each other's way with equal random numbers: each draws its own";

/// A test with its way of being measured settled.
#[derive(Debug, Clone)]
pub struct Settled {
    /// The pairs' task.
    pub task: Task,
    /// How it was captured.
    pub capture: Capture,
    /// Pairs that make a layout's mean.
    pub pairs_per_layout: usize,
    /// Whether what is the same in both versions lies at the same places.
    pub matched: bool,
    /// Remarks found on the way.
    pub notes: Vec<String>,
    /// Whether both processes of a pair get the same random numbers.
    pub equal_seeds: bool,
    /// How a pair's estimate is made.
    pub comparison: Comparison,
    /// What reading the clock can do to a pair's log ratio.
    pub clock_bias: f64,
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
#[derive(Debug, Default)]
struct Pairs {
    log_ratios: Vec<f64>,
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
    let apart = if equal_seeds { Vec::new() } else { vec![APART.to_owned()] };
    if interrupt::requested() {
        return Ok(Err(Reason::Interrupted));
    }
    let whole = end.sides.base.whole_function || end.sides.head.whole_function;
    let capture = if whole { Capture::Runner } else { Capture::Macro };
    let equal_seeds = equal_seeds && bench.seeds.are_given();
    let (comparison, clock_bias) = (Comparison::for_pilot(&end), clock_bias(&end));
    let ns =
        |shape: Option<Shape>| end.sides.as_ref().map(|side| shape.map_or(side.first_ns, |shape| per_run(side, shape)));
    let settled = |task, notes| {
        let (pairs_per_layout, matched) = (1, true);
        let ns = ns(matches!(task, Task::Steady(_)).then_some(end.shape));
        Ok(Ok(Settled { task, capture, pairs_per_layout, matched, notes, equal_seeds, comparison, clock_bias, ns }))
    };
    match class {
        Class::Steady(shape) => settled(Task::Steady(shape), apart),
        Class::NotRepeatable(why) => {
            settled(Task::Cold, vec![format!("not repeatable in one process ({why}): first calls are compared")])
        }
        Class::Not(reason) => Ok(Err(reason)),
        Class::Suspect => match suspects(bench, config, programs, random)? {
            Some(reason) => Ok(Err(reason)),
            None => {
                settled(Task::Cold, vec!["base and head do not run side by side: first calls are compared".to_owned()])
            }
        },
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
            Some(Reason::TimedOut { side: side.to_string(), seconds: config.timeout.as_secs_f64() })
        } else {
            first_failure(end.sides.get(side), &side.to_string())
        };
    }
    Ok(match (failures.base, failures.head) {
        (Some(reason), Some(_)) => Some(on_both(reason)),
        (base, head) => base.or(head),
    })
}

pub fn on_both(reason: Reason) -> Reason {
    match reason {
        Reason::Fails { detail, .. } => Reason::Fails { side: "both".to_owned(), detail },
        Reason::Crashes { detail, .. } => Reason::Crashes { side: "both".to_owned(), detail },
        other => other,
    }
}

/// What is compared by this task.
pub fn mode(task: Task) -> Mode {
    match task {
        Task::Cold => Mode::Cold,
        Task::Process => Mode::Process,
        _ => Mode::Steady,
    }
}

/// Measures until the rule decides, the budget ends or pairs fail. With layouts the unit of replication is a layout
/// drawn at random, with the mean of a few pairs; without it is the pair.
pub fn measure(
    bench: &Bench,
    config: &Config,
    programs: &Programs<'_>,
    settled: &Settled,
    alpha: f64,
    mut layouts: Option<&mut Layouts>,
    random: &mut fastrand::Rng,
) -> Result<std::result::Result<Figures, Reason>> {
    let mode = mode(settled.task);
    let threshold = match mode {
        Mode::Cold => config.threshold.max(COLD_THRESHOLD),
        Mode::Process => config.threshold.max(PROCESS_THRESHOLD),
        Mode::Steady => config.threshold,
    };
    let rule = if settled.matched {
        Rule { alpha, threshold, bias: settled.clock_bias }
    } else {
        let bias = LAYOUT_BIAS + settled.clock_bias;
        Rule { alpha, threshold: threshold.max(UNMATCHED_THRESHOLD), bias }
    };
    let most = if layouts.is_some() { layouts::MOST } else { LOOKS[LOOKS.len() - 1] };
    let per_unit = if layouts.is_some() { settled.pairs_per_layout } else { 1 };
    let started = Instant::now();
    let linked = layouts.as_ref().map_or(Duration::ZERO, |layouts| layouts.took);
    let gates = config.metering.as_ref().map_or(&[][..], |metering| &metering.gates);
    let rules = Rules { time: rule, gates };
    let (mut pairs, mut failures) = (Pairs::default(), Vec::new());
    let mut told = None;
    let decision = loop {
        if interrupt::requested() {
            return Ok(Err(Reason::Interrupted));
        }
        // Linking takes its time, but not this test's.
        let linking = layouts.as_ref().map_or(Duration::ZERO, |layouts| layouts.took.saturating_sub(linked));
        let end = started + config.per_test_budget + linking;
        let end = config.deadline.map_or(end, |deadline| deadline.min(end));
        if Instant::now() >= end || pairs.log_ratios.len() >= most {
            break told.or_else(|| stats::conclude(&rule, &pairs.log_ratios));
        }
        let is_fresh = layouts.is_some() && pairs.unit.is_empty();
        let executables = match &mut layouts {
            Some(layouts) => layouts.drawn(programs.executables, pairs.log_ratios.len())?,
            None => Some(programs.executables),
        };
        let Some(executables) = executables else {
            break told.or_else(|| stats::conclude(&rule, &pairs.log_ratios));
        };
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
            failures.push(pair);
            if failures.len() > FAILURES_BORNE {
                return Ok(Err(failure(&failures, config.timeout)));
            }
            continue;
        }
        if !pairs.add(&pair, settled.comparison, per_unit) {
            continue;
        }
        if told.is_none()
            && let Look::Decided(decision) = stats::look(&rule, &pairs.log_ratios)
        {
            told = Some(decision);
        }
        if pairs.beside.is_told(&rules) && told.is_some() {
            break told;
        }
        if LOOKS.contains(&pairs.log_ratios.len()) {
            let each =
                started.elapsed().saturating_sub(linking) / u32::try_from(pairs.log_ratios.len()).unwrap_or(u32::MAX);
            let left = end.saturating_duration_since(Instant::now());
            let affordable = pairs.log_ratios.len() + (left.as_secs_f64() / each.as_secs_f64().max(1e-6)) as usize;
            let affordable = affordable.min(most);
            let hopeless = match told {
                Some(_) => pairs.beside.is_hopeless(&rules, affordable),
                None => stats::is_hopeless(&rule, &pairs.log_ratios, affordable),
            };
            if hopeless {
                break told.or_else(|| stats::conclude(&rule, &pairs.log_ratios));
            }
        }
    };
    let Some(decision) = decision else { return Ok(Err(out_of_time(config))) };
    let mut figures = figures(&pairs, &decision, mode, settled);
    figures.seconds_per_pair = started.elapsed().as_secs_f64() / (pairs.log_ratios.len() * per_unit).max(1) as f64;
    figures.measured.threshold = rule.threshold;
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
    let differs = pairs.work.differs().filter(|differs| layouts.is_none() || *differs == Differs::Calls);
    figures.notes.extend(differs.map(|differs| unequal_work(differs, settled)));
    Ok(Ok(figures))
}

impl Pairs {
    /// What can be plotted of so many units; the batches are those of all.
    fn sample(&self, units: usize) -> Sample {
        let steps = Sample::QUANTILES - 1;
        let quantiles = |times: &Vec<f64>| {
            let times = &mut times.clone();
            let at = (0..=steps).map(|step| stats::quantile(times, step as f64 / steps as f64));
            if self.log_ratios.is_empty() { Vec::new() } else { at.collect() }
        };
        Sample {
            estimates: self.log_ratios[..units].iter().map(|log_ratio| log_ratio.exp_m1()).collect(),
            batches: self.batches.as_ref().map(quantiles),
        }
    }

    /// Adds a pair; true if it completes a unit of so many.
    fn add(&mut self, pair: &PairEnd, comparison: Comparison, per_unit: usize) -> bool {
        let ns = pair.sides.as_ref().map(|side| per_run(side, pair.shape).max(0.01));
        for side in Side::BOTH {
            self.batches.get_mut(side).extend(runs(pair.sides.get(side), pair.shape));
        }
        self.work.add(pair);
        self.beside.add(pair, comparison);
        self.unit.push((comparison.log_ratio(pair), ns.map(f64::ln)));
        if self.unit.len() < per_unit {
            return false;
        }
        let mean = |of: fn(&(f64, Sides<f64>)) -> f64| {
            stats::trimmed_mean(&self.unit.iter().map(of).collect::<Vec<_>>(), stats::TRIMMING)
        };
        self.log_ratios.push(mean(|(log_ratio, _)| *log_ratio));
        self.times.base.push(mean(|(_, ns)| ns.base).exp());
        self.times.head.push(mean(|(_, ns)| ns.head).exp());
        self.unit.clear();
        self.beside.end_unit();
        true
    }
}

/// The note on a test whose runs do not do the same.
fn unequal_work(differs: Differs, settled: &Settled) -> String {
    let between = match differs {
        Differs::Calls => "call to call",
        Differs::Processes => "process to process",
    };
    let in_spite = if settled.equal_seeds { ", even with equal random numbers" } else { "" };
    format!("its work differs from {between}{in_spite}")
}

fn out_of_time(config: &Config) -> Reason {
    let over = config.deadline.is_some_and(|deadline| Instant::now() >= deadline);
    if over { Reason::BudgetUsedUp } else { Reason::TooNoisy }
}

/// Why pairs of a test that had passed its pilot did not complete.
fn failure(failures: &[PairEnd], timeout: Duration) -> Reason {
    for pair in failures {
        if let Some(side) = pair.timed_out {
            return Reason::TimedOut { side: side.to_string(), seconds: timeout.as_secs_f64() };
        }
        for side in Side::BOTH {
            let end = pair.sides.get(side);
            let ended_badly = end.status.is_some() && end.state != perfunit_runtime::page::state::DONE;
            if ended_badly {
                let detail =
                    if end.message.is_empty() { "passes once and not again".to_owned() } else { end.message.clone() };
                return Reason::Fails { side: format!("{side}, not always"), detail };
            }
        }
    }
    Reason::Fails { side: "either side, not always".to_owned(), detail: "its process did not finish".to_owned() }
}

fn figures(pairs: &Pairs, decision: &stats::Decision, mode: Mode, settled: &Settled) -> Figures {
    let used = decision.pairs.min(pairs.log_ratios.len());
    let (base, head) = (&pairs.times.base[..used], &pairs.times.head[..used]);
    let (base_ns, head_ns) = (stats::median(&mut base.to_vec()), stats::median(&mut head.to_vec()));
    let measured = Measured {
        change: decision.change,
        base_ns,
        head_ns,
        pairs: used,
        layouts: 1,
        detectable: decision.detectable,
        p_value: decision.p_value,
        // Without any spread d is infinite or undefined; the interval says it all.
        effect: stats::cohens_d(base, head).unwrap_or(EffectSize { d: 0.0, class: EffectClass::Trivial }),
        mode,
        threshold: 0.0,
        sample: pairs.sample(used),
        bound: None,
    };
    let mut notes = settled.notes.clone();
    let mut verdict = decision.verdict;
    let few_cycles = base_ns.max(head_ns) < TINY_NS && (head_ns - base_ns).abs() < FEWEST_NS;
    if few_cycles && matches!(verdict, Verdict::Slower | Verdict::Faster) {
        verdict = Verdict::ChangedBelowThreshold;
        notes.push(format!("a few cycles ({:+.1} ns of {base_ns:.1} ns): shown, not judged", head_ns - base_ns));
    }
    let spread = stats::spread(&pairs.log_ratios);
    Figures { verdict, measured, spread, seconds_per_pair: 0.0, notes, metrics: Metrics::new() }
}
