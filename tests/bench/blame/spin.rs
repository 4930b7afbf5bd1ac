//! Loops that take a given time on this machine.
//!
//! A round is an atomic addition: nothing of the surrounding code runs beside it, and no processor keeps its memory in a
//! register. Plain loops through memory take a tenth of their time where they are short.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Instant;

/// Rounds of one loop while it is timed, as short as those that are injected; loops that are timed at once, and how often:
/// the quickest counts, which nothing disturbed.
const ROUNDS: u64 = 20;
const LOOPS: u32 = 10_000;
const TRIES: usize = 200;

/// Nanoseconds of one round of the loop that [`statement`] writes.
pub fn ns_a_round() -> f64 {
    let least = (0..TRIES).map(|_| {
        let started = Instant::now();
        for _ in 0..LOOPS {
            let round = AtomicU64::new(0);
            while black_box(&round).fetch_add(1, SeqCst) + 1 < ROUNDS {}
        }
        started.elapsed().as_nanos() as f64 / f64::from(LOOPS) / ROUNDS as f64
    });
    least.fold(f64::INFINITY, f64::min)
}

/// A loop of so many rounds, for the start of a function. Only paths of `core`, for crates without `std`.
pub fn statement(rounds: u64) -> String {
    format!(
        " {{ let round = core::sync::atomic::AtomicU64::new(0); while core::hint::black_box(&round).fetch_add(1, \
         core::sync::atomic::Ordering::SeqCst) + 1 < {rounds} {{}} }}"
    )
}

/// A loop of so many turns, for the start of a function, that no compiler unrolls or leaves out: some cycles each.
pub fn turns(rounds: u32) -> String {
    format!(" {{ let mut left = {rounds}u32; while core::hint::black_box(left) > 0 {{ left -= 1; }} }}")
}
