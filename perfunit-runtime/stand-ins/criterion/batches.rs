//! Inputs that are made in batches.

/// Number of inputs that are made at a time.
#[derive(Debug, Eq, PartialEq, Copy, Hash, Clone)]
pub enum BatchSize {
    SmallInput,
    LargeInput,
    PerIteration,
    NumBatches(u64),
    NumIterations(u64),
    #[doc(hidden)]
    __NonExhaustive,
}

impl BatchSize {
    /// Returns the number of inputs per batch, as criterion does.
    pub(crate) fn inputs(self, runs: u64) -> u64 {
        match self {
            BatchSize::SmallInput => runs.div_ceil(10),
            BatchSize::LargeInput => runs.div_ceil(1000),
            BatchSize::NumBatches(batches) => runs.div_ceil(batches.max(1)),
            BatchSize::NumIterations(inputs) => inputs,
            BatchSize::PerIteration | BatchSize::__NonExhaustive => 1,
        }
    }
}

pub(crate) fn made<I>(setup: &mut impl FnMut() -> I, some: usize) -> Vec<I> {
    (0..some).map(|_| setup()).collect()
}
