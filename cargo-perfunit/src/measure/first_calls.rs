//! First calls: of tests that cannot be repeated, and of those whose later calls hold nothing to measure.
//!
//! One process of each side as ever, which forks a child for each call just before the test's body: a call costs a third
//! of a millisecond and finds the same memory and caches as the one before. Where that cannot be done a call costs a
//! process.

use super::bench::{Bench, Config};
use super::lockstep::{self, PairEnd, Task};
use super::running::{Pads, Programs};
use super::screen::Settled;
use super::work::{Comparison, clock_bias};
use crate::error::Result;
use crate::model::{Capture, Sides};
use crate::stats;
use perfunit_runtime::page::state;

/// Pairs that the first look needs, with some that may be lost.
const NEEDED: f64 = 1.3 * stats::LOOKS[0] as f64;
/// What a child's call of nothing may take, ns: it finds the caches without the code that it calls.
const NOTHING_NS: f64 = 1_000.0;

/// How a test that cannot be repeated is measured.
pub fn settle(
    bench: &Bench,
    config: &Config,
    programs: &Programs<'_>,
    capture: Capture,
    why: &str,
    random: &mut fastrand::Rng,
) -> Result<Settled> {
    let (end, equal_seeds) = pilot(bench, config, programs, capture, random)?;
    Ok(match obstacle(config, &end) {
        None => {
            let note = format!("{why}: first calls are compared, each in a forked child");
            settled(bench, Task::Fork(capture, end.shape), capture, &end, note, equal_seeds)
        }
        Some(obstacle) => {
            let note = format!("{why}, and {obstacle}: first calls are compared, each in a process of its own");
            settled(bench, Task::Cold, capture, &end, note, equal_seeds)
        }
    })
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
    let note = "only its first call holds work: first calls are compared, each in a forked child".to_owned();
    Ok(Some(settled(bench, Task::Fork(capture, end.shape), capture, &end, note, equal_seeds)))
}

fn settled(
    bench: &Bench,
    task: Task,
    capture: Capture,
    pilot: &PairEnd,
    note: String,
    equal_seeds: bool,
) -> Settled {
    Settled {
        task,
        capture,
        pairs_per_layout: 1,
        matched: true,
        notes: vec![note],
        equal_seeds: equal_seeds && bench.seeds.are_given(),
        comparison: Comparison::for_pilot(pilot),
        clock_bias: clock_bias(pilot),
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

/// What keeps a test's first calls from being made in forked children, in words.
fn obstacle(config: &Config, pilot: &PairEnd) -> Option<&'static str> {
    let states = [pilot.sides.base.state, pilot.sides.head.state];
    let needed = NEEDED * pilot.took.as_secs_f64();
    match () {
        () if states.contains(&state::THREADS) => Some("its process has threads that a forked child would lack"),
        () if states.contains(&state::NO_FORK) => Some("its process may not fork"),
        () if pilot.timed_out.is_some() => Some("a forked child does not end"),
        () if !pilot.complete() => Some("it fails in forked children"),
        () if needed > config.per_test_budget.as_secs_f64() => Some("its calls are too long to make several in a pair"),
        () => None,
    }
}
