//! The whole run: one test after the other, then fresh pairs for those that were flagged.

use super::alone::Alone;
use super::bench::{Bench, Config, Placement, Terms};
use super::bound::{self, Found};
use super::confirmed::{Places, confirmed, is_flagged, rests_on_places, verdicts_of_pairs};
use super::first_calls;
use super::layouts::Layouts;
use super::lockstep::Task;
use super::meter;
use super::running::Programs;
use super::screen::{self, Settled};
use super::whole_process::{self, Starts};
use crate::build::{Harness, SideBuild, TestExecutable};
use crate::decide;
use crate::error::Result;
use crate::model::{Capture, LayoutMatch, Measured, Metric, Metrics, Reason, Sides, TargetId, TestId, Verdict};
use crate::system::interrupt;
use crate::system::progress::Progress;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Part of the whole run's remaining budget that is kept for confirming what was flagged.
const KEPT_FOR_CONFIRMATION: u32 = 4;

/// Layouts that have to fit the budget: twice as many as the rule asks for at least.
const FEWEST_LAYOUTS: f64 = 16.0;

/// A test to measure.
#[derive(Debug, Clone)]
pub struct Subject<'a> {
    pub test: TestId,
    /// Its executable on each side.
    pub executables: Sides<&'a TestExecutable>,
    /// What the user wants of it in particular.
    pub terms: Option<&'a Terms>,
    /// `#[ignore]`d, which a harness of its own must be told.
    pub ignored: bool,
}

/// The figures behind a verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    pub verdict: Verdict,
    pub measured: Measured,
    /// Standard deviation of the units of replication, log ratios, as a robust estimate has it.
    pub spread: f64,
    /// Wall time of a pair.
    pub seconds_per_pair: f64,
    pub notes: Vec<String>,
    /// What is known besides time; empty if nothing was asked for.
    pub metrics: Metrics,
}

/// The end of one test.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// The figures, or why there are none.
    pub result: std::result::Result<Figures, Reason>,
    /// Why a verdict is inconclusive.
    pub reason: Option<Reason>,
    /// How it was captured, once it ran.
    pub capture: Option<Capture>,
}

impl Ended {
    fn without_figures(reason: Reason) -> Self {
        Self { result: Err(reason), reason: None, capture: None }
    }
}

/// The ends of all tests, and what is known of the layouts that they were measured on.
#[derive(Debug)]
pub struct AllEnded {
    /// One for each subject, in their order.
    pub tests: Vec<Ended>,
    /// By target; in words why a target has none.
    pub layouts: BTreeMap<TargetId, std::result::Result<LayoutMatch, String>>,
}

