//! A pair of whole processes: the figure of a side is the time of its process from start to end.
//!
//! Base and head run one after the other, in an order drawn for each pair.

use super::bench::Bench;
use super::kernel;
use super::lockstep::{PairEnd, Shape, SideEnd};
use super::measured_process::{self, Inheritance, Pads, Programs};
use perfunit_model::error::Result;
use perfunit_model::{Side, Sides};
use perfunit_runtime::page::state;
use perfunit_system::interrupt;
use perfunit_system::os;
use perfunit_system::process;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A name that no test has.
const NO_TEST: &str = "perfunit::no::test::of::this::name";
/// The longest wait for a process before Ctrl-C is checked.
const LOOK: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    Test,
    /// A test that does not exist.
    Nothing,
}

/// Runs a process of one side.
pub fn alone(bench: &Bench, programs: &Programs<'_>, side: Side, pads: Pads, limit: Duration) -> Result<PairEnd> {
    let begun = Instant::now();
    bench.clean_temporary()?;
    let end = one(bench, side, &mut command(bench, programs, side, Asked::Test, pads), limit)?;
    process::kill_leftovers();
    let timed_out = (end.status.is_none() && !interrupt::is_requested()).then_some(side);
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
        let end = one(bench, side, &mut command(bench, programs, side, asked, pads), limit)?;
        process::kill_leftovers();
        if end.status.is_none() {
            timed_out = Some(side).filter(|_| !interrupt::is_requested());
            *sides.get_mut(side) = end;
            break;
        }
        *sides.get_mut(side) = end;
    }
    let shape = Shape { repetitions: 1, batches: 0, warm: 0 };
    Ok(PairEnd { sides, shape, starter, timed_out, took: begun.elapsed() })
}

pub fn command(bench: &Bench, programs: &Programs<'_>, side: Side, asked: Asked, pads: Pads) -> Command {
    let executable = programs.executables.get(side);
    let mut command = Command::new(&executable.path);
    command.args(executable.harness.arguments(if asked == Asked::Test { programs.test } else { NO_TEST }));
    command.args(programs.ignored.then_some("--ignored"));
    measured_process::surround(&mut command, bench, programs, side, pads);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Runs one process, from before its start until its end is known.
fn one(bench: &Bench, side: Side, command: &mut Command, limit: Duration) -> Result<SideEnd> {
    process::mark(command)?;
    bench.starts.get(side).clear();
    let _entered = bench.made.as_ref().map(|made| made.enter(side)).transpose()?;
    let inheritance = Inheritance::prepare(bench, &bench.page, None)?;
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
            // The process did not wait any more, but this thread, which reads the clock, may have waited for the core.
            break (took, own_delay.read().saturating_sub(before));
        }
        if left.is_zero() || interrupt::is_requested() {
            drop((visit, inheritance));
            let _ = child.kill();
            let _ = child.wait();
            return Ok(end_of_process(None));
        }
    };
    drop((visit, inheritance));
    // The kernel keeps the data of a process until its status is collected.
    let first_thread = kernel::RunDelay::of(&child.id().to_string());
    let (status, cpu) = process::reap(&child)?;
    let first_ns = subtract_waits(took, cpu, first_thread.by_others(cpu) + late).as_nanos() as f64;
    let programs = bench.starts.get(side).read(1);
    Ok(SideEnd { first_ns, first_cpu_ns: cpu.as_nanos() as f64, programs, ..end_of_process(Some(status)) })
}

/// Returns the time of a process without the time in which it was ready to run and others had the core. Only the first
/// thread counts, because the kernel forgets the waits of other threads. The result is never less than the processor
/// time.
fn subtract_waits(took: Duration, cpu: Duration, waited: Duration) -> Duration {
    took.saturating_sub(waited.min(took.saturating_sub(cpu)))
}

/// Returns the end of a process in the form of one that serves.
pub fn end_of_process(status: Option<ExitStatus>) -> SideEnd {
    let state = match status {
        Some(status) if status.success() => state::DONE,
        Some(status) if status.code().is_some() => state::FAILED_FIRST,
        _ => state::FIRST_CALL,
    };
    SideEnd { state, status, ..SideEnd::default() }
}

#[cfg(test)]
mod tests {
    use super::super::classify::first_failure;
    use super::*;
    use perfunit_model::{FailedOn, Failure, Reason};
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn others_on_the_core_do_not_count_but_computing_does() {
        let check = |took, cpu, waited, expected| {
            let [took, cpu, waited, expected] = [took, cpu, waited, expected].map(Duration::from_millis);
            assert_eq!(subtract_waits(took, cpu, waited), expected);
        };
        check(10, 4, 0, 10);
        check(10, 4, 5, 5);
        check(10, 4, 9, 4);
        // Threads ran on several cores.
        check(10, 15, 3, 10);
    }

    #[test]
    fn an_exit_status_is_a_failure_and_a_signal_a_crash() {
        let end = |status| end_of_process(Some(ExitStatus::from_raw(status)));
        assert!(first_failure(&end(0), Side::Head).is_none());
        let fails = Reason::Fails { side: FailedOn::Head, how: Failure::Exited { code: 101 }, intermittent: false };
        assert_eq!(first_failure(&end(101 << 8), Side::Head), Some(fails));
        let how = Failure::Signal { number: 11, name: Some("SIGSEGV".to_owned()) };
        let crashes = Reason::Crashes { side: FailedOn::Base, how, intermittent: false };
        assert_eq!(first_failure(&end(11), Side::Base), Some(crashes));
    }
}
