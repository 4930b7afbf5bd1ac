//! Timed runs of a body: a single call, a batch of calls, and the preparation before it.

use super::seat::Seat;
use crate::clock::{self, Clock};
use crate::gauges;
use crate::left_out::LeftOut;
use crate::page::{Page, RunTime, SideArea, COLD, FEW_BATCHES, FIRST, UNKNOWN_NS};
use crate::probe::Tree;
use crate::sys::Moment;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::Ordering::Relaxed;

/// Runs a body this many times and returns whether every run passed. The caller catches panics.
pub type Body<'a> = &'a dyn Fn(u64) -> bool;

/// Makes the first call, which does work that no later call does, and stores its times. Returns whether it passed.
pub fn first_call(seat: &Seat, body: Body<'_>) -> bool {
    if let Some(gauges) = seat.gauges.get() {
        return gauges.read(seat.area(), FIRST, &mut || call(seat, body));
    }
    let row = seat.tree.filter(|_| is_one_call(seat.page)).map(|tree| Row { tree, at: 0 });
    let timed = || {
        let clock = Clock::start();
        let passed = call(seat, body);
        (passed, clock.stop())
    };
    let (passed, time) = noting_clock_readings(seat.area(), || match row {
        None => timed(),
        Some(row) => row.record(timed),
    });
    seat.area().store_first(time);
    passed
}

/// Runs a first call and records the number of clock readings by the test.
pub fn noting_clock_readings<T>(area: &SideArea, run: impl FnOnce() -> T) -> T {
    let (before, started) = (clock::readings(), Moment::now());
    let result = run();
    area.passed_ns.store(started.elapsed().as_nanos() as u64, Relaxed);
    area.clock_readings.store(clock::readings() - before, Relaxed);
    result
}

/// Returns whether only the first call is measured, because the body is too long for a second one.
pub fn is_one_call(page: &Page) -> bool {
    page.batches.load(Relaxed) == 1
        && page.flags.load(Relaxed) & COLD == 0
        && page.repetitions.load(Relaxed) == 1
        && page.warm.load(Relaxed) == 0
}

/// Row of the tree for the figures of a batch.
pub struct Row {
    pub tree: &'static Tree,
    pub at: usize,
}

impl Row {
    /// Runs a batch with clock readings inside `run`, so that the tree's own work before and after is not timed.
    fn record<T>(&self, run: impl FnOnce() -> T) -> T {
        self.tree.begin_batch();
        let result = run();
        self.tree.end_batch(self.at);
        result
    }
}

/// Runs the untimed runs and a batch, and returns the batch's times. With short batches, processor time includes the
/// untimed runs, because reading it is a system call that must not come between them and the batch.
pub fn warm_batch(seat: &Seat, body: Body<'_>, warm: u64, repetitions: u64) -> Option<RunTime> {
    if has_few_batches(seat) {
        batch(seat, body, warm)?;
        return long_batch(seat, body, repetitions);
    }
    let (cpu_ns, before) = (gauges::process_cpu_ns(), LeftOut::so_far());
    let ns = batch(seat, body, warm).and_then(|_| batch(seat, body, repetitions))?;
    Some(short(ns, before.since().of_cpu(gauges::process_cpu_ns() - cpu_ns)))
}

/// The same as [`warm_batch`] in an instrumented program. The untimed runs are not in the tree.
pub fn recorded_batch(seat: &Seat, body: Body<'_>, warm: u64, repetitions: u64, row: &Row) -> Option<RunTime> {
    if has_few_batches(seat) {
        batch(seat, body, warm)?;
        return row.record(|| long_batch(seat, body, repetitions));
    }
    let (cpu_ns, before) = (gauges::process_cpu_ns(), LeftOut::so_far());
    batch(seat, body, warm)?;
    let ns = row.record(|| batch(seat, body, repetitions))?;
    Some(short(ns, before.since().of_cpu(gauges::process_cpu_ns() - cpu_ns)))
}

/// Returns the times of a batch too short to read how long the core was idle.
pub fn short(ns: u64, cpu_ns: u64) -> RunTime {
    RunTime { ns, cpu_ns, idle_ns: UNKNOWN_NS }
}

/// Returns whether there are so few batches that each counts; false while base calibrates, before batches are planned.
pub fn has_few_batches(seat: &Seat) -> bool {
    (1..FEW_BATCHES).contains(&seat.page.batches.load(Relaxed))
}

/// Runs a batch and returns its times, without disturbance of this thread by other programs.
fn long_batch(seat: &Seat, body: Body<'_>, repetitions: u64) -> Option<RunTime> {
    let clock = Clock::start();
    let passed = (0..repetitions).all(|_| call(seat, body));
    let time = clock.stop();
    passed.then_some(time)
}

/// Runs the body `repetitions` times between two clock readings. Returns the time in ns, or `None` if a run failed.
pub fn batch(seat: &Seat, body: Body<'_>, repetitions: u64) -> Option<u64> {
    if has_few_batches(seat) {
        return long_batch(seat, body, repetitions).map(|time| time.ns);
    }
    if seat.should_panic {
        // Each run ends in a panic that has to be caught.
        let started = Moment::now();
        for _ in 0..repetitions {
            if !call(seat, body) {
                return None;
            }
        }
        return Some(started.elapsed().as_nanos() as u64);
    }
    catch_unwind(AssertUnwindSafe(|| {
        let before = LeftOut::so_far();
        let started = Moment::now();
        let passed = body(repetitions);
        let ns = started.elapsed().as_nanos() as u64;
        count_runs(seat, repetitions);
        passed.then_some(before.since().of_wall(ns))
    }))
    .unwrap_or(None)
}

/// Runs the body once and returns whether it ended as the test demands.
pub fn call(seat: &Seat, body: Body<'_>) -> bool {
    let end = catch_unwind(AssertUnwindSafe(|| body(1)));
    // Counted after the call: a whole function never returns if its body takes over.
    count_runs(seat, 1);
    match end {
        Ok(passed) => passed && !seat.should_panic,
        Err(payload) => {
            // Dropping the payload may panic again.
            std::mem::forget(payload);
            seat.should_panic
        }
    }
}

/// Adds to the number of runs of the body in this process. No other process writes it at the same time.
fn count_runs(seat: &Seat, count: u64) {
    let runs = &seat.area().runs;
    runs.store(runs.load(Relaxed) + count, Relaxed);
}