/// Measures all subjects in the given order.
pub fn measure_all(
    bench: &Bench,
    config: &Config,
    sides: &Sides<&SideBuild>,
    subjects: &[Subject<'_>],
    progress: &Progress,
) -> Result<AllEnded> {
    let _span = tracing::info_span!("measure", tests = subjects.len()).entered();
    let mut random = fastrand::Rng::with_seed(config.seed);
    let mut layouts = Layouts::new(bench, config.placement, random.u64(..));
    let mut starts = Starts::default();
    // Single calls need no confirmation, and share the error rate with it.
    let others = config.others + subjects.len();
    let screening = Config { deadline: config.deadline.map(before_confirmation), others, ..config.clone() };
    let started = Instant::now();
    let mut first_calls = Vec::new();
    let (mut ended, mut ways) = (Vec::with_capacity(subjects.len()), Vec::with_capacity(subjects.len()));
    for (done, subject) in subjects.iter().enumerate() {
        progress.message(format!("{}{}", subject.test, time_left(started, done, subjects.len())));
        let (end, way) =
            screen_one(bench, &screening.on(subject.terms), sides, subject, &mut layouts, &mut starts, &mut random)?;
        if let (Ok(figures), Some(way)) = (&end.result, &way) {
            let config = &screening.on(subject.terms);
            let mut programs = programs(sides, subject);
            programs.executables = layouts.first(subject.executables)?.unwrap_or(subject.executables);
            let flagged = first_calls::look(bench, config, &programs, way, figures, &mut random)?;
            first_calls.extend(flagged.map(|flagged| (done, flagged)));
        }
        tracing::info!(test = %subject.test, verdict = ?end.result.as_ref().ok().map(|figures| figures.verdict), "test measured");
        ended.push(end);
        ways.push(way);
        progress.advance();
    }
    confirm(bench, config, sides, subjects, &ways, &mut ended, progress, &mut layouts, &mut random)?;
    confirm_first_calls(bench, config, sides, subjects, &first_calls, &mut ended, &mut layouts, &mut random)?;
    Ok(AllEnded { tests: ended, layouts: layouts.states() })
}

fn before_confirmation(deadline: Instant) -> Instant {
    let left = deadline.saturating_duration_since(Instant::now());
    Instant::now() + left * (KEPT_FOR_CONFIRMATION - 1) / KEPT_FOR_CONFIRMATION
}

fn time_left(started: Instant, done: usize, total: usize) -> String {
    if done < 3 {
        return String::new();
    }
    let left: Duration =
        started.elapsed() / u32::try_from(done).unwrap_or(u32::MAX) * u32::try_from(total - done).unwrap_or(0);
    format!(", about {} s left", left.as_secs() + 1)
}

fn screen_one(
    bench: &Bench,
    config: &Config,
    sides: &Sides<&SideBuild>,
    subject: &Subject<'_>,
    layouts: &mut Layouts,
    starts: &mut Starts,
    random: &mut fastrand::Rng,
) -> Result<(Ended, Option<Settled>)> {
    if interrupt::requested() {
        return Ok((Ended::without_figures(Reason::Interrupted), None));
    }
    if config.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
        return Ok((Ended::without_figures(Reason::BudgetUsedUp), None));
    }
    bench.settle();
    let mut programs = programs(sides, subject);
    let first = layouts.first(subject.executables)?;
    // An experiment shall show what the place of the code does, not allow for it.
    let matched = first.is_some() || config.placement == Placement::Natural;
    programs.executables = first.unwrap_or(subject.executables);
    let settled = match subject.executables.head.harness {
        Harness::Own => whole_process::settle(bench, config, &programs, starts, random)?,
        Harness::Runner | Harness::Libtest => screen::settle(bench, config, &programs, random)?,
    };
    let settled = match settled {
        Ok(settled) => Settled { matched, ..settled },
        Err(reason) => {
            let task = if subject.executables.head.harness == Harness::Own { Task::Process } else { Task::Cold };
            let result = Alone { bench, config, programs: &programs, task }.instead(reason, random)?;
            return Ok((Ended { result, reason: None, capture: None }, None));
        }
    };
    let bound =
        if bound::is_first(config, &settled) { by_calls(bench, config, &programs, &settled, random)? } else { None };
    let is_bound = bound.is_some();
    let mut result = match bound {
        Some(figures) => Ok(figures),
        None => screen::measure(bench, config, &programs, &settled, config.alpha, None, random)?,
    };
    if let Ok(figures) = &mut result
        && let Some(metering) = config.metering.as_ref().filter(|_| settled.task != Task::Process)
    {
        let ns = figures.measured.base_ns.max(figures.measured.head_ns);
        figures.metrics.extend(meter::meter(bench, config, metering, &programs, &settled, ns, random)?);
    }
    let reason = why_inconclusive(&result);
    Ok((Ended { result, reason, capture: Some(settled.capture) }, (!is_bound).then_some(settled)))
}

/// The figures of single calls, if they decide.
fn by_calls(
    bench: &Bench,
    config: &Config,
    programs: &Programs<'_>,
    settled: &Settled,
    random: &mut fastrand::Rng,
) -> Result<Option<Figures>> {
    let alone = Alone { bench, config, programs, task: settled.task };
    let mode = screen::mode(settled.task);
    let found = alone.bound(bound::slower(&settled.ns), &settled.ns.map(Some), mode, random)?;
    let Found::Bound(mut figures) = found else { return Ok(None) };
    figures.notes.clone_from(&settled.notes);
    Ok(Some(*figures))
}

pub(super) fn programs<'a>(sides: &Sides<&'a SideBuild>, subject: &'a Subject<'_>) -> Programs<'a> {
    Programs {
        executables: subject.executables,
        folders: Sides { base: &sides.base.folder, head: &sides.head.folder },
        test: &subject.test.name,
        ignored: subject.ignored,
    }
}

fn why_inconclusive(result: &std::result::Result<Figures, Reason>) -> Option<Reason> {
    matches!(result, Ok(figures) if figures.verdict == Verdict::Inconclusive).then_some(Reason::TooNoisy)
}

