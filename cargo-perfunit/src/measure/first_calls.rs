//! First calls: of tests that cannot be repeated, of those whose later calls hold nothing to measure, and of all others
//! beside their later calls, for work that only a first call does.
//!
//! One process of each side as ever, which forks a child for each call just before the test's body: a call costs a third
//! of a millisecond and finds the same memory and caches as the one before. Where that cannot be done a call costs a
//! process.

use super::bench::{Bench, Config};
use super::classify::per_run;
use super::layouts::Layouts;
use super::lockstep::{self, PairEnd, Task};
use super::running::{Pads, Programs};
use super::schedule::{Ended, Figures, pairs_per_layout};
use super::screen::{self, Settled};
use super::work::{Comparison, clock_bias, uncertainty};
use crate::decide;
use crate::error::Result;
use crate::model::{Capture, FirstCallsBecause, ForkObstacle, Measured, Note, Sides, Verdict};
use crate::system::interrupt;
use perfunit_runtime::page::state;
use std::time::Instant;

/// Pairs that the first look needs, with some that may be lost.
const NEEDED: f64 = 1.3 * decide::FIRST_LOOK as f64;
/// What a child's call of nothing may take, ns: it finds the caches without the code that it calls.
const NOTHING_NS: f64 = 1_000.0;
/// Fewer ns than this are a line of memory that was not in the caches: no threshold below it.
const LEAST_NS: f64 = 50.0;
/// Of a test that is repeated, a first call is judged apart if it differs by this fraction of base more than later calls do,
/// and by so many ns: a few page faults.
const APART: f64 = 0.05;
const APART_NS: f64 = 2_000.0;
/// Standard errors that a single pair's difference must be from 0 to be looked at closely.
const SUSPICIOUS: f64 = 4.0;

/// How a test that cannot be repeated is measured.
pub fn settle(
    bench: &Bench,
    config: &Config,
    programs: &Programs<'_>,
    capture: Capture,
    because: FirstCallsBecause,
    random: &mut fastrand::Rng,
) -> Result<Settled> {
    let (end, equal_seeds) = pilot(bench, config, programs, capture, random)?;
    let obstacle = obstacle(config, &end);
    let task = if obstacle.is_none() { Task::Fork(capture, end.shape) } else { Task::Cold };
    let note = Note::FirstCalls { because, obstacle };
    Ok(settled(bench, task, capture, &end, vec![note], equal_seeds))
}

/// How a test is measured whose later calls hold no work, if its first one does.
pub fn if_they_hold_work(
    bench: &Bench,
    config: &Config,
    programs: &Programs<'_>,
    capture: Capture,
    random: &mut fastrand::Rng,
) -> Result<Option<Settled>> {
    let (end, equal_seeds) = pilot(bench, config, programs, capture, random)?;
    let Sides { base, head } = end.sides.as_ref().map(|side| side.first_ns);
    if obstacle(config, &end).is_some() || base.max(head) < NOTHING_NS {
        return Ok(None);
    }
    let note = Note::FirstCalls { because: FirstCallsBecause::OnlyFirstHoldsWork, obstacle: None };
    Ok(Some(settled(bench, Task::Fork(capture, end.shape), capture, &end, vec![note], equal_seeds)))
}

fn settled(
    bench: &Bench,
    task: Task,
    capture: Capture,
    pilot: &PairEnd,
    notes: Vec<Note>,
    equal_seeds: bool,
) -> Settled {
    Settled {
        task,
        capture,
        pairs_per_layout: 1,
        matched: true,
        notes,
        equal_seeds: equal_seeds && bench.seeds.are_given(),
        comparison: Comparison::for_pilot(pilot),
        clock_bias: clock_bias(pilot),
        least_change: LEAST_NS / per_run(&pilot.sides.base, pilot.shape).max(LEAST_NS),
        ns: pilot.sides.as_ref().map(|side| side.first_ns),
    }
}

/// A pair that finds out how many calls fit, with equal random numbers unless only others pass; and whether they were
/// equal.
fn pilot(
    bench: &Bench,
    config: &Config,
    programs: &Programs<'_>,
    capture: Capture,
    random: &mut fastrand::Rng,
) -> Result<(PairEnd, bool)> {
    let pads = Pads::draw(random);
    let end = lockstep::run(bench, programs, Task::ForkPilot(capture), pads, config.timeout)?;
    if end.complete() || end.timed_out.is_some() || !bench.seeds.are_given() {
        return Ok((end, true));
    }
    let apart = lockstep::run(bench, programs, Task::ForkPilot(capture), pads.without_seed(), config.timeout)?;
    Ok(if apart.complete() { (apart, false) } else { (end, true) })
}

