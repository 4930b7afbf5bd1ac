//! Repeated calls in this process: batches in lockstep with the other side, or readings of counters.

use super::batch::{call, first_call, is_one_call, recorded_batch, warm_batch, Body, Row};
use super::begin::{begin, lock_in, note_processes, note_threads};
use super::pilot::prepare;
use super::seat::{leave, Seat};
use crate::gauges;
use crate::page::{state, COLD, FIRST, MAX_BATCHES, MAX_READINGS, PILOT};
use crate::probe::Tree;
use crate::readings::Gauges;
use std::sync::atomic::Ordering::{Relaxed, Release};

/// Serves the test. `first` tells whether the first call passed, if it has already happened.
pub fn serve(seat: &'static Seat, body: Body<'_>, first: Option<bool>) -> ! {
    let (page, area) = (seat.page, seat.area());
    begin(seat);
    lock_in(seat);
    let passed = first.unwrap_or_else(|| first_call(seat, body));
    if page.flags.load(Relaxed) & PILOT != 0 {
        note_processes(seat);
        note_threads(area);
    }
    if !passed {
        leave(seat, state::FAILED_FIRST);
    }
    area.state.store(state::REPEATING, Release);
    if let Some(gauges) = seat.gauges.get() {
        read_later_calls(seat, gauges, body);
    }
    if page.flags.load(Relaxed) & COLD == 0 && prepare(seat, body, area.first().ns).is_none() {
        leave(seat, state::FAILED_LATER);
    }
    if let Some(tree) = seat.tree {
        tree.measure_costs();
    }
    seat.end_turn();
    let mut done = 0;
    while seat.wait_turn() {
        // A much slower head replaces these values after base has prepared.
        let (repetitions, warm) = (page.repetitions.load(Relaxed), u64::from(page.warm.load(Relaxed)));
        if done == 0 && is_one_call(page) && !seat.tree.is_some_and(Tree::is_empty) {
            // The first call was the measurement.
            area.store_batch(0, area.first());
        } else {
            let at = done.min(MAX_BATCHES - 1);
            let time = match seat.tree {
                None => warm_batch(seat, body, warm, repetitions),
                Some(tree) => recorded_batch(seat, body, warm, repetitions, &Row { tree, at }),
            };
            let Some(time) = time else { leave(seat, state::FAILED_LATER) };
            area.store_batch(at, time);
        }
        done += 1;
        seat.end_turn();
    }
    leave(seat, state::DONE)
}

/// Takes readings of the calls after the first one and ends the process.
fn read_later_calls(seat: &Seat, gauges: &Gauges, body: Body<'_>) -> ! {
    let wanted = (seat.page.repetitions.load(Relaxed) as usize).min(MAX_READINGS - 1 - FIRST);
    if seat.page.flags.load(Relaxed) & COLD == 0 {
        let settled = (0..seat.page.warm.load(Relaxed)).all(|_| call(seat, body));
        let mut later = FIRST + 1..=FIRST + wanted;
        if !settled || !later.all(|at| gauges.read(seat.area(), at, &mut || call(seat, body))) {
            leave(seat, state::FAILED_LATER);
        }
    }
    // Read here and not in timed processes, where the tool moved the program's pages and all of them are in use.
    seat.area().peak_rss.store(gauges::peak_rss().unwrap_or(0), Relaxed);
    note_processes(seat);
    leave(seat, state::DONE)
}
