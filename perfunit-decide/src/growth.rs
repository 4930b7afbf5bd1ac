//! Detects whether the work of a function grows with another power of its input's length than before.
//!
//! Both versions are compared at the same lengths, so all other influences on the work are the same. A larger constant,
//! a larger factor and a logarithm do not count as another power.

use super::extra_work::{ExtraWork, WorkAt, find_extra_work};
use super::location::Interval;
use super::power::{Sized, exponent, most_grown, power_and_logarithm, powers};
use perfunit_model::Sides;

/// Least ratio of the largest length to the smallest: four octaves.
const SPREAD: f64 = 16.0;
/// Shortest length that counts: one-time work dominates shorter inputs.
const SHORTEST: f64 = 4.0;
/// Steps per octave: lengths within one step count as one.
const STEPS: f64 = 4.0;
/// Fewest steps that allow a fit of a power law with an offset and an error.
const FEWEST_STEPS: usize = 6;
/// Least extra work of head at the largest length, as a part of base's work.
const LEAST_MORE: f64 = 0.1;
/// The same in basic blocks: fewer blocks cannot be a loop.
const LEAST_BLOCKS: f64 = 32.0;

/// Least ratio of head's work to base's at which head as a whole may follow another law.
const LEAST_RATIO: f64 = 1.5;
/// Least difference between the intervals of both exponents in that case.
const LEAST_HEAD: f64 = 0.25;
/// Least exponent of the ratio, and least ratio of the logarithm's sum of squared errors to the power's.
const LEAST_POWER: f64 = 0.5;
const LEAST_WORSE: f64 = 4.0;
/// The exponent of a line, with the rounding error of a sum of steps.
const LINE: f64 = 1.01;

/// Verdict on the work at several lengths.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Growing {
    /// There are too few lengths, or they are too close to each other.
    TooClose,
    /// The work grows as before, or by a constant, a factor or a logarithm more.
    AsBefore,
    /// The work grows with another power.
    Faster(Faster),
    /// Head's share of more work still grows at the largest length, given here, but no law explains it.
    Unclear(WorkAt),
}

/// Evidence that head's work grows with a larger power than base's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Faster {
    pub exponent: Sides<Interval>,
    /// Exponent of head's extra work.
    pub added: Interval,
    /// Work at the largest length.
    pub largest: WorkAt,
}

/// Judges the work at the lengths that both versions have seen.
pub fn growth(seen: &[WorkAt]) -> Growing {
    let mut sorted: Vec<WorkAt> = seen.iter().copied().filter(|at| at.length >= SHORTEST).collect();
    sorted.sort_by(|a, b| a.length.total_cmp(&b.length));
    let (Some(first), Some(largest)) = (sorted.first(), sorted.last()) else { return Growing::TooClose };
    let steps = by_steps(&sorted);
    if largest.length < SPREAD * first.length || steps.len() < FEWEST_STEPS {
        return Growing::TooClose;
    }
    match faster(&steps, *largest) {
        Some(faster) => Growing::Faster(faster),
        None if may_be_faster(&steps, *largest) => Growing::Unclear(*largest),
        None => Growing::AsBefore,
    }
}

/// Returns whether head does so much more work at the largest length, and a larger share of it than at smaller ones, that
/// another power is not excluded.
fn may_be_faster(steps: &[WorkAt], largest: WorkAt) -> bool {
    let more = largest.work.head - largest.work.base;
    let explained = || power_and_logarithm(&values(steps, ratio), LEAST_POWER);
    more >= LEAST_BLOCKS
        && ratio(&largest) >= LEAST_RATIO
        && still_growing(steps, largest)
        && explained().is_some_and(|(power, logarithm)| power < logarithm)
}

