//! Follows criterion's book.

use criterion::{criterion_group, criterion_main, Criterion};
use std::hint::black_box;
use workloads::OPERATIONS;

fn benchmarks(criterion: &mut Criterion) {
    // Never called, but linked.
    if black_box(false) {
        black_box(workloads::unrelated(black_box(1_u32)));
    }
    criterion.bench_function("add", |b| b.iter(|| workloads::add(black_box(OPERATIONS))));
    criterion.bench_function("allocate", |b| b.iter(|| workloads::allocate(black_box(OPERATIONS))));
    criterion.bench_function("format", |b| b.iter(|| workloads::format(black_box(OPERATIONS))));
    criterion.bench_function("print", |b| b.iter(|| workloads::print(black_box(OPERATIONS))));
    criterion.bench_function("hash_and_sort", |b| b.iter(|| workloads::hash_and_sort(black_box(OPERATIONS))));
}

criterion_group!(benches, benchmarks);
criterion_main!(benches);
