//! The argument of a benchmark, which repeats its body.

use crate::async_bencher::AsyncBencher;
use crate::async_executor::AsyncExecutor;
use crate::batches::{made, BatchSize};
use crate::measurement::{Measurement, WallTime};
use crate::options::Throughput;
use perfunit_runtime::__private::bench;
use std::cell::RefCell;
use std::hint::black_box;
use std::marker::PhantomData;
use std::time::Duration;

/// Runs a benchmark if it is wanted.
pub fn bench<M: Measurement>(id: &str, throughput: Option<&Throughput>, mut f: impl FnMut(&mut Bencher<'_, M>)) {
    if bench::is_wanted(id) {
        if let Some((unit, amount)) = throughput.map(Throughput::of_run) {
            bench::works_through(unit, amount);
        }
        f(&mut Bencher { measurement: PhantomData });
    }
}

pub struct Bencher<'a, M: Measurement = WallTime> {
    measurement: PhantomData<&'a M>,
}

impl<'a, M: Measurement> Bencher<'a, M> {
    pub fn to_async<'b, A: AsyncExecutor>(&'b mut self, runner: A) -> AsyncBencher<'a, 'b, A, M> {
        AsyncBencher::new(runner)
    }

    #[inline(never)]
    pub fn iter<O, R: FnMut() -> O>(&mut self, routine: R) {
        let routine = RefCell::new(routine);
        bench::run(&|runs| {
            let routine = &mut *routine.borrow_mut();
            for _ in 0..runs {
                black_box(routine());
            }
            true
        });
    }

    /// Repeats a routine that returns the time of this many runs itself.
    #[inline(never)]
    pub fn iter_custom<R: FnMut(u64) -> Duration>(&mut self, routine: R) {
        let routine = RefCell::new(routine);
        bench::run(&|runs| {
            bench::timed_by_itself(|| (routine.borrow_mut())(runs));
            true
        });
    }

    #[inline(never)]
    pub fn iter_with_setup<I, O, S: FnMut() -> I, R: FnMut(I) -> O>(&mut self, setup: S, routine: R) {
        self.iter_batched(setup, routine, BatchSize::PerIteration);
    }

    #[inline(never)]
    pub fn iter_with_large_drop<O, R: FnMut() -> O>(&mut self, mut routine: R) {
        self.iter_batched(|| (), |()| routine(), BatchSize::SmallInput);
    }

    #[inline(never)]
    pub fn iter_with_large_setup<I, O, S: FnMut() -> I, R: FnMut(I) -> O>(&mut self, setup: S, routine: R) {
        self.iter_batched(setup, routine, BatchSize::NumBatches(1));
    }

    #[inline(never)]
    pub fn iter_batched<I, O, S: FnMut() -> I, R: FnMut(I) -> O>(&mut self, setup: S, routine: R, size: BatchSize) {
        let parts = RefCell::new((setup, routine));
        bench::run(&|runs| {
            let (setup, routine) = &mut *parts.borrow_mut();
            bench::in_parts(runs, size.inputs(runs), |some| {
                let (inputs, mut outputs) = bench::untimed(|| (made(setup, some), Vec::with_capacity(some)));
                outputs.extend(black_box(inputs).into_iter().map(|input| routine(input)));
                bench::untimed(|| drop(black_box(outputs)));
            });
            true
        });
    }

    #[inline(never)]
    pub fn iter_batched_ref<I, O, S: FnMut() -> I, R: FnMut(&mut I) -> O>(
        &mut self,
        setup: S,
        routine: R,
        size: BatchSize,
    ) {
        let parts = RefCell::new((setup, routine));
        bench::run(&|runs| {
            let (setup, routine) = &mut *parts.borrow_mut();
            bench::in_parts(runs, size.inputs(runs), |some| {
                let (inputs, mut outputs) = bench::untimed(|| (made(setup, some), Vec::with_capacity(some)));
                let mut inputs = black_box(inputs);
                outputs.extend(inputs.iter_mut().map(|input| routine(input)));
                bench::untimed(|| drop(black_box((inputs, outputs))));
            });
            true
        });
    }
}
