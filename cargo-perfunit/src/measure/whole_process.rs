//! Pairs of whole processes, for tests that a harness of their own runs (`harness = false`): it is asked for one test, and
//! what its process took from start to end is the figure of a side.
//!
//! Base and head run one after the other, in an order drawn for each pair. Start and harness are in both, so they hide
//! what they are large beside: they are timed by processes that are asked for a test that does not exist.

use super::bench::Bench;
use super::classify::first_failure;
use super::inheritance::Inheritance;
use super::kernel;
use super::lockstep::{PairEnd, Shape, SideEnd, Task};
use super::running::{self, Pads, Programs, describe};
use super::screen::{PROCESS_THRESHOLD, Settled};
use super::trial::Trial;
use super::work::Comparison;
use crate::decide;
use crate::error::{Error, Result};
use crate::model::{Capture, FailedOn, Metric, Metrics, NotMetered, Note, Reason, Side, Sides, TargetId};
use crate::system::interrupt;
use crate::system::os;
use crate::system::process::{self, Streams};
use perfunit_runtime::page::state;
use std::collections::BTreeMap;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A name that no test has.
const NO_TEST: &str = "perfunit::no::test::of::this::name";
/// Pairs that tell what a start takes, or about what a test does.
const PILOTS: usize = 5;
/// Pairs that the first look needs, with some that may be lost.
const NEEDED: f64 = 1.3 * decide::FIRST_LOOK as f64;
/// From this share of a process on its start is worth a note.
const MUCH: f64 = 0.5;
/// Longest wait for a process before Ctrl-C is looked for.
const LOOK: Duration = Duration::from_millis(100);

/// What a process is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    Test,
    /// A test that does not exist.
    Nothing,
}

/// What starting and ending a process takes, ns, by target.
#[derive(Debug, Default)]
pub struct Starts {
    known: BTreeMap<TargetId, Sides<f64>>,
}

/// Runs pilots and settles that the test is measured, or says why not.
pub fn settle(
    trial: &Trial<'_>,
    starts: &mut Starts,
    random: &mut fastrand::Rng,
) -> Result<std::result::Result<Settled, Reason>> {
    let Trial { bench, config, programs } = trial;
    let mut pilot = |asked| pilots(trial, asked, random);
    let target = &programs.executables.head.target;
    if !starts.known.contains_key(target) {
        // Whatever it says to such a name, with whatever exit status, the time is that of saying it.
        let ns = match pilot(Asked::Nothing)? {
            Ok(ns) => ns,
            Err(reason) => return Ok(Err(reason)),
        };
        starts.known.insert(target.clone(), ns);
    }
    let start = starts.known[target];
    let ns = match pilot(Asked::Test)? {
        Ok(ns) => ns,
        Err(Reason::Fails { .. } | Reason::Crashes { .. }) => return why_failed(trial).map(Err),
        Err(reason) => return Ok(Err(reason)),
    };
    let needed = NEEDED * (ns.base + ns.head) / 1e9;
    if needed > config.per_test_budget.as_secs_f64() {
        let seconds = ns.base.max(ns.head) / 1e9;
        return Ok(Err(Reason::TooLong { seconds, needed_seconds: needed.ceil(), ns: Some(ns) }));
    }
    if is_lost(start, ns) {
        return Ok(Err(Reason::LostInStart { ns: ns.base }));
    }
    let share = (start.base / ns.base).min(1.0);
    let note = (share >= MUCH).then_some(Note::MostlyStart { share });
    Ok(Ok(Settled {
        task: Task::Process,
        capture: Capture::Process,
        matched: true,
        notes: note.into_iter().collect(),
        equal_seeds: bench.seeds.are_given(),
        comparison: Comparison::Quantiles,
        clock_bias: 0.0,
        least_change: 0.0,
        ns,
    }))
}

/// Whether nothing of a test is to be seen beside its process's start, on either side. Where the starts themselves differ
/// the processes are compared: what a harness does before its tests is the project's code, too.
fn is_lost(start: Sides<f64>, test: Sides<f64>) -> bool {
    let most = PROCESS_THRESHOLD.ln_1p();
    let alike = |a: f64, b: f64| (a / b).ln() < most;
    alike(test.base, start.base) && alike(test.head, start.head) && alike(start.head, start.base)
}

