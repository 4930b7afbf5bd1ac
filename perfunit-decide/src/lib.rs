//! Statistics over measured pairs: from log ratios to a verdict with its interval.
//!
//! Input: one number per pair of processes, the natural logarithm of head's time over base's. Output: an [`Estimate`]
//! (20 % trimmed mean, Yuen's interval), a [`Decision`] of the sequential [`Rule`], whose interval of few values also spans the
//! one of the median, and Cohen's d as an effect size.
//! For what is counted, [`exact`]. Beside it, for comparison and calibration only: the classical tests, and rates of right answers with their
//! intervals.
//!
//! Invariants:
//! - No I/O, no clock, no randomness: equal numbers give equal answers.
//! - The pair of processes is the unit of replication. Handing in batches of one process as if they were pairs makes
//!   30 to 40 % false alarms.
//! - Statistics are done on logarithms, where slower and faster are symmetric; what leaves in a [`Decision`] are
//!   fractions of base.
//! - No interval is printed or acted upon that has not paid for the number of looks taken.

mod added;
mod effect;
mod estimate;
mod exact;
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

pub use added::WorkAt;
pub use effect::{cohens_d, effect_size};
pub use estimate::{Estimate, TRIMMING, spread};
pub use exact::{ExactRule, exact};
pub use growth::{Faster, Growing, growth};
pub use location::{Interval, deviation, mean_interval, mean_of_fastest_half, median, quantile, trimmed_mean, welch};
pub use looks::{BEFORE_LAYOUTS, FIRST_LOOK, Looks, PairsPerLayout, confirmation_alpha, effort};
pub use proportion::{f1, rate};
pub use scaling::{TimeAt, scaling};
pub use separation::{Calls, SEPARATION};
pub use sequential::{
    Decision, Rule, Sequential, Step, affordable, conclude, is_hopeless, look, on_fresh_values, rests_on_layout,
};
