//! Follows divan's documentation, which hides the returned value from the optimizer.

use divan::black_box;
use workloads::OPERATIONS;

fn main() {
    // Never called, but linked.
    if black_box(false) {
        black_box(workloads::unrelated(black_box(1_u32)));
    }
    divan::main();
}

#[divan::bench]
fn add() -> u64 {
    workloads::add(black_box(OPERATIONS))
}

#[divan::bench]
fn allocate() -> usize {
    workloads::allocate(black_box(OPERATIONS))
}

#[divan::bench]
fn format() -> usize {
    workloads::format(black_box(OPERATIONS))
}

#[divan::bench]
fn print() -> u64 {
    workloads::print(black_box(OPERATIONS))
}

#[divan::bench]
fn hash_and_sort() -> u64 {
    workloads::hash_and_sort(black_box(OPERATIONS))
}