/// Shortest times of a few pairs, the first of which is not counted; fewer of long ones.
fn pilots(
    trial: &Trial<'_>,
    asked: Asked,
    random: &mut fastrand::Rng,
) -> Result<std::result::Result<Sides<f64>, Reason>> {
    let Trial { bench, config, programs } = trial;
    let mut shortest: Option<Sides<f64>> = None;
    let end = Instant::now() + config.per_test_budget / 10;
    for pair in 0..=PILOTS {
        let pair_end = run(bench, programs, asked, Pads::draw(random), config.timeout)?;
        if interrupt::requested() {
            return Ok(Err(Reason::Interrupted));
        }
        if let Some(side) = pair_end.timed_out {
            return Ok(Err(Reason::TimedOut { side: side.into(), seconds: config.timeout.as_secs_f64() }));
        }
        let failure = Side::BOTH.into_iter().find_map(|side| first_failure(pair_end.sides.get(side), side));
        if let Some(failure) = failure.filter(|_| asked == Asked::Test) {
            return Ok(Err(failure));
        }
        let ns = pair_end.sides.as_ref().map(|side| side.first_ns);
        shortest = match shortest {
            // What comes first finds nothing in the caches.
            Some(before) if pair > 1 => Some(Sides { base: before.base.min(ns.base), head: before.head.min(ns.head) }),
            _ => Some(ns),
        };
        if Instant::now() >= end {
            break;
        }
    }
    shortest.ok_or_else(|| Error::setup("no process was run")).map(Ok)
}

/// Runs a test that failed once more on each side, and listens to what it says.
fn why_failed(trial: &Trial<'_>) -> Result<Reason> {
    let Trial { bench, config, programs } = trial;
    let mut failures = Sides { base: None, head: None };
    for side in Side::BOTH {
        bench.clean_temporary()?;
        let mut command = command(bench, programs, side, Asked::Test, Pads::default());
        let inheritance = Inheritance::prepare(bench, None)?;
        let output = process::output_within(&mut command, Streams::Both, config.timeout)?;
        drop(inheritance);
        if interrupt::requested() {
            return Ok(Reason::Interrupted);
        }
        *failures.get_mut(side) = match output.status {
            None => Some(Reason::TimedOut { side: side.into(), seconds: config.timeout.as_secs_f64() }),
            Some(status) => {
                let said = complaint(&output.text).unwrap_or_else(|| describe(status));
                first_failure(&SideEnd { message: said, ..ended(Some(status)) }, side)
            }
        };
    }
    Ok(match (failures.base, failures.head) {
        (Some(reason), Some(_)) => reason.on_both(),
        (Some(reason), None) | (None, Some(reason)) => reason,
        (None, None) => {
            Reason::Fails { side: FailedOn::Both, detail: "passes once and not again".to_owned(), intermittent: true }
        }
    })
}

/// The line that tells most about a failure: what a panic says, or else the last one.
fn complaint(output: &str) -> Option<String> {
    let lines = || output.lines().map(str::trim).filter(|line| !line.is_empty());
    let panic = lines().skip_while(|line| !line.contains(" panicked at ")).nth(1);
    panic.or_else(|| lines().next_back()).map(str::to_owned)
}

/// Runs a process of one side.
pub fn alone(bench: &Bench, programs: &Programs<'_>, side: Side, pads: Pads, limit: Duration) -> Result<PairEnd> {
    let begun = Instant::now();
    bench.clean_temporary()?;
    let end = one(bench, &mut command(bench, programs, side, Asked::Test, pads), limit)?;
    process::kill_leftovers();
    let timed_out = (end.status.is_none() && !interrupt::requested()).then_some(side);
    let mut sides = Sides::<SideEnd>::default();
    *sides.get_mut(side) = end;
    let shape = Shape { repetitions: 1, batches: 0, warm: 0 };
    Ok(PairEnd { sides, shape, starter: side, timed_out, took: begun.elapsed() })
}

/// Runs a process of each side, one after the other.
pub fn run(bench: &Bench, programs: &Programs<'_>, asked: Asked, pads: Pads, limit: Duration) -> Result<PairEnd> {
    let begun = Instant::now();
    bench.clean_temporary()?;
    let starter = if pads.head_first { Side::Head } else { Side::Base };
    let mut sides = Sides::<SideEnd>::default();
    let mut timed_out = None;
    for side in [starter, starter.other()] {
        let entered = bench.made.as_ref().map(|made| made.enter(side)).transpose()?;
        let end = one(bench, &mut command(bench, programs, side, asked, pads), limit)?;
        drop(entered);
        process::kill_leftovers();
        if end.status.is_none() {
            timed_out = Some(side).filter(|_| !interrupt::requested());
            *sides.get_mut(side) = end;
            break;
        }
        *sides.get_mut(side) = end;
    }
    let shape = Shape { repetitions: 1, batches: 0, warm: 0 };
    Ok(PairEnd { sides, shape, starter, timed_out, took: begun.elapsed() })
}

