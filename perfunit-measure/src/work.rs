//! Estimates from the batches of a pair: how much slower head is, and whether both sides had the same work. Pure.
//!
//! The n-th batch of base and the n-th batch of head have the same work if random numbers are equal, even if no two
//! batches of a side have. So if batches differ, each is compared with its counterpart.

use super::classify::{per_run, runs};
use super::lockstep::{PairEnd, Shape, SideEnd};
use perfunit_decide as decide;
use perfunit_model::{Between, Side, Sides};
use perfunit_runtime::calibrate::is_like_later;
use perfunit_runtime::page::FEW_BATCHES;
use std::ops::Range;

/// The least distance of the median of a side's batches from their 10 % quantile, as a log ratio, that shows unequal
/// work. Batches with equal work were never seen to be 2 % apart, because disturbances of a machine hit single batches.
const UNEVEN: f64 = 0.03;
/// The least spread of a test's work (a standard deviation, as a log ratio) that counts as different: disturbances alone
/// do not spread most batches that far.
const DIFFERS: f64 = 0.05;
/// The least ratio of the spread within pairs to the spread within sides that shows unrelated work. Unrelated batches
/// have 1.4, equal work nearly 0; 160 batches of each side show that to about 0.1.
const UNRELATED: f64 = 1.0;
/// The least ratio of the spread between processes to the spread expected from their batches that shows different work in
/// each process.
const UNLIKE_ITS_BATCHES: f64 = 4.0;
/// The standard error of a median of normal values, in standard errors of their mean.
const MEDIAN_ERROR: f64 = 1.25;
/// The least number of pairs for a result.
const FEWEST_PAIRS: usize = 8;
/// The least number of batches of a process for a result.
const FEWEST_BATCHES: usize = 4;

/// The most values of a pair of independent calls.
const MOST_VALUES: usize = 4;
/// The fewest values of a pair of independent calls that gives more than one.
const FEW_VALUES: usize = 2;
/// The longest call, in ns, of which a pair gives the most values: with fewer, the first look decides little, and longer
/// calls leave too little time for pairs.
const LONGEST_OF_MANY_NS: f64 = 25e6;

/// The most time that the two readings of the clock around a batch add to it, ns.
const CLOCK_NS: f64 = 50.0;

/// The way to estimate a pair from its batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Comparison {
    /// The fast batches of one side against those of the other: disturbed batches do not count.
    #[default]
    Quantiles,
    /// Each batch against its counterpart.
    Counterparts,
    /// The calls of one side against those of the other: calls that start processes vary independently, so each of them
    /// tells as much as a pair of single calls.
    Calls {
        /// True if first calls take as long as later ones.
        with_first: bool,
    },
}

impl Comparison {
    /// Returns the comparison that the pilot suggests: the pairs' own figures must not choose it.
    pub fn for_pilot(pilot: &PairEnd) -> Self {
        let has_few = (2..FEW_BATCHES as usize).contains(&pilot.sides.base.times.len());
        if has_few && Side::BOTH.into_iter().any(|side| pilot.sides.get(side).readings.starts_processes) {
            let later = |side: &SideEnd| mean_log(side, pilot, false);
            let is_alike = |side: &SideEnd| is_like_later(side.first_ns, later(side).exp());
            return Self::Calls { with_first: Side::BOTH.into_iter().all(|side| is_alike(pilot.sides.get(side))) };
        }
        let uneven = Side::BOTH.into_iter().any(|side| {
            let mut times = pilot.sides.get(side).times.clone();
            times.len() >= FEWEST_BATCHES
                && (decide::quantile(&mut times, 0.5) / decide::quantile(&mut times, 0.1).max(1.0)).ln() > UNEVEN
        });
        if uneven { Self::Counterparts } else { Self::Quantiles }
    }

    /// Returns the estimate of a pair: the log of head's time over base's.
    pub fn log_ratio(self, pair: &PairEnd) -> f64 {
        if self == Self::Counterparts && pair.sides.base.times.len() > 1 {
            return decide::median(&mut log_ratios(pair));
        }
        if let Self::Calls { with_first } = self
            && pair.sides.base.times.len() > 1
        {
            let [base, head] = Side::BOTH.map(|side| mean_log(pair.sides.get(side), pair, with_first));
            return head - base;
        }
        let ns = pair.sides.as_ref().map(|side| per_run(side, pair.shape).max(0.01));
        (ns.head / ns.base).ln()
    }

