//! Tests with a custom harness (`harness = false`), which runs one test per process.
//!
//! Both processes of a pair include the start and the harness, which hide small differences. The time of both is measured
//! with processes that are asked for a test that does not exist.

use super::classify::{FEWEST_PAIRS, first_failure};
use super::lockstep::{SideEnd, Task};
use super::measured_process::{Inheritance, Pads};
use super::process_pair::{Asked, command, end_of_process, run};
use super::trial::{PROCESS_THRESHOLD, Settled, Trial};
use super::work::Comparison;
use perfunit_build::TestClock;
use perfunit_model::error::{Error, Result, Stop, Tried};
use perfunit_model::{Capture, FailedOn, Failure, Note, Reason, Side, Sides, TargetId};
use perfunit_system::interrupt;
use perfunit_system::process::{self, Streams};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Instant;

/// The number of pairs that measure the time of a start, or the approximate time of a test.
const PILOTS: usize = 5;
/// The smallest share of the start in a process's time that deserves a note.
const MUCH: f64 = 0.5;
/// The time to start and end a process, ns, by target.
#[derive(Debug, Default)]
pub struct Starts {
    known: BTreeMap<TargetId, Sides<f64>>,
}

/// Runs pilots and settles that the test is measured, or returns the reason why not.
pub fn settle(trial: &Trial<'_>, starts: &mut Starts, random: &mut fastrand::Rng) -> Tried<Settled, Reason> {
    let _span = tracing::debug_span!("pilot").entered();
    let Trial { bench, config, programs } = trial;
    let target = &programs.executables.head.target;
    if !starts.known.contains_key(target) {
        // The output and the exit status for such a name do not matter; the time includes them.
        starts.known.insert(target.clone(), pilots(trial, Asked::Nothing, random, |_| false)?);
    }
    let start = starts.known[target];
    // A harness can have thousands of tests that take nearly no time, and more pairs only shorten the shortest times.
    let ns = match pilots(trial, Asked::Test, random, |ns| is_lost(start, ns)) {
        Err(Stop::Because(Reason::Fails { .. } | Reason::Crashes { .. })) => {
            return Err(Stop::Because(why_failed(trial)?));
        }
        ns => ns?,
    };
    let needed = FEWEST_PAIRS * (ns.base + ns.head) / 1e9;
    if needed > config.per_test_budget.as_secs_f64() {
        let seconds = ns.base.max(ns.head) / 1e9;
        return Err(Stop::Because(Reason::TooLong { seconds, needed_seconds: needed.ceil(), ns: Some(ns) }));
    }
    if is_lost(start, ns) {
        return Err(Stop::Because(Reason::LostInStart { ns: ns.base }));
    }
    let share = (start.base / ns.base).min(1.0);
    let note = (share >= MUCH).then_some(Note::MostlyStart { share });
    Ok(Settled {
        task: Task::Process,
        capture: Capture::Process,
        matched: true,
        notes: note.into_iter().collect(),
        equal_seeds: bench.seeds.are_given(),
        clock: TestClock::True,
        comparison: Comparison::Quantiles,
        clock_bias: 0.0,
        least_ns: 0.0,
        ns,
        first_ns: ns,
        starts_processes: false,
        pairs_run: Rc::default(),
        waiting: Rc::default(),
        pace: Rc::default(),
    })
}

/// Returns whether the time of a test cannot be distinguished from its process's start, on either side. If the starts
/// themselves differ, the processes are compared, because the harness's work before its tests is also the project's code.
fn is_lost(start: Sides<f64>, test: Sides<f64>) -> bool {
    let most = PROCESS_THRESHOLD.ln_1p();
    let alike = |a: f64, b: f64| (a / b).ln() < most;
    alike(test.base, start.base) && alike(test.head, start.head) && alike(start.head, start.base)
}

