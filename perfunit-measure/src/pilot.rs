//! The pilot of a test: a pair that settles how to measure the test, or shows why it cannot be measured.

use super::at_once::{self, Pace};
use super::by_clock;
use super::classify::{Class, classify, first_failure, per_run};
use super::first_calls;
use super::lockstep::{PairEnd, Shape, Task};
use super::measured_process::Pads;
use super::pair;
use super::trial::{LEAST_NS, Settled, Trial};
use super::work::{Comparison, clock_bias};
use perfunit_build::TestClock;
use perfunit_model::error::{Result, Stop, Tried};
use perfunit_model::{Capture, FirstCallsBecause, Harness, Note, Reason, Side, Sides, Unsteady};
use perfunit_system::interrupt;
use std::cell::Cell;
use std::rc::Rc;

/// Runs the pilot and settles how to measure a test.
pub fn settle(trial: &Trial<'_>, random: &mut fastrand::Rng) -> Tried<Settled, Reason> {
    let _span = tracing::debug_span!("pilot").entered();
    let counted = pilot(trial, random)?;
    let clock = by_clock::clock_for(trial, &counted.end, random)?;
    if clock == TestClock::True {
        return settle_by(clock, counted, trial, random);
    }
    let stepped = Pilot::run(trial, Pads::draw(random).with_clock(clock), true)?;
    let passes_once = |pilot: &Pilot| matches!(pilot.class, Class::Suspect | Class::NotRepeatable(_));
    if passes_once(&stepped) && !passes_once(&counted) && !interrupt::is_requested() {
        return Err(Stop::Because(Reason::RunsByClock));
    }
    let settled = settle_by(clock, stepped, trial, random)?;
    let notes = settled.notes.into_iter().chain([Note::RunsByClock]).collect();
    Ok(Settled { notes, ..settled })
}

/// Settles how to measure a test, given a pilot with this clock.
fn settle_by(clock: TestClock, pilot: Pilot, trial: &Trial<'_>, random: &mut fastrand::Rng) -> Tried<Settled, Reason> {
    let Pilot { end, class, equal_seeds } = pilot;
    let apart = if equal_seeds { Vec::new() } else { vec![Note::OwnRandomNumbers] };
    if interrupt::is_requested() {
        return Err(Stop::Because(interrupt::reason()));
    }
    let whole = end.sides.base.whole_function || end.sides.head.whole_function;
    let capture = match trial.programs.executables.head.harness {
        Harness::Bench => Capture::Bench,
        Harness::Runner | Harness::Libtest | Harness::Own if whole => Capture::Runner,
        Harness::Runner | Harness::Libtest | Harness::Own => Capture::Macro,
    };
    let equal_seeds = equal_seeds && trial.bench.seeds.are_given();
    let (comparison, clock_bias) = (Comparison::for_pilot(&end), clock_bias(&end));
    let starts_processes = Side::BOTH.into_iter().any(|side| end.sides.get(side).readings.starts_processes);
    let settled = match class {
        Class::Steady(shape) => {
            let ns = end.sides.as_ref().map(|side| per_run(side, end.shape));
            let is_on_one_core = trial.bench.core_at(0).is_some();
            let can_be_at_once = is_on_one_core && clock == TestClock::True && at_once::suits(&end, shape);
            let pace = if can_be_at_once { Pace::Open } else { Pace::InTurns };
            let task = Task::Steady(comparison.shape(shape, ns.base.max(ns.head)));
            let (matched, notes) = (true, apart);
            Ok(Settled {
                task,
                capture,
                matched,
                notes,
                starts_processes,
                equal_seeds,
                clock,
                comparison,
                clock_bias,
                pace: Rc::new(Cell::new(pace)),
                least_ns: LEAST_NS,
                ns,
                first_ns: end.sides.as_ref().map(|side| side.first_ns),
                pairs_run: Rc::default(),
                waiting: Rc::default(),
            })
        }
        Class::NotRepeatable(why) => first_calls::settle(trial, capture, why, clock, random),
        Class::Not(reason @ Reason::FoldedAway { .. }) => {
            let held = first_calls::if_they_hold_work(trial, capture, random)?;
            held.ok_or(Stop::Because(reason))
        }
        Class::Not(reason) => Err(Stop::Because(reason)),
        Class::Suspect => {
            if let Some(reason) = suspects(trial, random)? {
                return Err(Stop::Because(reason));
            }
            first_calls::settle(trial, capture, FirstCallsBecause::NotSideBySide, clock, random)
        }
    }?;
    Ok(Settled { starts_processes, ..settled })
}

/// A pilot pair with its class.
struct Pilot {
    end: PairEnd,
    class: Class,
    equal_seeds: bool,
}

impl Pilot {
    fn run(trial: &Trial<'_>, pads: Pads, equal_seeds: bool) -> Result<Self> {
        let Trial { bench, config, programs } = trial;
        let end = pair::run(bench, programs, Task::Pilot, pads, config.timeout)?;
        let class = classify(&end, config.timeout, config.per_test_budget);
        Ok(Self { end, class, equal_seeds })
    }
}

/// Runs the pilot, with equal random numbers unless the two processes interfere with each other then: equal numbers give equal
/// names of shared files or ports.
fn pilot(trial: &Trial<'_>, random: &mut fastrand::Rng) -> Result<Pilot> {
    let mut run = |equal_seeds: bool| -> Result<Pilot> {
        let pads = Pads::draw(random).with_clock(TestClock::Counted);
        Pilot::run(trial, if equal_seeds { pads } else { pads.without_seed() }, equal_seeds)
    };
    let steady = |pilot: &Pilot| matches!(pilot.class, Class::Steady(_));
    let first = run(true)?;
    let failed = matches!(first.class, Class::NotRepeatable(_) | Class::Suspect) && first.end.timed_out.is_none();
    if !failed || !trial.bench.seeds.are_given() || interrupt::is_requested() {
        return Ok(first);
    }
    let apart = run(false)?;
    if !steady(&apart) {
        return Ok(first);
    }
    // A test may fail only with some random numbers.
    let again = run(true)?;
    Ok(if steady(&again) { again } else { apart })
}

/// Returns the reason if a first call that failed alongside the other side's process also fails alone.
fn suspects(trial: &Trial<'_>, random: &mut fastrand::Rng) -> Result<Option<Reason>> {
    let Trial { bench, config, programs } = trial;
    let mut failures = Sides { base: None, head: None };
    for side in Side::BOTH {
        let end = pair::run(bench, programs, Task::Solo(side), Pads::draw(random), config.timeout)?;
        if interrupt::is_requested() {
            return Ok(Some(interrupt::reason()));
        }
        *failures.get_mut(side) = if end.timed_out.is_some() {
            Some(Reason::timed_out(side.into(), config.timeout))
        } else {
            first_failure(end.sides.get(side), side)
        };
    }
    Ok(match (failures.base, failures.head) {
        (Some(reason), Some(_)) => Some(reason.on_both()),
        (base, head) => base.or(head),
    })
}

/// Returns how a test is repeated, if it can be repeated.
pub(super) fn steady(settled: Tried<Settled, Reason>) -> Tried<(Settled, Shape), Unsteady> {
    let settled = settled.map_err(|stop| stop.map(Unsteady::NotMeasured))?;
    match settled.task {
        Task::Steady(shape) => Ok((settled, shape)),
        _ => Err(Stop::Because(Unsteady::FirstCalls(settled.notes))),
    }
}