/// What keeps a test's first calls from being made in forked children.
fn obstacle(config: &Config, pilot: &PairEnd) -> Option<ForkObstacle> {
    let states = [pilot.sides.base.state, pilot.sides.head.state];
    let needed = NEEDED * pilot.took.as_secs_f64();
    match () {
        () if states.contains(&state::THREADS) => Some(ForkObstacle::Threads),
        () if states.contains(&state::NO_FORK) => Some(ForkObstacle::Forbidden),
        () if pilot.timed_out.is_some() => Some(ForkObstacle::Hangs),
        () if !pilot.complete() => Some(ForkObstacle::Fails),
        () if needed > config.per_test_budget.as_secs_f64() => Some(ForkObstacle::TooLong),
        () => None,
    }
}

/// A first call that seems to differ although later calls do not, or not as much.
pub struct Flagged {
    settled: Settled,
    figures: Figures,
}

/// Compares the first calls of a test that was measured by its later ones: one pair, and as many as it takes if that
/// differs.
pub fn look(
    bench: &Bench,
    config: &Config,
    programs: &Programs<'_>,
    way: &Settled,
    later: &Figures,
    random: &mut fastrand::Rng,
) -> Result<Option<Flagged>> {
    let over = config.deadline.is_some_and(|deadline| Instant::now() >= deadline);
    if !matches!(way.task, Task::Steady(_)) || later.verdict == Verdict::Slower || over || interrupt::requested() {
        return Ok(None);
    }
    let (end, equal_seeds) = pilot(bench, config, programs, way.capture, random)?;
    if obstacle(config, &end).is_some() {
        return Ok(None);
    }
    let ns = end.sides.as_ref().map(|side| side.first_ns);
    let comparison = Comparison::for_pilot(&end);
    let certain = comparison.log_ratio(&end).abs() > SUSPICIOUS * uncertainty(&end);
    if !certain || !is_apart(config, ns, &later.measured) {
        return Ok(None);
    }
    let task = Task::Fork(way.capture, end.shape);
    let settled = settled(bench, task, way.capture, &end, Vec::new(), equal_seeds);
    let settled = Settled { matched: way.matched, ..settled };
    let figures = screen::measure(bench, &judged(config), programs, &settled, config.alpha, None, random)?;
    let flagged = figures.ok().filter(|figures| is_changed(config, figures, later));
    Ok(flagged.map(|figures| Flagged { settled, figures }))
}

/// Measures a flagged first call once more, on layouts drawn at random, and joins what comes of it with what was said of
/// later calls.
pub fn confirm(
    bench: &Bench,
    config: &Config,
    programs: &Programs<'_>,
    flagged: &Flagged,
    (layouts, alpha): (Option<&mut Layouts>, f64),
    later: &mut Ended,
    random: &mut fastrand::Rng,
) -> Result<()> {
    let pairs_per_layout = if layouts.is_some() { pairs_per_layout(&flagged.figures, config, alpha) } else { 1 };
    let settled = Settled { pairs_per_layout, ..flagged.settled.clone() };
    let fresh = screen::measure(bench, &judged(config), programs, &settled, alpha, layouts, random)?;
    let (Ok(fresh), Ok(figures)) = (fresh, &mut later.result) else { return Ok(()) };
    if fresh.verdict != flagged.figures.verdict || !is_changed(config, &fresh, figures) {
        return Ok(());
    }
    let (first, rest) = (&fresh.measured, &figures.measured);
    let ns = |measured: &Measured| Sides { base: measured.base_ns, head: measured.head_ns };
    if matches!(figures.verdict, Verdict::Slower | Verdict::Faster) {
        figures.notes.push(Note::FirstCallToo { ns: ns(first), change: first.change });
        return Ok(());
    }
    let note = Note::FirstCallOnly { later_ns: ns(rest) };
    let metrics = std::mem::take(&mut figures.metrics);
    let notes = figures.notes.drain(..).chain([note]).collect();
    *figures = Figures { notes, metrics, ..fresh };
    later.reason = None;
    Ok(())
}

/// First calls of tests that are repeated are judged from a larger change on: what they find in the caches is not all equal.
fn judged(config: &Config) -> Config {
    Config { threshold: config.threshold.at_least(APART), metering: None, ..config.clone() }
}

fn is_changed(config: &Config, first: &Figures, later: &Figures) -> bool {
    let Measured { base_ns, head_ns, .. } = first.measured;
    matches!(first.verdict, Verdict::Slower | Verdict::Faster)
        && is_apart(config, Sides { base: base_ns, head: head_ns }, &later.measured)
}

/// Whether a first call differs by more than later calls do, so that there is something to say of it.
fn is_apart(config: &Config, first_ns: Sides<f64>, later: &Measured) -> bool {
    let beyond = (first_ns.head - first_ns.base) - (later.head_ns - later.base_ns);
    beyond.abs() >= APART_NS && beyond.abs() >= judged(config).threshold.fraction() * first_ns.base
}
