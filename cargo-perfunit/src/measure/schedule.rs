//! The whole run: one test after the other, then fresh pairs for those that were flagged.

use super::alone::Alone;
use super::bench::{Bench, Config, Placement, Terms};
use super::bound::{self, Found};
use super::confirmed::{confirmed, is_flagged};
use super::layouts::Layouts;
use super::lockstep::Task;
use super::meter;
use super::running::Programs;
use super::screen::{self, Settled};
use super::whole_process::{self, Starts};
use crate::build::{Harness, SideBuild, TestExecutable};
use crate::error::Result;
use crate::interrupt;
use crate::model::{Capture, LayoutMatch, Measured, Metrics, Reason, Sides, TargetId, TestId, Verdict};
use crate::progress::Progress;
use crate::stats;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Part of the whole run's remaining budget that is kept for confirming what was flagged.
const KEPT_FOR_CONFIRMATION: u32 = 8;

/// Standard deviation of a layout's mean that is small enough, as a part of the threshold.
const NOISE_OF_LAYOUT: f64 = 0.25;
/// Beyond this more layouts are worth more than more pairs of each.
const MOST_PAIRS_PER_LAYOUT: f64 = 8.0;
/// Layouts that have to fit the budget: twice as many as the rule asks for at least.
const FEWEST_LAYOUTS: f64 = 16.0;

/// A test to measure.
#[derive(Debug, Clone)]
pub struct Subject<'a> {
    /// Which test.
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
    /// The answer.
    pub verdict: Verdict,
    /// What was measured.
    pub measured: Measured,
    /// Standard deviation of the units of replication, log ratios, as a robust estimate has it.
    pub spread: f64,
    /// Wall time of a pair.
    pub seconds_per_pair: f64,
    /// Remarks.
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
    let mut random = fastrand::Rng::with_seed(config.seed);
    let mut layouts = Layouts::new(bench, config.placement, random.u64(..));
    let mut starts = Starts::default();
    // Single calls need no confirmation, and share the error rate with it.
    let others = config.others + subjects.len();
    let screening = Config { deadline: config.deadline.map(before_confirmation), others, ..config.clone() };
    let started = Instant::now();
    let (mut ended, mut ways) = (Vec::with_capacity(subjects.len()), Vec::with_capacity(subjects.len()));
    for (done, subject) in subjects.iter().enumerate() {
        progress.message(format!("{}{}", subject.test, time_left(started, done, subjects.len())));
        let (end, way) =
            screen_one(bench, &screening.on(subject.terms), sides, subject, &mut layouts, &mut starts, &mut random)?;
        ended.push(end);
        ways.push(way);
        progress.advance();
    }
    confirm(bench, config, sides, subjects, &ways, &mut ended, progress, &mut layouts, &mut random)?;
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
    let mut settled = match settled {
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
    if let Ok(figures) = &mut result {
        settled.pairs_per_layout = pairs_per_layout(figures, config);
        if let Some(metering) = config.metering.as_ref().filter(|_| settled.task != Task::Process) {
            let ns = figures.measured.base_ns.max(figures.measured.head_ns);
            figures.metrics.extend(meter::meter(bench, config, metering, &programs, &settled, ns, random)?);
        }
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

/// Pairs that a layout needs for the noise between them to be small beside what is to be told: the threshold, or a change
/// far beyond it. Never so many that too few layouts would fit the budget.
fn pairs_per_layout(figures: &Figures, config: &Config) -> usize {
    let wanted = NOISE_OF_LAYOUT * config.threshold.max(figures.measured.change.estimate.abs());
    let needed = (figures.spread / wanted).powi(2).ceil();
    let affordable = config.per_test_budget.as_secs_f64() / (figures.seconds_per_pair * FEWEST_LAYOUTS);
    needed.min(affordable).clamp(1.0, MOST_PAIRS_PER_LAYOUT) as usize
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
/// the whole run's false alarms below 1 %. The fresh pairs alone give the reported figures: the first ones were selected
/// for being extreme.
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
    let gates =
        |index: usize| config.on(subjects[index].terms).metering.map_or_else(Vec::new, |metering| metering.gates);
    let measured = ended.iter().filter(|end| end.result.is_ok()).count();
    let alpha = stats::confirmation_alpha(config.alpha, measured + config.others);
    // Layouts are a target's.
    let mut order: Vec<usize> =
        (0..subjects.len()).filter(|index| is_flagged(&ended[*index], &gates(*index))).collect();
    order.sort_by_key(|index| &subjects[*index].test.target);
    for index in order {
        let (end, subject) = (&mut ended[index], &subjects[index]);
        let Some(settled) = &ways[index] else { continue };
        let config = &config.on(subject.terms);
        bench.settle();
        progress.message(format!("{}, once more to be sure", subject.test));
        let varied = !interrupt::requested() && layouts.drawn(subject.executables, 0)?.is_some();
        let mut programs = programs(sides, subject);
        let fresh = if varied {
            screen::measure(bench, config, &programs, settled, alpha, Some(&mut *layouts), random)?
        } else {
            programs.executables = layouts.first(subject.executables)?.unwrap_or(subject.executables);
            screen::measure(bench, config, &programs, settled, alpha, None, random)?
        };
        *end = confirmed(end, fresh);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::confirmed::tests::figures;

    #[track_caller]
    fn check_pairs(estimate: f64, spread: f64, seconds_per_pair: f64, expected: usize) {
        let figures = Figures { spread, seconds_per_pair, ..figures(Verdict::Slower, estimate) };
        let config = Config {
            timeout: Duration::from_secs(10),
            per_test_budget: Duration::from_secs(10),
            deadline: None,
            threshold: 0.02,
            alpha: 0.01,
            others: 0,
            seed: 0,
            placement: Placement::Matched,
            metering: None,
        };
        assert_eq!(pairs_per_layout(&figures, &config), expected);
    }

    #[test]
    fn a_layout_gets_the_pairs_that_its_noise_asks_for_and_the_budget_allows() {
        check_pairs(0.02, 0.005, 0.01, 1);
        check_pairs(0.02, 0.01, 0.01, 4);
        check_pairs(0.02, 0.2, 0.01, 8);
        check_pairs(0.02, 0.2, 0.3, 2);
        check_pairs(0.02, 0.2, 2.0, 1);
        check_pairs(5.0, 0.2, 0.01, 1);
    }
}