fn command(bench: &Bench, programs: &Programs<'_>, side: Side, asked: Asked, pads: Pads) -> Command {
    let executable = programs.executables.get(side);
    let mut command = Command::new(&executable.path);
    command.args(executable.harness.arguments(if asked == Asked::Test { programs.test } else { NO_TEST }));
    command.args(programs.ignored.then_some("--ignored"));
    running::surround(&mut command, bench, programs, side, pads);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// One process, from before its start until its end is known.
fn one(bench: &Bench, command: &mut Command, limit: Duration) -> Result<SideEnd> {
    process::mark(command)?;
    let inheritance = Inheritance::prepare(bench, None)?;
    let own_delay = kernel::RunDelay::of("thread-self");
    let visit = bench.visit_core();
    let started = Instant::now();
    let mut child = process::spawn(command)?;
    let descriptor = os::EndOf::child(&child);
    let deadline = started + limit;
    let (took, late) = loop {
        let before = own_delay.read();
        let left = deadline.saturating_duration_since(Instant::now());
        os::EndOf::wait_for_one(descriptor.iter(), left.min(LOOK));
        let took = started.elapsed();
        if os::is_over(&child) {
            // It waited for nobody any more, but we did who look at the clock.
            break (took, own_delay.read().saturating_sub(before));
        }
        if left.is_zero() || interrupt::requested() {
            drop((visit, inheritance));
            let _ = child.kill();
            let _ = child.wait();
            return Ok(ended(None));
        }
    };
    drop((visit, inheritance));
    // As long as nobody has asked for its status the kernel knows it.
    let waited = kernel::RunDelay::of(&child.id().to_string()).read();
    let (status, cpu) = process::reap(&child)?;
    let first_ns = undisturbed(took, cpu, waited + late).as_nanos() as f64;
    Ok(SideEnd { first_ns, first_cpu_ns: cpu.as_nanos() as f64, ..ended(Some(status)) })
}

/// What a process took without the time in which it was ready to run and others had the core. Of its first thread only: that
/// of others the kernel forgets. Never less than it computed.
fn undisturbed(took: Duration, cpu: Duration, waited: Duration) -> Duration {
    took.saturating_sub(waited.min(took.saturating_sub(cpu)))
}

/// The end of a process in the words of one that serves.
fn ended(status: Option<ExitStatus>) -> SideEnd {
    let state = match status {
        Some(status) if status.success() => state::DONE,
        Some(status) if status.code().is_some() => state::FAILED_FIRST,
        _ => state::FIRST_CALL,
    };
    SideEnd { state, status, message: status.map(describe).unwrap_or_default(), ..SideEnd::default() }
}

/// Leaves processor time alone: the rest of what pairs tell is not told of whole processes.
pub fn withhold(metrics: &mut Metrics) {
    for metric in Metric::ALL.into_iter().filter(|metric| !matches!(metric, Metric::Time | Metric::CpuTime)) {
        metrics.insert(metric, Err(NotMetered::WholeProcess));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

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
        // What is done before any test got slower.
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

    #[test]
    fn others_on_the_core_do_not_count_but_computing_does() {
        let check = |took, cpu, waited, expected| {
            let [took, cpu, waited, expected] = [took, cpu, waited, expected].map(Duration::from_millis);
            assert_eq!(undisturbed(took, cpu, waited), expected);
        };
        check(10, 4, 0, 10);
        check(10, 4, 5, 5);
        check(10, 4, 9, 4);
        // Threads on several cores.
        check(10, 15, 3, 10);
    }

    #[test]
    fn an_exit_status_is_a_failure_and_a_signal_a_crash() {
        let end = |status| ended(Some(ExitStatus::from_raw(status)));
        assert!(first_failure(&end(0), Side::Head).is_none());
        let detail = "exit status 101".to_owned();
        let fails = Reason::Fails { side: FailedOn::Head, detail, intermittent: false };
        assert_eq!(first_failure(&end(101 << 8), Side::Head), Some(fails));
        assert!(
            matches!(first_failure(&end(11), Side::Base), Some(Reason::Crashes { detail, .. }) if detail.contains("SEGV"))
        );
    }

    #[test]
    fn of_a_process_only_its_processor_time_is_told() {
        let mut metrics =
            Metrics::from([(Metric::CpuTime, Err(NotMetered::TooLong)), (Metric::Cold, Err(NotMetered::TooLong))]);
        withhold(&mut metrics);
        assert_eq!(metrics.len(), Metric::ALL.len() - 1);
        assert_eq!(metrics[&Metric::CpuTime], Err(NotMetered::TooLong));
        assert_eq!(metrics[&Metric::Cold], Err(NotMetered::WholeProcess));
    }
}
