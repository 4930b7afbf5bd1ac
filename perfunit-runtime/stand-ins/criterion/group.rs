//! Benchmarks with a common name.

use crate::bencher::{self, Bencher};
use crate::id::IntoBenchmarkId;
use crate::measurement::{Measurement, WallTime};
use crate::options::{PlotConfiguration, SamplingMode, Throughput};
use std::marker::PhantomData;
use std::time::Duration;

pub struct BenchmarkGroup<'a, M: Measurement = WallTime> {
    name: String,
    throughput: Option<Throughput>,
    measurement: PhantomData<&'a M>,
}

impl<'a, M: Measurement> BenchmarkGroup<'a, M> {
    pub(crate) fn new(name: String) -> Self {
        Self { name, throughput: None, measurement: PhantomData }
    }

    pub fn bench_function<ID: IntoBenchmarkId, F>(&mut self, id: ID, f: F) -> &mut Self
    where
        F: FnMut(&mut Bencher<'_, M>),
    {
        bencher::bench(&id.into_benchmark_id().in_group(&self.name), self.throughput.as_ref(), f);
        self
    }

    /// Sets the throughput of the following benchmarks.
    pub fn throughput(&mut self, throughput: Throughput) -> &mut Self {
        self.throughput = Some(throughput);
        self
    }

    pub fn bench_with_input<ID: IntoBenchmarkId, F, I: ?Sized>(&mut self, id: ID, input: &I, mut f: F) -> &mut Self
    where
        F: FnMut(&mut Bencher<'_, M>, &I),
    {
        self.bench_function(id, |bencher: &mut Bencher<'_, M>| f(bencher, input))
    }

    pub fn finish(self) {}
}

/// Setters without effect that return the group.
macro_rules! without_effect {
    ($($name:ident($argument:ty);)*) => {
        impl<M: Measurement> BenchmarkGroup<'_, M> {
            $(pub fn $name(&mut self, _: $argument) -> &mut Self { self })*
        }
    };
}

without_effect! {
    sample_size(usize);
    warm_up_time(Duration);
    measurement_time(Duration);
    nresamples(usize);
    noise_threshold(f64);
    confidence_level(f64);
    significance_level(f64);
    plot_config(PlotConfiguration);
    sampling_mode(SamplingMode);
}