/// Flagged tests must show the same change on fresh pairs, each with another layout of the code, at a level that keeps
/// the whole run's false alarms below 1 %. So must all tests whose changed code could not be put in the same place in both
/// versions. The fresh pairs alone give the reported figures: the first ones were selected for being extreme.
#[expect(clippy::too_many_arguments, reason = "the run's state, handed on once")]
fn confirm(
    bench: &Bench,
    config: &Config,
    sides: &Sides<&SideBuild>,
    subjects: &[Subject<'_>],
    ways: &[Option<Settled>],
    ended: &mut [Ended],
    progress: &Progress,
    layouts: &mut Layouts,
    random: &mut fastrand::Rng,
) -> Result<()> {
    let gates = |index: usize| gates(config, &subjects[index]);
    let alpha = confirmation_alpha(config, subjects, ended);
    let places = |layouts: &Layouts, index: usize| {
        if layouts.is_anchored(&subjects[index].test.target) { Places::Matched } else { Places::Uncertain }
    };
    let is_open = |index: &usize| {
        let end = &ended[*index];
        is_flagged(end, &gates(*index)) || places(layouts, *index) == Places::Uncertain && rests_on_places(end)
    };
    // Layouts are a target's.
    let mut order: Vec<usize> = (0..subjects.len()).filter(is_open).collect();
    order.sort_by_key(|index| &subjects[*index].test.target);
    for index in order {
        let (end, subject) = (&mut ended[index], &subjects[index]);
        let (Some(settled), Ok(first)) = (&ways[index], &end.result) else { continue };
        let config = &config.on(subject.terms);
        bench.settle();
        progress.message(format!("{}, once more to be sure", subject.test));
        let places = places(layouts, index);
        let varied = !interrupt::requested() && layouts.drawn(subject.executables, 0)?.is_some();
        let mut programs = programs(sides, subject);
        let fresh = if varied {
            let settled = Settled { pairs_per_layout: pairs_per_layout(first, config, alpha), ..settled.clone() };
            screen::measure(bench, config, &programs, &settled, alpha, Some(&mut *layouts), random)?
        } else {
            programs.executables = layouts.first(subject.executables)?.unwrap_or(subject.executables);
            let settled = Settled { matched: settled.matched && places == Places::Matched, ..settled.clone() };
            screen::measure(bench, config, &programs, &settled, alpha, None, random)?
        };
        *end = confirmed(end, fresh, places);
    }
    Ok(())
}

fn gates(config: &Config, subject: &Subject<'_>) -> Vec<Metric> {
    config.on(subject.terms).metering.map_or_else(Vec::new, |metering| metering.gates)
}

/// The level at which each flagged verdict must show again, so that all verdicts of the run share one error rate.
fn confirmation_alpha(config: &Config, subjects: &[Subject<'_>], ended: &[Ended]) -> f64 {
    let measured = subjects.iter().zip(ended).filter(|(_, end)| end.result.is_ok());
    let verdicts: usize = measured.map(|(subject, _)| verdicts_of_pairs(&gates(config, subject))).sum();
    decide::confirmation_alpha(config.alpha, verdicts + config.others)
}

/// As [`confirm`], for first calls that differ apart from later ones.
#[expect(clippy::too_many_arguments, reason = "the run's state, handed on once")]
fn confirm_first_calls(
    bench: &Bench,
    config: &Config,
    sides: &Sides<&SideBuild>,
    subjects: &[Subject<'_>],
    flagged: &[(usize, first_calls::Flagged)],
    ended: &mut [Ended],
    layouts: &mut Layouts,
    random: &mut fastrand::Rng,
) -> Result<()> {
    let alpha = confirmation_alpha(config, subjects, ended);
    for (index, flagged) in flagged {
        let subject = &subjects[*index];
        bench.settle();
        let mut programs = programs(sides, subject);
        let (config, end) = (&config.on(subject.terms), &mut ended[*index]);
        if !interrupt::requested() && layouts.drawn(subject.executables, 0)?.is_some() {
            first_calls::confirm(bench, config, &programs, flagged, (Some(&mut *layouts), alpha), end, random)?;
        } else {
            programs.executables = layouts.first(subject.executables)?.unwrap_or(subject.executables);
            first_calls::confirm(bench, config, &programs, flagged, (None, alpha), end, random)?;
        }
    }
    Ok(())
}

/// Pairs that make a layout's mean: never so many that too few layouts would fit the budget.
pub(super) fn pairs_per_layout(first: &Figures, config: &Config, alpha: f64) -> usize {
    let change = first.measured.threshold.max(first.measured.change.estimate.abs());
    let affordable = config.per_test_budget.as_secs_f64() / (first.seconds_per_pair * FEWEST_LAYOUTS);
    decide::pairs_per_layout(first.spread, change, alpha, affordable)
}