    /// Returns the number of values that a pair of this many batches gives: a power of two.
    pub fn values(self, batches: u32) -> usize {
        match self {
            Self::Calls { with_first } => {
                let calls = batches as usize + usize::from(with_first && batches > 1);
                [MOST_VALUES, FEW_VALUES].into_iter().find(|count| *count <= calls).unwrap_or(1)
            }
            _ => 1,
        }
    }

    /// Returns the shape of a test's pairs, given the shape of its pilot and the time of the slower side's call in ns: no more
    /// independent calls than make the most values.
    pub fn shape(self, pilot: Shape, call_ns: f64) -> Shape {
        let Self::Calls { with_first } = self else { return pilot };
        let most = MOST_VALUES as u32;
        let calls = if call_ns <= LONGEST_OF_MANY_NS { pilot.batches.max(most) } else { pilot.batches };
        Shape { batches: if calls < most { calls } else { calls - u32::from(with_first) }, ..pilot }
    }

    /// Returns the values of a pair in the order measured: one of all batches, or `count` of groups of counterparts.
    pub fn split(self, pair: &PairEnd, count: usize) -> Vec<Value> {
        let (Self::Calls { with_first }, true) = (self, count > 1) else {
            let log_ns = pair.sides.as_ref().map(|side| per_run(side, pair.shape).max(0.01).ln());
            return vec![Value { log_ratio: self.log_ratio(pair), log_ns }];
        };
        let times = pair.sides.as_ref().map(|side| log_times(side, pair, with_first));
        let value = |calls: Range<usize>| {
            let log_ns = times.as_ref().map(|times| mean(&times[calls.clone()]));
            Value { log_ratio: log_ns.head - log_ns.base, log_ns }
        };
        groups(times.base.len().min(times.head.len()), count).map(value).collect()
    }

    /// Returns the log ratios of `count` groups of counterparts, given a figure of every call of each side; `None` if the
    /// figures are not those of the calls that count and the first one, or if one is zero.
    pub fn split_figures(self, calls: Sides<&[f64]>, batches: u32, count: usize) -> Option<Vec<f64>> {
        let Self::Calls { with_first } = self else { return None };
        let has_all = |calls: &[f64]| calls.len() == batches as usize + 1 && calls.iter().all(|figure| *figure > 0.0);
        if count < 2 || !has_all(calls.base) || !has_all(calls.head) {
            return None;
        }
        let Sides { base, head } = calls.map(|calls| &calls[usize::from(!with_first)..]);
        let sum = |figures: &[f64]| figures.iter().sum::<f64>();
        Some(groups(base.len(), count).map(|of| (sum(&head[of.clone()]) / sum(&base[of])).ln()).collect())
    }
}

/// Returns this many groups of consecutive calls, of about the same size.
fn groups(calls: usize, count: usize) -> impl Iterator<Item = Range<usize>> {
    (0..count).map(move |number| number * calls / count..(number + 1) * calls / count)
}

/// A value of a pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Value {
    /// The logarithm of head's time over base's.
    pub log_ratio: f64,
    /// The logarithms of the times of one run, in ns.
    pub log_ns: Sides<f64>,
}

/// Returns the logarithms of a side's times of one run.
fn log_times(side: &SideEnd, pair: &PairEnd, with_first: bool) -> Vec<f64> {
    let first = with_first.then_some(side.first_ns);
    first.into_iter().chain(runs(side, pair.shape)).map(|time| time.max(1.0).ln()).collect()
}

