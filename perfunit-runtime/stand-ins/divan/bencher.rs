//! The argument of a benchmark, which repeats its body.

use crate::counter::{count, Counter, IntoCounter};
use perfunit_runtime::__private::bench;
use std::cell::RefCell;
use std::hint::black_box;
use std::marker::PhantomData;
use std::mem::needs_drop;

/// A benchmark; `C` has the function that makes inputs, if there is one.
pub struct Bencher<'a, 'b, C = ()> {
    make: C,
    lifetimes: PhantomData<(&'a (), &'b ())>,
}

pub struct WithInputs<G>(G);

impl<'a, 'b> Bencher<'a, 'b> {
    pub(crate) fn new() -> Self {
        Self { make: (), lifetimes: PhantomData }
    }

    pub fn bench<O, B: Fn() -> O>(self, benched: B) {
        self.bench_local(benched);
    }

    #[inline(never)]
    pub fn bench_local<O, B: FnMut() -> O>(self, mut benched: B) {
        if needs_drop::<O>() {
            return self.with_inputs(|| ()).bench_local_values(|()| benched());
        }
        let benched = RefCell::new(benched);
        bench::run(&|runs| {
            let benched = &mut *benched.borrow_mut();
            for _ in 0..runs {
                black_box(benched());
            }
            true
        });
    }

    pub fn with_inputs<G>(self, gen_input: G) -> Bencher<'a, 'b, WithInputs<G>> {
        Bencher { make: WithInputs(gen_input), lifetimes: PhantomData }
    }
}

impl<C> Bencher<'_, '_, C> {
    #[must_use]
    pub fn counter(self, counter: impl IntoCounter) -> Self {
        count(counter);
        self
    }
}

impl<I, G: FnMut() -> I> Bencher<'_, '_, WithInputs<G>> {
    #[must_use]
    pub fn input_counter<C: IntoCounter, F: Fn(&I) -> C>(mut self, counter: F) -> Self {
        // The first input's count is used for all inputs.
        count(counter(&(self.make.0)()));
        self
    }

    #[must_use]
    pub fn count_inputs_as<C: Counter>(self) -> Self {
        self
    }

    pub fn bench_values<O, B: Fn(I) -> O>(self, benched: B) {
        self.bench_local_values(benched);
    }

    #[inline(never)]
    pub fn bench_local_values<O, B: FnMut(I) -> O>(self, benched: B) {
        let parts = RefCell::new((self.make.0, benched));
        bench::run(&|runs| {
            let (make, benched) = &mut *parts.borrow_mut();
            bench::in_parts(runs, runs.div_ceil(10), |some| {
                let (inputs, mut outputs) = bench::untimed(|| (made(make, some), Vec::with_capacity(some)));
                outputs.extend(black_box(inputs).into_iter().map(|input| benched(input)));
                bench::untimed(|| drop(black_box(outputs)));
            });
            true
        });
    }

    pub fn bench_refs<O, B: Fn(&mut I) -> O>(self, benched: B) {
        self.bench_local_refs(benched);
    }

    #[inline(never)]
    pub fn bench_local_refs<O, B: FnMut(&mut I) -> O>(self, benched: B) {
        let parts = RefCell::new((self.make.0, benched));
        bench::run(&|runs| {
            let (make, benched) = &mut *parts.borrow_mut();
            bench::in_parts(runs, runs.div_ceil(10), |some| {
                let (inputs, mut outputs) = bench::untimed(|| (made(make, some), Vec::with_capacity(some)));
                let mut inputs = black_box(inputs);
                outputs.extend(inputs.iter_mut().map(|input| benched(input)));
                bench::untimed(|| drop(black_box((inputs, outputs))));
            });
            true
        });
    }
}

fn made<I>(make: &mut impl FnMut() -> I, some: usize) -> Vec<I> {
    (0..some).map(|_| make()).collect()
}
