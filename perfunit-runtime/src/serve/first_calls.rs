//! First calls, any number of them in one process: each runs in a child forked just before the test's body.
//!
//! Thus a body that cannot run twice is measured as often as any other, and so is work that only a first call does. The
//! child reads the clock around the body, writes the figures to the shared page and ends. The parent only waits, so
//! that each child finds the same state. The first child also records the pages that the body needs, and all later
//! children populate them before their clocks start (see [`Pages`]).

use super::batch::{call, has_few_batches, noting_clock_readings, short, Body};
use super::begin::{begin, lock_in};
use super::seat::{leave, Seat};
use crate::calibrate::{self, Noise};
use crate::clock::Clock;
use crate::gauges;
use crate::left_out::LeftOut;
use crate::page::{child, state, RunTime, FORK, PILOT, WHOLE};
use crate::pages::Pages;
use crate::streams::Streams;
use crate::sys::{self, Forked, Moment};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Returns whether the tool requests first calls in children, of the whole function if it was not captured.
pub fn is_asked(seat: &Seat, whole_function: bool) -> bool {
    let flags = seat.page.flags.load(Relaxed);
    flags & FORK != 0 && (flags & WHOLE != 0) == whole_function
}

/// Serves the test with `body` as the call of a child.
pub fn serve(seat: &'static Seat, body: Body<'_>) -> ! {
    begin(seat);
    let area = seat.area();
    if has_other_threads() {
        leave(seat, state::THREADS);
    }
    let mut children = Children { seat, pages: Pages::find(), streams: Streams::find(seat.streams), forked: 0 };
    if seat.page.batches.load(Relaxed) != 1 {
        prepare(seat, &mut children, body);
    }
    seat.end_turn();
    let mut done = 0;
    while seat.wait_turn() {
        let time = children.call(body).unwrap_or_else(|| report_failure(seat));
        area.store_batch(done, time);
        done += 1;
        seat.end_turn();
    }
    leave(seat, state::DONE)
}

/// Takes the turn before the calls that count, because the first child finds colder caches than all others.
fn prepare(seat: &Seat, children: &mut Children<'_>, body: Body<'_>) {
    let first = children.call(body).unwrap_or_else(|| report_failure(seat));
    if seat.page.flags.load(Relaxed) & PILOT != 0 {
        // A call may leave state outside of its process that affects the next call.
        let second = children.call(body).unwrap_or_else(|| report_failure(seat));
        plan(seat, first.ns.min(second.ns));
    }
}

fn report_failure(seat: &Seat) -> ! {
    let is_first = seat.area().state.load(Relaxed) == state::FIRST_CALL;
    leave(seat, if is_first { state::FAILED_FIRST } else { state::FAILED_LATER })
}

/// Plans as many calls as fit the usual time of both sides' batches, given the slower side.
fn plan(seat: &Seat, ns: u64) {
    let page = seat.page;
    let base_ns = f64::from_bits(page.sides[0].prepared_ns.load(Relaxed));
    let slower_ns = base_ns.max(ns as f64);
    seat.area().prepared_ns.store((ns as f64).to_bits(), Relaxed);
    let goal_ns = page.batch_ns.load(Relaxed);
    page.plan(calibrate::shape(slower_ns.max(goal_ns as f64), goal_ns, Noise::OfProcess).batches, 0);
}

/// Returns whether the process has threads that a forked child would lack. The main thread does not count, because it
/// only waits; a thread that the program started before its tests does.
pub fn has_other_threads() -> bool {
    let ours = if sys::is_main_thread() { 1 } else { 2 };
    std::fs::read_dir("/proc/self/task").map_or(true, |tasks| tasks.count() > ours)
}

struct Children<'a> {
    seat: &'a Seat,
    pages: Pages,
    streams: Option<Streams>,
    forked: u64,
}

impl Children<'_> {
    /// Makes the first call in the next child. Returns its times, or `None` if it did not pass.
    fn call(&mut self, body: Body<'_>) -> Option<RunTime> {
        let area = self.seat.area();
        area.child_status.store(child::RUNNING, Relaxed);
        self.forked += 1;
        let id = match sys::fork_process() {
            Forked::Child => self.live(body),
            Forked::Parent(id) => id,
            Forked::Refused => leave(self.seat, state::NO_FORK),
        };
        let status = sys::wait_for(id);
        match area.child_status.load(Acquire) {
            child::PASSED => {
                area.state.store(state::REPEATING, Release);
                return Some(area.first());
            }
            child::FAILED => {}
            _ => area.child_status.store(status, Relaxed),
        }
        None
    }

    /// Runs a child until its end.
    fn live(&self, body: Body<'_>) -> ! {
        sys::die_with_parent();
        if let Some(streams) = &self.streams {
            streams.restart(self.forked);
        }
        self.pages.populate();
        lock_in(self.seat);
        let area = self.seat.area();
        let (passed, time) = noting_clock_readings(area, || time_call(self.seat, body));
        self.pages.note();
        area.store_first(time);
        area.child_status.store(if passed { child::PASSED } else { child::FAILED }, Release);
        sys::exit_now(0)
    }
}

/// Times one call. With few calls each one counts, so disturbance by other programs is measured.
fn time_call(seat: &Seat, body: Body<'_>) -> (bool, RunTime) {
    if has_few_batches(seat) {
        let clock = Clock::start();
        let passed = call(seat, body);
        return (passed, clock.stop());
    }
    let (cpu_ns, before) = (gauges::process_cpu_ns(), LeftOut::so_far());
    let started = Moment::now();
    let passed = call(seat, body);
    let ns = started.elapsed().as_nanos() as u64;
    let cpu_ns = gauges::process_cpu_ns() - cpu_ns;
    let left_out = before.since();
    (passed, short(left_out.of_wall(ns), left_out.of_cpu(cpu_ns)))
}
