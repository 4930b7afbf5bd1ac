//! Follows tango's documentation.

use std::hint::black_box;
use tango_bench::{benchmark_fn, tango_benchmarks, tango_main, IntoBenchmarks};
use workloads::OPERATIONS;

fn benchmarks() -> impl IntoBenchmarks {
    // Never called, but linked.
    if black_box(false) {
        black_box(workloads::unrelated(black_box(1_u32)));
    }
    [
        benchmark_fn("add", |b| b.iter(|| workloads::add(black_box(OPERATIONS)))),
        benchmark_fn("allocate", |b| b.iter(|| workloads::allocate(black_box(OPERATIONS)))),
        benchmark_fn("format", |b| b.iter(|| workloads::format(black_box(OPERATIONS)))),
        benchmark_fn("print", |b| b.iter(|| workloads::print(black_box(OPERATIONS)))),
        benchmark_fn("hash_and_sort", |b| b.iter(|| workloads::hash_and_sort(black_box(OPERATIONS)))),
    ]
}

tango_benchmarks!(benchmarks());
tango_main!();