/// Returns the shortest times of a few pairs, without the first pair. Runs fewer pairs if they are long, and stops once
/// the times are enough.
fn pilots(
    trial: &Trial<'_>,
    asked: Asked,
    random: &mut fastrand::Rng,
    is_enough: impl Fn(Sides<f64>) -> bool,
) -> Tried<Sides<f64>, Reason> {
    let Trial { bench, config, programs } = trial;
    let mut shortest: Option<Sides<f64>> = None;
    let end = Instant::now() + config.per_test_budget / 10;
    for pair in 0..=PILOTS {
        let pair_end = run(bench, programs, asked, Pads::draw(random), config.timeout)?;
        if interrupt::is_requested() {
            return Err(Stop::Because(interrupt::reason()));
        }
        if let Some(side) = pair_end.timed_out {
            return Err(Stop::Because(Reason::timed_out(side.into(), config.timeout)));
        }
        let failure = Side::BOTH.into_iter().find_map(|side| first_failure(pair_end.sides.get(side), side));
        if let Some(failure) = failure.filter(|_| asked == Asked::Test) {
            return Err(Stop::Because(failure));
        }
        let ns = pair_end.sides.as_ref().map(|side| side.first_ns);
        let ns = match shortest {
            // The first pair finds nothing in the caches.
            Some(before) if pair > 1 => Sides { base: before.base.min(ns.base), head: before.head.min(ns.head) },
            _ => ns,
        };
        shortest = Some(ns);
        if is_enough(ns) || Instant::now() >= end {
            break;
        }
    }
    Ok(shortest.ok_or_else(|| Error::setup("no process was run"))?)
}

/// Runs a failed test once more on each side, and reads its output for the reason.
fn why_failed(trial: &Trial<'_>) -> Result<Reason> {
    let Trial { bench, config, programs } = trial;
    let mut failures = Sides { base: None, head: None };
    for side in Side::BOTH {
        bench.clean_temporary()?;
        let mut command = command(bench, programs, side, Asked::Test, Pads::default());
        let inheritance = Inheritance::prepare(bench, &bench.page, None)?;
        let entered = bench.made.as_ref().map(|made| made.enter(side)).transpose()?;
        let output = process::output_within(&mut command, Streams::Both, config.timeout)?;
        drop((inheritance, entered));
        if interrupt::is_requested() {
            return Ok(interrupt::reason());
        }
        *failures.get_mut(side) = match output.status {
            None => Some(Reason::timed_out(side.into(), config.timeout)),
            Some(status) => {
                let message = complaint(&output.text).unwrap_or_default();
                first_failure(&SideEnd { message, ..end_of_process(Some(status)) }, side)
            }
        };
    }
    Ok(match (failures.base, failures.head) {
        (Some(reason), Some(_)) => reason.on_both(),
        (Some(reason), None) | (None, Some(reason)) => reason,
        (None, None) => Reason::Fails { side: FailedOn::Both, how: Failure::PassesOnce, intermittent: true },
    })
}

/// Returns the most informative line about a failure: the message of a panic, or else the last line.
fn complaint(output: &str) -> Option<String> {
    let lines = || output.lines().map(str::trim).filter(|line| !line.is_empty());
    let panic = lines().skip_while(|line| !line.contains(" panicked at ")).nth(1);
    panic.or_else(|| lines().next_back()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_lost(start: [f64; 2], test: [f64; 2], expected: bool) {
        let sides = |[base, head]: [f64; 2]| Sides { base, head };
        assert_eq!(is_lost(sides(start), sides(test)), expected);
    }

    #[test]
    fn a_test_is_lost_if_neither_side_takes_longer_than_a_start() {
        check_lost([1e6, 1e6], [1.02e6, 0.99e6], true);
        check_lost([1e6, 1e6], [1.2e6, 1.2e6], false);
        check_lost([1e6, 1e6], [1.02e6, 3e6], false);
        // The work before any test got slower.
        check_lost([1e6, 2e6], [1e6, 2e6], false);
    }

    #[test]
    fn what_a_panic_says_is_found_in_much_output() {
        let check = |output: &str, expected: Option<&str>| assert_eq!(complaint(output).as_deref(), expected);
        let panic =
            "running 1 test\n\nthread 'main' (7) panicked at tests/own.rs:3:5:\n  left is not right\nnote: run with\n";
        check(panic, Some("left is not right"));
        check("error: no such option: --nocapture\n\n", Some("error: no such option: --nocapture"));
        check("\n", None);
    }
}
