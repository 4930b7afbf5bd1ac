//! Whether the work of a function grows with another power of its input's length than before.
//!
//! Both versions are compared at the same lengths, so that whatever else decides about the work is the same. A larger
//! constant, a larger factor and a logarithm are no other power.

use super::estimate::Interval;
use super::power::{Sized, exponent, most_grown, power_and_logarithm};
use crate::model::Sides;

/// Lengths of which the largest is so many times the smallest are four octaves apart.
const SPREAD: f64 = 16.0;
/// Shorter inputs are left out: what is done once decides about them.
const SHORTEST: f64 = 4.0;
/// Steps into which each octave is divided: lengths of one step count as one.
const STEPS: f64 = 4.0;
/// Steps that it takes to fit a power law with an offset and an error.
const FEWEST_STEPS: usize = 6;
/// Head's work at the largest length, in base's.
const LEAST_RATIO: f64 = 1.5;
/// The least difference at the largest length, basic blocks: fewer are no loop.
const LEAST_BLOCKS: f64 = 32.0;
/// The least difference between head's exponent and base's.
const LEAST_HEAD: f64 = 0.25;
/// The least difference between the exponent of what was added and base's.
const LEAST_ADDED: f64 = 0.5;
/// What was added, in what base may have of that power unseen.
const UNSEEN: f64 = 4.0;

/// The work of both versions at one length, basic blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorkAt {
    pub length: f64,
    pub work: Sides<f64>,
}

/// What the work at several lengths says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Growing {
    /// Too few lengths, or too close to each other.
    TooClose,
    /// As before, or by a constant, a factor or a logarithm more.
    AsBefore,
    /// With another power.
    Faster(Faster),
}

/// Head grows with a larger power than base.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Faster {
    pub exponent: Sides<Interval>,
    /// At the largest length.
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
    faster(&steps, *largest).map_or(Growing::AsBefore, Growing::Faster)
}

fn faster(steps: &[WorkAt], largest: WorkAt) -> Option<Faster> {
    let Sides { base, head } = largest.work;
    if head < LEAST_RATIO * base || head - base < LEAST_BLOCKS || !still_growing(steps, largest) {
        return None;
    }
    let more = head - base;
    let values = |value: &dyn Fn(&WorkAt) -> f64, scale: &dyn Fn(&WorkAt) -> f64| -> Vec<Sized> {
        steps.iter().map(|at| Sized { length: at.length, value: value(at), scale: scale(at).max(1.0) }).collect()
    };
    let (of_base, of_head) = (|at: &WorkAt| at.work.base, |at: &WorkAt| at.work.head);
    let of_base = values(&of_base, &of_base);
    let base = exponent(&of_base)?;
    let head = exponent(&values(&of_head, &of_head))?;
    let added = exponent(&values(&|at| at.work.head - at.work.base, &of_head))?;
    let ratio = values(&|at| at.work.head / at.work.base.max(1.0), &|at| at.work.head / at.work.base.max(1.0));
    let (power, logarithm) = power_and_logarithm(&ratio, LEAST_ADDED)?;
    let is_apart = added.low > base.high;
    // Where lengths explain little of base's work, its exponent is open, but not how much can have grown.
    let is_most = added.low >= base.estimate + LEAST_HEAD && more >= UNSEEN * most_grown(&of_base, added.estimate)?;
    let is_faster = head.estimate >= base.estimate + LEAST_HEAD
        && added.estimate >= base.estimate + LEAST_ADDED
        && (is_apart || is_most)
        && power < logarithm;
    is_faster.then_some(Faster { exponent: Sides { base, head }, largest })
}

/// Whether the ratio of the two still grew over the last two octaves: where large inputs only take another path it does not.
fn still_growing(steps: &[WorkAt], largest: WorkAt) -> bool {
    let ratio = |at: &WorkAt| at.work.head / at.work.base.max(1.0);
    let (_, smaller) = steps.split_last().unwrap_or((&largest, &[]));
    [2.0_f64, 4.0].iter().all(|apart| {
        let distance = |at: &&WorkAt| (at.length * apart / largest.length).ln().abs();
        let near = smaller.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
        // Lengths may leave out whole octaves, so that the nearest is at another distance.
        near.is_some_and(|near| ratio(&largest) >= ratio(near) * (largest.length / near.length).powf(LEAST_HEAD))
    })
}

/// The means of what is within one step, by length.
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