fn faster(steps: &[WorkAt], largest: WorkAt) -> Option<Faster> {
    let is_more = |more: f64| more >= LEAST_MORE * largest.work.base && more >= LEAST_BLOCKS;
    if !is_more(largest.work.head - largest.work.base) {
        return None;
    }
    let of_base = values(steps, |at| at.work.base);
    let exponent = Sides { base: exponent(&of_base)?, head: exponent(&values(steps, |at| at.work.head))? };
    let likely = likely(&of_base, exponent.base)?;
    let term = find_extra_work(steps, exponent.base, likely)
        .filter(|term| is_more(term.work) && term.exponent.estimate > likely);
    if let Some(ExtraWork { exponent: added, work }) = term {
        // If lengths explain little of base's work, its exponent is open, but the growth that scatter can hide is still
        // limited.
        if added.estimate > exponent.base.high || work >= most_grown(&of_base, added.estimate)? {
            return Some(Faster { exponent, added, largest });
        }
    }
    let added = is_other_law(steps, largest, exponent).then(|| difference(steps))??;
    Some(Faster { exponent, added, largest })
}

/// Returns whether head's whole work follows another law, even if base's work explains little of it: both may jump
/// where large inputs take another path.
fn is_other_law(steps: &[WorkAt], largest: WorkAt, exponent: Sides<Interval>) -> bool {
    let ratios = values(steps, ratio);
    let is_no_logarithm = || {
        let explained = power_and_logarithm(&ratios, LEAST_POWER);
        explained.is_some_and(|(power, logarithm)| power * LEAST_WORSE < logarithm)
    };
    exponent.head.low >= exponent.base.high + LEAST_HEAD
        && ratio(&largest) >= LEAST_RATIO
        && still_growing(steps, largest)
        && is_no_logarithm()
}

/// Returns the exponent of head's extra work.
fn difference(steps: &[WorkAt]) -> Option<Interval> {
    let more =
        |at: &WorkAt| Sized { length: at.length, value: at.work.head - at.work.base, scale: at.work.head.max(1.0) };
    exponent(&steps.iter().map(more).collect::<Vec<_>>())
}

fn values(steps: &[WorkAt], of: fn(&WorkAt) -> f64) -> Vec<Sized> {
    steps.iter().map(|at| Sized { length: at.length, value: of(at), scale: of(at).max(1.0) }).collect()
}

fn ratio(at: &WorkAt) -> f64 {
    at.work.head / at.work.base.max(1.0)
}

/// Returns whether the ratio of the two still grew over the last two octaves. It does not if large inputs only take
/// another path.
fn still_growing(steps: &[WorkAt], largest: WorkAt) -> bool {
    let (_, smaller) = steps.split_last().unwrap_or((&largest, &[]));
    [2.0_f64, 4.0].iter().all(|apart| {
        let distance = |at: &&WorkAt| (at.length * apart / largest.length).ln().abs();
        let near = smaller.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
        // The lengths may skip whole octaves, so the nearest length may be at another distance.
        near.is_some_and(|near| ratio(&largest) >= ratio(near) * (largest.length / near.length).powf(LEAST_HEAD))
    })
}

/// Returns the largest exponent that base's work is likely to have. Most functions read their input, so linear growth
/// that scatter can hide is likely.
fn likely(of_base: &[Sized], exponent: Interval) -> Option<f64> {
    let last = &of_base[of_base.len().saturating_sub(STEPS as usize)..];
    let work = last.iter().map(|at| at.value).sum::<f64>() / last.len() as f64;
    let mut likely = exponent.estimate;
    for power in powers().filter(|power| *power <= exponent.high.min(LINE)) {
        if power > likely && most_grown(of_base, power)? >= work {
            likely = power;
        }
    }
    Some(likely)
}

/// Returns the means of the work within one step, by length.
fn by_steps(sorted: &[WorkAt]) -> Vec<WorkAt> {
    let step = |at: &WorkAt| (at.length.log2() * STEPS).floor() as u32;
    let mean = |chunk: &[WorkAt], of: fn(&WorkAt) -> f64| chunk.iter().map(of).sum::<f64>() / chunk.len() as f64;
    let steps = sorted.chunk_by(|a, b| step(a) == step(b)).map(|chunk| WorkAt {
        length: mean(chunk, |at| at.length),
        work: Sides { base: mean(chunk, |at| at.work.base), head: mean(chunk, |at| at.work.head) },
    });
    steps.collect()
}

#[cfg(test)]
mod tests;
