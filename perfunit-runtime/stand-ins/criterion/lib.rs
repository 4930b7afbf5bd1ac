//! Stand-in for the crate `criterion` in bench targets. It has the same interface, but cargo-perfunit measures the body
//! of a benchmark. Settings that only affect how criterion measures and reports are accepted and have no effect.
//!
//! A target that uses a missing item does not compile, and is then reported.

mod async_bencher;
pub mod async_executor;
mod batches;
mod bencher;
mod group;
mod id;
pub mod measurement;
mod options;
pub mod profiler;

extern crate perfunit_runtime;

pub use async_bencher::AsyncBencher;
pub use batches::BatchSize;
pub use bencher::Bencher;
pub use group::BenchmarkGroup;
pub use id::{BenchmarkId, IntoBenchmarkId};
pub use options::{AxisScale, Baseline, PlotConfiguration, PlottingBackend, SamplingMode, Throughput};
pub use std::hint::black_box;

use measurement::{Measurement, WallTime};
use profiler::Profiler;
use std::marker::PhantomData;
use std::path::Path;
use std::time::Duration;

/// The benchmarks of a program.
pub struct Criterion<M: Measurement = WallTime> {
    measurement: PhantomData<M>,
}

impl Default for Criterion {
    fn default() -> Self {
        Self { measurement: PhantomData }
    }
}

impl<M: Measurement> Criterion<M> {
    /// Begins a group. Its name precedes the names of its benchmarks.
    pub fn benchmark_group<S: Into<String>>(&mut self, group_name: S) -> BenchmarkGroup<'_, M> {
        BenchmarkGroup::new(group_name.into())
    }

    pub fn bench_function<F>(&mut self, id: &str, f: F) -> &mut Self
    where
        F: FnMut(&mut Bencher<'_, M>),
    {
        bencher::bench(id, None, f);
        self
    }

    pub fn bench_with_input<F, I: ?Sized>(&mut self, id: BenchmarkId, input: &I, mut f: F) -> &mut Self
    where
        F: FnMut(&mut Bencher<'_, M>, &I),
    {
        bencher::bench(&id.alone(), None, |bencher: &mut Bencher<'_, M>| f(bencher, input));
        self
    }

    pub fn with_measurement<M2: Measurement>(self, _: M2) -> Criterion<M2> {
        Criterion { measurement: PhantomData }
    }

    pub fn with_profiler<P: Profiler + 'static>(self, _: P) -> Self {
        self
    }

    pub fn final_summary(&self) {}
}

/// Setters without effect that return the same object.
macro_rules! without_effect {
    ($($name:ident($($argument:ty),*);)*) => {
        impl<M: Measurement> Criterion<M> {
            $(pub fn $name(self $(, _: $argument)*) -> Self { self })*
        }
    };
}

without_effect! {
    configure_from_args();
    sample_size(usize);
    warm_up_time(Duration);
    measurement_time(Duration);
    nresamples(usize);
    noise_threshold(f64);
    confidence_level(f64);
    significance_level(f64);
    with_plots();
    without_plots();
    plotting_backend(PlottingBackend);
    save_baseline(String);
    retain_baseline(String, bool);
    with_output_color(bool);
    output_directory(&Path);
    profile_time(Option<Duration>);
}

#[macro_export]
macro_rules! criterion_group {
    (name = $name:ident; config = $config:expr; targets = $($target:path),+ $(,)*) => {
        pub fn $name() {
            let mut criterion: $crate::Criterion<_> = $config.configure_from_args();
            $($target(&mut criterion);)+
        }
    };
    ($name:ident, $($target:path),+ $(,)*) => {
        $crate::criterion_group! {
            name = $name;
            config = $crate::Criterion::default();
            targets = $($target),+
        }
    };
}

#[macro_export]
macro_rules! criterion_main {
    ($($group:path),+ $(,)*) => {
        fn main() {
            $($group();)+
        }
    };
}
