//! Loops that take a given time on this machine.

use std::hint::black_box;
use std::time::Instant;

/// Rounds that are timed at once, and how often: the quickest counts, which nothing disturbed.
const ROUNDS: u64 = 100_000;
const TRIES: usize = 200;

/// Nanoseconds of one round of the loop that [`statement`] writes.
pub fn ns_a_round() -> f64 {
    let least = (0..TRIES).map(|_| {
        let started = Instant::now();
        let mut round = 0;
        while round < black_box(ROUNDS) {
            round = black_box(round) + 1;
        }
        started.elapsed().as_nanos() as f64 / ROUNDS as f64
    });
    least.fold(f64::INFINITY, f64::min)
}

/// A loop of so many rounds, for the start of a function. Only paths of `core`, for crates without `std`.
pub fn statement(rounds: u64) -> String {
    format!(" {{ let mut round = 0u64; while round < {rounds} {{ round = core::hint::black_box(round) + 1; }} }}")
}
