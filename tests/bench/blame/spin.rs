//! Loops that take a given time on this machine.
//!
//! A round is an atomic addition: surrounding code does not overlap with it, and no processor keeps its memory in a
//! register. Short plain loops through memory take a tenth of their nominal time.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Instant;

/// Rounds of one loop while it is timed, as short as the injected loops; loops per timing; and timings, of which the
/// fastest counts because it was not disturbed.
const ROUNDS: u64 = 20;
const LOOPS: u32 = 10_000;
const TRIES: usize = 200;

/// Measures one round of the loop that [`statement`] writes, in ns.
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

/// Returns a loop of this many rounds for the start of a function. It uses only paths of `core`, for crates without
/// `std`.
pub fn statement(rounds: u64) -> String {
    format!(
        " {{ let round = core::sync::atomic::AtomicU64::new(0); while core::hint::black_box(&round).fetch_add(1, \
         core::sync::atomic::Ordering::SeqCst) + 1 < {rounds} {{}} }}"
    )
}

/// Returns a loop of this many turns, a few cycles each, that the compiler neither unrolls nor removes.
pub fn turns(rounds: u32) -> String {
    format!(" {{ let mut left = {rounds}u32; while core::hint::black_box(left) > 0 {{ left -= 1; }} }}")
}
