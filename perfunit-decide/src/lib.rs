//! Statistics over measured pairs: from log ratios to a verdict with its interval.
//!
//! The input is one number per pair of processes, the natural logarithm of head's time over base's. The output is an
//! [`Estimate`] (20 % trimmed mean, Yuen's interval), a [`Decision`] of the sequential [`Rule`], and Cohen's d as an
//! effect size. The interval of few values also spans that of the median. The function [`exact`] judges counted
//! metrics. The classical tests, and the rates of right answers with their intervals, serve only for comparison and
//! calibration.
//!
//! Invariants:
//! - The crate uses no I/O, no clock and no randomness: equal numbers give equal answers.
//! - The pair of processes is the unit of replication. Batches of one process that are passed as pairs make 30 to 40 %
//!   false alarms. Where a unit gives several values, [`Looks`] know it.
//! - Statistics use logarithms, where slower and faster are symmetric; a [`Decision`] contains fractions of base.
//! - An interval is printed or acted upon only if it has paid for the number of looks taken.

mod effect;
mod estimate;
mod exact;
mod extra_work;
mod growth;
mod location;
mod looks;
mod power;
mod proportion;
mod scaling;
mod separation;
mod sequential;
#[cfg(test)]
mod simulation;

pub use effect::{cohens_d, effect_size};
pub use estimate::{Estimate, TRIMMING, spread};
pub use exact::{ExactRule, exact};
pub use extra_work::WorkAt;
pub use growth::{Faster, Growing, growth};
pub use location::{
    Interval, deviation, mean_interval, mean_of_fastest_half, median, median_interval, quantile, trimmed_mean, welch,
};
pub use looks::{FIRST_LOOK, Looks, PairsPerLayout, confirmation_alpha, effort};
pub use proportion::{f1, rate};
pub use scaling::{TimeAt, scaling};
pub use separation::{Calls, SEPARATION};
pub use sequential::{
    Decision, POWER, Rule, Sequential, Step, affordable, conclude, is_hopeless, look, on_fresh_values, rests_on_layout,
};
