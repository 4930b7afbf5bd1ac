//! Runs of instrumented executables: call trees by probes, profiles by callgrind, and the work of functions by the length
//! of their input. The times of these runs give no verdicts.

use super::bench::{Bench, Config};
use super::call_trees::{CallTrees, ProbeRequest, ProbedRun};
use super::gauge::{CallFiles, CallPlan, Gauge};
use super::lockstep::{PairEnd, Task};
use super::measured_process::Pads;
use super::meter::total;
use super::pair;
use super::pilot::{self, steady};
use super::subject::Subject;
use super::trial::{Settled, Trial};
use super::work_tables::CountedWork;
use perfunit_build::SideBuild;
use perfunit_model::error::{Result, Stop, Tried};
use perfunit_model::{Harness, NotCounted, Side, Sides, Unsteady};
use perfunit_runtime::page::{FIRST, state};
use perfunit_system::interrupt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The number of consecutive pairs that may fail.
const FAILURES_BORNE: usize = 2;

/// Pairs of one test with processes that record call trees.
#[derive(Debug)]
pub struct ProbedPairs<'a> {
    bench: &'a Bench,
    config: &'a Config,
    sides: Sides<&'a SideBuild>,
    subject: Subject<'a>,
    settled: Settled,
    random: fastrand::Rng,
}

impl<'a> ProbedPairs<'a> {
    /// Settles how to measure with the probes of this request switched on.
    pub fn open(
        bench: &'a Bench,
        config: &'a Config,
        sides: Sides<&'a SideBuild>,
        subject: Subject<'a>,
        request: ProbeRequest,
    ) -> Tried<Self, Unsteady> {
        let mut random = fastrand::Rng::with_seed(config.seed);
        bench.settle();
        bench.trees.replace(Some(CallTrees::new(request)?));
        let trial = Trial { bench, config, programs: subject.programs(&sides) };
        let (settled, _) = steady(pilot::settle(&trial, &mut random))?;
        Ok(Self { bench, config, sides, subject, settled, random })
    }

    /// Runs the next pair; `None` after Ctrl-C, at the deadline, or when processes fail repeatedly.
    pub fn pair(&mut self) -> Result<Option<Sides<ProbedRun>>> {
        for _ in 0..=FAILURES_BORNE {
            let late = self.config.deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if late || interrupt::is_requested() {
                return Ok(None);
            }
            let pads = self.settled.draw(&mut self.random);
            let programs = self.subject.programs(&self.sides);
            let end = pair::run(self.bench, &programs, self.settled.task, pads, self.config.timeout)?;
            let trees = self.bench.trees.borrow();
            let runs = trees.as_ref().filter(|_| end.complete()).and_then(|trees| trees.read(end.shape.repetitions));
            if let Some(runs) = runs {
                return Ok(Some(runs));
            }
        }
        Ok(None)
    }
}

impl Drop for ProbedPairs<'_> {
    fn drop(&mut self) {
        self.bench.trees.replace(None);
    }
}

/// The number of later calls of a process: as many as an interval needs.
const CALLS: u64 = 4;
/// Returns the number of all calls of a process.
pub fn calls_per_process(gauge: Gauge) -> u64 {
    calls(gauge).all()
}

/// Returns the calls of a process in callgrind: one more is read where started processes are followed, because the end of the
/// first later call separates the processes that the calls before it started.
fn calls(gauge: Gauge) -> CallPlan {
    gauge.calls(if gauge == Gauge::ProgramGraphs { CALLS + 1 } else { CALLS })
}
/// The least relative difference of one version's calls at which other random numbers may show more.
const EQUAL: f64 = 0.001;

/// The output of callgrind for one call of a test.
#[derive(Debug, Clone, Default)]
pub struct CallProfiles {
    /// Counts of the process that runs the test.
    pub test: String,
    /// Counts of each process that the test started, if these processes were followed.
    pub started: Vec<String>,
}

/// Returns callgrind's output for later calls of a test, as pairs of both sides with equal seeds, equal addresses and
/// the same position in the process. `gauge` determines whether started processes are followed.
pub fn profiles(
    bench: &Bench,
    config: &Config,
    sides: &Sides<&SideBuild>,
    subject: &Subject<'_>,
    gauge: Gauge,
) -> Tried<Vec<Sides<CallProfiles>>, Unsteady> {
    let mut random = fastrand::Rng::with_seed(config.seed);
    let trial = Trial { bench, config, programs: subject.programs(sides) };
    let (settled, _) = steady(pilot::settle(&trial, &mut random))?;
    let mut counterparts: Vec<Sides<CallProfiles>> = Vec::new();
    // Instruction counts do not depend on the core or on its load.
    let _cores = bench.use_all_cores();
    // valgrind takes most of a second to start a process.
    let is_wanted = |calls: &[Sides<CallProfiles>]| {
        calls.is_empty() || (gauge == Gauge::CallGraph && calls.len() == CALLS as usize && vary(calls))
    };
    while is_wanted(&counterparts) {
        let pads = settled.draw(&mut random);
        let Sides { base, head } = match together(&trial, gauge, pads)? {
            Some(both) => both,
            None => Sides { base: one(&trial, Side::Base, gauge, pads)?, head: one(&trial, Side::Head, gauge, pads)? },
        };
        counterparts.extend(base.into_iter().zip(head).map(|(base, head)| Sides { base, head }));
    }
    Ok(counterparts)
}