/// Returns the mean of the logarithms of a side's times of one run.
fn mean_log(side: &SideEnd, pair: &PairEnd, with_first: bool) -> f64 {
    mean(&log_times(side, pair, with_first))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the mean log times of two consecutive batches each. One of the two ran before its counterpart and one behind
/// it, where the processor has just learned the branches of the same work: up to 9 % quicker.
fn blocks(times: &[f64]) -> Vec<f64> {
    let mean = |block: &[f64]| block.iter().map(|time| time.max(1.0).ln()).sum::<f64>() / block.len() as f64;
    times.chunks(2).map(mean).collect()
}

fn log_ratios(pair: &PairEnd) -> Vec<f64> {
    let (base, head) = (blocks(&pair.sides.base.times), blocks(&pair.sides.head.times));
    head.iter().zip(&base).map(|(head, base)| head - base).collect()
}

/// Returns the standard error of a pair's estimate, as its batches suggest. The true error is larger, because the batches
/// share random effects of their process.
pub fn uncertainty(pair: &PairEnd) -> f64 {
    let mut blocks = log_ratios(pair);
    MEDIAN_ERROR * decide::deviation(&mut blocks) / (blocks.len().max(1) as f64).sqrt()
}

/// Returns the effect of reading the clock on a pair's log ratio. The batches of both sides have the same number of runs
/// and include the same clock readings, which are a smaller part of a long batch than of a short one.
pub fn clock_bias(pilot: &PairEnd) -> f64 {
    let part = |side: &SideEnd| {
        let shortest = side.times.iter().copied().fold(f64::INFINITY, f64::min);
        CLOCK_NS / shortest.max(CLOCK_NS)
    };
    (part(&pilot.sides.head) - part(&pilot.sides.base)).abs()
}

/// The spread of the work of a test over many pairs.
#[derive(Debug, Clone, Default)]
pub struct Work {
    /// The log times of blocks, minus the median of their process.
    within_sides: Vec<f64>,
    /// The log ratios of blocks, minus the median of their pair.
    within_pairs: Vec<f64>,
    /// The medians of the pairs.
    pairs: Vec<f64>,
    blocks: usize,
}

impl Work {
    /// Adds a complete pair.
    pub fn add(&mut self, pair: &PairEnd) {
        if pair.sides.base.times.len() < FEWEST_BATCHES || pair.sides.head.times.len() < FEWEST_BATCHES {
            return;
        }
        for side in Side::BOTH {
            self.within_sides.extend(from_median(blocks(&pair.sides.get(side).times)).1);
        }
        let (median, rest) = from_median(log_ratios(pair));
        self.pairs.push(median);
        self.blocks = rest.len();
        self.within_pairs.extend(rest);
    }

    /// Returns where the work of a pair's two processes differs; `None` if it does not, or if the values are too few.
    pub fn differs(&self) -> Option<Between> {
        if self.pairs.len() < FEWEST_PAIRS {
            return None;
        }
        let [sides, pairs, between] =
            [&self.within_sides, &self.within_pairs, &self.pairs].map(|values| decide::deviation(&mut values.clone()));
        // The expected variation of a median of this many blocks.
        let expected = MEDIAN_ERROR * pairs / (self.blocks as f64).sqrt();
        // This check comes first: on a busy machine the batches of a process differ as well.
        if between > DIFFERS && between > UNLIKE_ITS_BATCHES * expected {
            return Some(Between::Processes);
        }
        (sides > DIFFERS && pairs > UNRELATED * sides).then_some(Between::Calls)
    }
}

/// Returns the median, and the distance of each value from it.
fn from_median(values: Vec<f64>) -> (f64, Vec<f64>) {
    let median = decide::median(&mut values.clone());
    (median, values.into_iter().map(|value| value - median).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lockstep::Shape;
    use perfunit_model::Sides;
    use perfunit_runtime::page::state;
    use std::time::Duration;

    fn pair(times: Sides<Vec<f64>>) -> PairEnd {
        let batches = times.base.len() as u32;
        let end = |times| SideEnd { state: state::DONE, first_ns: 1e5, times, ..SideEnd::default() };
        PairEnd {
            sides: Sides { base: end(times.base), head: end(times.head) },
            shape: Shape { repetitions: 1, batches, warm: 1 },
            starter: Side::Base,
            timed_out: None,
            took: Duration::from_millis(10),
        }
    }

    #[test]
    fn calls_are_split_into_groups_of_counterparts() {
        let calls = Comparison::Calls { with_first: true };
        assert_eq!([1, 2, 3, 4, 8].map(|batches| calls.values(batches)), [1, 2, 4, 4, 4]);
        assert_eq!(Comparison::Quantiles.values(8), 1);
        let pair = pair(Sides { base: vec![1e5, 2e5, 3e5, 4e5], head: vec![2e5, 4e5, 6e5, 16e5] });
        let ratios = |comparison: Comparison, count| -> Vec<f64> {
            comparison.split(&pair, count).iter().map(|value| value.log_ratio.exp().round()).collect()
        };
        // The first call, which takes as long on both sides, is in the first group.
        assert_eq!(ratios(Comparison::Calls { with_first: false }, 4), [2.0, 2.0, 2.0, 4.0]);
        assert_eq!(ratios(calls, 4), [1.0, 2.0, 2.0, 3.0]);
        assert_eq!(ratios(calls, 1).len(), 1);
        let figures = |base: &[f64], head: &[f64]| calls.split_figures(Sides { base, head }, 4, 4);
        let split = figures(&[1.0, 1.0, 1.0, 1.0, 3.0], &[1.0, 2.0, 4.0, 8.0, 8.0]).unwrap();
        assert_eq!(split.iter().map(|value| value.exp().round()).collect::<Vec<_>>(), [1.0, 2.0, 4.0, 4.0]);
        assert_eq!(figures(&[1.0; 4], &[1.0; 5]), None);
        assert_eq!(figures(&[0.0; 5], &[1.0; 5]), None);
    }

    /// Returns the time of a batch on a machine where every batch is up to 1 % slower than it could be, one in ten is
    /// interrupted, and sometimes a pair is slow.
    fn disturb(random: &mut fastrand::Rng, work: f64, slow: f64) -> f64 {
        let interrupted = if random.u8(0..10) == 0 { 1.0 + random.f64() } else { 1.0 };
        work * slow * interrupted * (1.0 + 0.01 * random.f64())
    }

    /// Returns twenty pairs with the work `work(pair, side, batch)`.
    fn pairs(seed: u64, work: impl Fn(u64, u64, u64) -> f64) -> Vec<PairEnd> {
        let mut random = fastrand::Rng::with_seed(seed);
        let one = |number| {
            let slow = if random.u8(0..4) == 0 { 1.5 } else { 1.0 };
            let mut side =
                |side| (0..40).map(|batch| disturb(&mut random, 1e5 * work(number, side, batch), slow)).collect();
            pair(Sides { base: side(0), head: side(1) })
        };
        (0..20).map(one).collect()
    }

    /// Returns a number between 1 and 2, the same for the same numbers.
    fn chance(numbers: [u64; 3]) -> f64 {
        let seed = numbers.into_iter().fold(1, |seed: u64, number| seed.wrapping_mul(0x9e37_79b9).wrapping_add(number));
        1.0 + fastrand::Rng::with_seed(seed).f64()
    }

    #[track_caller]
    fn check(work: impl Fn(u64, u64, u64) -> f64, comparison: Comparison, differs: Option<Between>) {
        for seed in 0..20 {
            let pairs = pairs(seed, &work);
            let mut seen = Work::default();
            for pair in &pairs {
                seen.add(pair);
            }
            assert_eq!(seen.differs(), differs, "seed {seed}");
            assert_eq!(Comparison::for_pilot(&pairs[0]), comparison, "seed {seed}");
        }
    }

    #[test]
    fn a_disturbed_machine_is_no_difference_in_work() {
        check(|_, _, _| 1.0, Comparison::Quantiles, None);
        check(|_, side, _| if side == 1 { 1.3 } else { 1.0 }, Comparison::Quantiles, None);
    }

    #[test]
    fn equal_random_numbers_give_counterparts_equal_work() {
        check(|pair, _, batch| chance([pair, 0, batch]), Comparison::Counterparts, None);
        check(|pair, _, _| chance([pair, 0, 0]), Comparison::Quantiles, None);
    }

    #[test]
    fn work_that_differs_all_the_same_is_seen() {
        check(|pair, side, batch| chance([pair, side, batch]), Comparison::Counterparts, Some(Between::Calls));
        check(|pair, side, _| chance([pair, side, 0]), Comparison::Quantiles, Some(Between::Processes));
    }

    #[test]
    fn few_pairs_or_batches_tell_nothing() {
        let mut work = Work::default();
        pairs(1, |pair, side, batch| chance([pair, side, batch])).iter().take(7).for_each(|pair| work.add(pair));
        assert_eq!(work.differs(), None);
        let mut work = Work::default();
        (0..20).for_each(|_| work.add(&pair(Sides { base: vec![1e8], head: vec![3e8] })));
        assert_eq!(work.differs(), None);
    }

    #[test]
    fn counterparts_are_compared_two_by_two() {
        // Head is 10 % slower; the side that runs behind its counterpart is 9 % quicker.
        let work = [1.0, 3.0, 2.0, 5.0, 1.5, 4.0];
        let learned = |behind: usize| if behind == 1 { (-0.09_f64).exp() } else { 1.0 };
        let side = |first: usize, ratio: f64| {
            work.iter().enumerate().map(|(i, work)| 1e5 * work * ratio * learned((i + first) % 2)).collect::<Vec<f64>>()
        };
        let pair = pair(Sides { base: side(0, 1.0), head: side(1, 1.1) });
        assert!((Comparison::Counterparts.log_ratio(&pair) - 1.1_f64.ln()).abs() < 1e-9);
    }

    #[test]
    fn all_calls_count_where_calls_start_processes() {
        let starting = |first_ns: f64| {
            let mut pilot = pair(Sides { base: vec![1e6, 1.1e6], head: vec![2e6, 2.2e6] });
            for side in Side::BOTH {
                pilot.sides.get_mut(side).readings.starts_processes = true;
            }
            pilot.sides.base.first_ns = first_ns;
            pilot.sides.head.first_ns = 2.1e6;
            pilot
        };
        assert_eq!(Comparison::for_pilot(&starting(1.05e6)), Comparison::Calls { with_first: true });
        assert_eq!(Comparison::for_pilot(&starting(1.6e6)), Comparison::Calls { with_first: false });
        let ratio = |with_first| Comparison::Calls { with_first }.log_ratio(&starting(4e6));
        assert!((ratio(false) - 2.0_f64.ln()).abs() < 1e-9);
        let first = (2.1_f64 / 4.0).ln();
        assert!((ratio(true) - (2.0 * 2.0_f64.ln() + first) / 3.0).abs() < 1e-9);
    }

    #[test]
    fn a_first_call_that_counts_saves_a_later_one() {
        let batches = |with_first, batches, call_ns| {
            let comparison = Comparison::Calls { with_first };
            let shape = comparison.shape(Shape { repetitions: 1, batches, warm: 0 }, call_ns);
            (shape.batches, comparison.values(shape.batches))
        };
        assert_eq!(
            [1e6, 4e6, 10e6].map(|ns| batches(true, if ns < 2e6 { 8 } else { 4 }, ns)),
            [(7, 4), (3, 4), (3, 4)]
        );
        assert_eq!([batches(true, 2, 10e6), batches(true, 2, 30e6)], [(3, 4), (2, 2)]);
        assert_eq!(
            [batches(false, 4, 4e6), batches(false, 2, 10e6), batches(false, 2, 30e6)],
            [(4, 4), (4, 4), (2, 2)]
        );
        let many = Shape { repetitions: 1, batches: 20, warm: 1 };
        assert_eq!(Comparison::Quantiles.shape(many, 1e5), many);
    }

    #[test]
    fn a_single_long_call_is_compared_by_itself() {
        let pair = pair(Sides { base: vec![1e8], head: vec![2e8] });
        for comparison in [Comparison::Quantiles, Comparison::Counterparts] {
            assert!((comparison.log_ratio(&pair) - 2.0_f64.ln()).abs() < 1e-9);
        }
    }

    #[test]
    fn reading_the_clock_counts_where_batches_are_of_unequal_length() {
        let bias =
            |base: f64, head: f64| clock_bias(&pair(Sides { base: vec![base; 4], head: vec![head, 2.0 * head] }));
        assert!(bias(100_000.0, 100_000.0).abs() < 1e-12);
        assert!((bias(100_000.0, 25_000.0) - 0.0015).abs() < 1e-9);
        assert!((bias(25_000.0, 100_000.0) - 0.0015).abs() < 1e-9);
        assert!(clock_bias(&pair(Sides { base: Vec::new(), head: Vec::new() })).abs() < 1e-12);
    }
}
