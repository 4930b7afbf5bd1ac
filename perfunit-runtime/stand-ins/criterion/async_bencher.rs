//! The argument of an asynchronous benchmark, which repeats its body. Starting the executor is part of the time, once
//! per batch.

use crate::async_executor::AsyncExecutor;
use crate::batches::{made, BatchSize};
use crate::measurement::{Measurement, WallTime};
use perfunit_runtime::__private::bench;
use std::cell::RefCell;
use std::future::Future;
use std::hint::black_box;
use std::marker::PhantomData;
use std::time::Duration;

pub struct AsyncBencher<'a, 'b, A: AsyncExecutor, M: Measurement = WallTime> {
    runner: A,
    measurement: PhantomData<(&'a M, &'b M)>,
}

impl<A: AsyncExecutor, M: Measurement> AsyncBencher<'_, '_, A, M> {
    pub(crate) fn new(runner: A) -> Self {
        Self { runner, measurement: PhantomData }
    }

    #[inline(never)]
    pub fn iter<O, R: FnMut() -> F, F: Future<Output = O>>(&mut self, routine: R) {
        let routine = RefCell::new(routine);
        bench::run(&|runs| {
            let routine = &mut *routine.borrow_mut();
            self.runner.block_on(async {
                for _ in 0..runs {
                    black_box(routine().await);
                }
            });
            true
        });
    }

    /// Repeats a routine that returns the time of this many runs itself.
    #[inline(never)]
    pub fn iter_custom<R: FnMut(u64) -> F, F: Future<Output = Duration>>(&mut self, routine: R) {
        let routine = RefCell::new(routine);
        bench::run(&|runs| {
            bench::timed_by_itself(|| self.runner.block_on((routine.borrow_mut())(runs)));
            true
        });
    }

    pub fn iter_with_setup<I, O, S: FnMut() -> I, R: FnMut(I) -> F, F: Future<Output = O>>(
        &mut self,
        setup: S,
        routine: R,
    ) {
        self.iter_batched(setup, routine, BatchSize::PerIteration);
    }

    pub fn iter_with_large_drop<O, R: FnMut() -> F, F: Future<Output = O>>(&mut self, mut routine: R) {
        self.iter_batched(|| (), |()| routine(), BatchSize::SmallInput);
    }

    pub fn iter_with_large_setup<I, O, S: FnMut() -> I, R: FnMut(I) -> F, F: Future<Output = O>>(
        &mut self,
        setup: S,
        routine: R,
    ) {
        self.iter_batched(setup, routine, BatchSize::NumBatches(1));
    }

    #[inline(never)]
    pub fn iter_batched<I, O, S: FnMut() -> I, R: FnMut(I) -> F, F: Future<Output = O>>(
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
                self.runner.block_on(async {
                    for input in black_box(inputs) {
                        outputs.push(routine(input).await);
                    }
                });
                bench::untimed(|| drop(black_box(outputs)));
            });
            true
        });
    }

    #[inline(never)]
    pub fn iter_batched_ref<I, O, S: FnMut() -> I, R: FnMut(&mut I) -> F, F: Future<Output = O>>(
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
                self.runner.block_on(async {
                    for input in &mut inputs {
                        outputs.push(routine(input).await);
                    }
                });
                bench::untimed(|| drop(black_box((inputs, outputs))));
            });
            true
        });
    }
}