/// Returns whether calls of one version differ.
fn vary(counterparts: &[Sides<CallProfiles>]) -> bool {
    let of = |side: Side| {
        counterparts.iter().filter_map(move |calls| total(&calls.get(side).test)).map(|count| count as f64)
    };
    Side::BOTH.into_iter().any(|side| {
        let (least, most) =
            of(side).fold((f64::INFINITY, 0.0), |(least, most), count| (count.min(least), count.max(most)));
        most > least * (1.0 + EQUAL)
    })
}

/// Runs both sides at once; `None` if they fail together, for example because both open the same port.
fn together(trial: &Trial<'_>, gauge: Gauge, pads: Pads) -> Tried<Option<Sides<Vec<CallProfiles>>>, Unsteady> {
    if trial.bench.all_cores() < 2 {
        return Ok(None);
    }
    let end = run(trial, Task::MeterBoth(gauge, calls(gauge)), pads)?;
    if !end.complete() {
        return Ok(None);
    }
    let parts = |side: Side, ()| parts(trial.bench, side, gauge);
    Sides::default().try_map(parts).map(Some)
}

fn one(trial: &Trial<'_>, side: Side, gauge: Gauge, pads: Pads) -> Tried<Vec<CallProfiles>, Unsteady> {
    let end = run(trial, Task::Meter(side, gauge, calls(gauge)), pads)?;
    let end = end.sides.get(side);
    if end.state != state::DONE {
        return Err(Stop::Because(Unsteady::FailsInCallgrind { how: end.failure() }));
    }
    parts(trial.bench, side, gauge)
}

fn run(trial: &Trial<'_>, task: Task, pads: Pads) -> Tried<PairEnd, Unsteady> {
    let Trial { bench, config, programs } = trial;
    bench.gauges.clear()?;
    let left = config.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    let limit = left.map_or(config.per_test_budget, |left| left.min(config.per_test_budget));
    let end = pair::run(bench, programs, task, pads, limit)?;
    if interrupt::is_requested() {
        return Err(Stop::Because(Unsteady::Interrupted));
    }
    if end.timed_out.is_some() {
        return Err(Stop::Because(Unsteady::TooLongInCallgrind { seconds: limit.as_secs_f64() }));
    }
    Ok(end)
}

/// Reads callgrind's output for the later calls of a side.
fn parts(bench: &Bench, side: Side, gauge: Gauge) -> Tried<Vec<CallProfiles>, Unsteady> {
    let end = FIRST + 1 + calls(gauge).later as usize;
    let later = (end - CALLS as usize)..end;
    let read = |path: PathBuf| std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let of_call = |CallFiles { test, started }| {
        Ok(CallProfiles { test: read(test)?, started: started.into_iter().map(read).collect::<std::io::Result<_>>()? })
    };
    let files = bench.gauges.files(side, gauge, later);
    let parts: std::io::Result<Vec<CallProfiles>> = files.and_then(|files| files.into_iter().map(of_call).collect());
    parts.map_err(|error| Stop::Because(Unsteady::NoCounts { why: error.to_string() }))
}

/// Returns the work of the functions of both sides in the first call of a test, with equal random numbers. The bench has the
/// tables.
pub fn count_work(
    bench: &Bench,
    config: &Config,
    sides: &Sides<&SideBuild>,
    subject: &Subject<'_>,
    random: &mut fastrand::Rng,
) -> Tried<Sides<Vec<CountedWork>>, NotCounted> {
    if Side::BOTH.iter().any(|side| subject.executables.get(*side).harness == Harness::Own) {
        return Err(Stop::Because(NotCounted::OwnHarness));
    }
    let left = config.deadline.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
    let limit = config.timeout.min(left);
    let pads = Pads::draw(random);
    let end = pair::run(bench, &subject.programs(sides), Task::Growth, pads, limit)?;
    if interrupt::is_requested() || end.timed_out.is_some() {
        return Err(Stop::Because(NotCounted::TimedOut { seconds: limit.as_secs_f64() }));
    }
    for side in Side::BOTH {
        let end = end.sides.get(side);
        if end.state != state::DONE {
            return Err(Stop::Because(NotCounted::Fails { side, how: end.failure() }));
        }
    }
    let tables = bench.tables.borrow();
    Ok(tables.as_ref().map(super::work_tables::WorkTables::read).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_random_numbers_are_tried_where_calls_differ() {
        let profile = |count: u64| CallProfiles { test: format!("0x1 1\ntotals: {count}\n"), started: Vec::new() };
        let calls = |base: u64, head: u64| Sides { base, head }.map(profile);
        assert!(!vary(&[calls(7_000, 9_000), calls(7_001, 9_000)]));
        assert!(vary(&[calls(7_000, 9_000), calls(7_000, 9_100)]));
    }
}
