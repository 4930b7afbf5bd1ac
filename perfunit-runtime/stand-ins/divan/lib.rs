//! Stand-in for the crate `divan` in bench targets. It has the same interface, but cargo-perfunit measures the body of
//! a benchmark. Settings that only affect how divan measures and reports, including threads, are accepted and have no
//! effect.

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
mod alloc;
mod bencher;
pub mod counter;

extern crate perfunit_runtime;

pub use alloc::AllocProfiler;
pub use bencher::Bencher;
pub use perfunit_macros::{divan_bench as bench, divan_bench_group as bench_group};
pub use std::hint::black_box;

use std::time::Duration;

pub mod prelude {
    pub use crate::{bench, bench_group, black_box, black_box_drop, AllocProfiler, Bencher, Divan};
}

/// Runs the benchmarks of the program.
pub fn main() {
    __private::run_all();
}

#[inline]
pub fn black_box_drop<T>(dummy: T) {
    drop(black_box(dummy));
}

#[derive(Default)]
pub struct Divan(());

impl Divan {
    pub fn from_args() -> Self {
        Self::default()
    }

    pub fn main(&self) {
        main();
    }

    pub fn run_benches(&self) {
        main();
    }

    pub fn test_benches(&self) {
        main();
    }
}

/// Setters without effect that return the same object.
macro_rules! without_effect {
    ($($name:ident($($argument:ty),*);)*) => {
        impl Divan {
            $(#[must_use] pub fn $name(self $(, _: $argument)*) -> Self { self })*
        }
    };
}

without_effect! {
    config_with_args();
    color(impl Into<Option<bool>>);
    sample_count(u32);
    sample_size(u32);
    min_time(Duration);
    max_time(Duration);
    skip_ext_time(bool);
    threads(impl IntoIterator<Item = usize>);
    run_ignored();
    counter(impl counter::IntoCounter);
    bytes_count(impl Into<counter::BytesCount>);
    chars_count(impl Into<counter::CharsCount>);
    cycles_count(impl Into<counter::CyclesCount>);
    items_count(impl Into<counter::ItemsCount>);
}
