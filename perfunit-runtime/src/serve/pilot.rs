//! The turn before the batches: a pilot plans the pair, and both sides warm up.

use super::batch::{batch, Body};
use super::seat::Seat;
use crate::calibrate::{self, calibrate, Noise, Plan};
use crate::left_out::LeftOut;
use crate::page::PILOT;
use std::sync::atomic::Ordering::Relaxed;

/// Factor by which head must be slower for head to plan the pair.
const MUCH_SLOWER: f64 = 20.0;
/// Time of a first call in ns beyond which it need not be repeated to estimate the body's time.
const FIRST_CALL_TELLS_NS: f64 = 50e6;

/// Takes the turn before the batches: base calibrates in a pilot, and both sides warm up.
pub fn prepare(seat: &Seat, body: Body<'_>, first_ns: u64) -> Option<()> {
    let page = seat.page;
    let pilot = page.flags.load(Relaxed) & PILOT != 0;
    if pilot && (seat.side == 0 || much_slower(seat, body, first_ns)?) {
        let plan = plan(seat, body, first_ns)?;
        page.repetitions.store(plan.repetitions, Relaxed);
        page.warm.store(plan.warm, Relaxed);
        page.plan(plan.batches, 0);
        seat.area().prepared_ns.store(plan.shortest_ns.to_bits(), Relaxed);
    } else if page.warm.load(Relaxed) != 0 {
        let ns = batch(seat, body, 1)?;
        seat.area().prepared_ns.store((ns as f64).to_bits(), Relaxed);
    } else if pilot && page.batches.load(Relaxed) > 1 && first_call_tells(first_ns) {
        // This side must also show that the body can be repeated, which it did where its first call does not tell its time.
        batch(seat, body, 1)?;
    }
    Some(())
}

/// Calibrates on base. Where most of a run is untimed, the body counts as if a tenth of the run were timed; otherwise
/// pairs would take too long.
fn plan(seat: &Seat, body: Body<'_>, first_ns: u64) -> Option<Plan> {
    let goal_ns = seat.page.batch_ns.load(Relaxed);
    let starts_processes = seat.area().starts_processes.load(Relaxed) != 0;
    let noise = if starts_processes { Noise::OfCall } else { Noise::OfProcess };
    let mut untimed_ns = 0.0;
    let shortest_ns = calibrate(first_ns, goal_ns, noise, |n| {
        let before = LeftOut::so_far();
        let ns = batch(seat, body, n)?;
        untimed_ns = before.since().wall.max(0) as f64 / n as f64;
        Some(ns)
    })?;
    let weight_ns = shortest_ns.max((shortest_ns + untimed_ns) / 10.0);
    Some(Plan { shortest_ns, ..calibrate::shape(weight_ns, goal_ns, noise) })
}

/// Returns whether base's repetitions would make this side's batches too long for the pilot. Then this side, head,
/// plans the pair for both.
fn much_slower(seat: &Seat, body: Body<'_>, first_ns: u64) -> Option<bool> {
    let repetitions = seat.page.repetitions.load(Relaxed);
    let one_ns = if first_call_tells(first_ns) { first_ns } else { batch(seat, body, 1)? };
    let base_ns = f64::from_bits(seat.page.sides[0].prepared_ns.load(Relaxed));
    let batch_ns = one_ns as f64 * repetitions as f64;
    Some(one_ns as f64 > MUCH_SLOWER * base_ns && batch_ns > MUCH_SLOWER * seat.page.batch_ns.load(Relaxed) as f64)
}

/// Returns whether a first call of this time need not be repeated to estimate the body's time.
fn first_call_tells(first_ns: u64) -> bool {
    first_ns as f64 > FIRST_CALL_TELLS_NS
}
