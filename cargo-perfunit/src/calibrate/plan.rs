//! What is compared: how many operations, and the threshold that is to find the difference.

use perfunit_model::error::{Error, ExitCode};
use std::time::Duration;

/// Operations of base's tests.
pub const BASE: u32 = 300;
/// Operations of head's tests that are to be found.
pub const CHANGED: [u32; 4] = [301, 303, 315, 450];
/// The threshold of the rule that is to find an effect, as a part of the effect: just below it.
const THRESHOLD_OF_EFFECT: f64 = 0.9;

/// What the user asked for.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// A rough answer: less time for a verdict.
    pub quick: bool,
    /// How long the whole run may take, builds included; overrun by the verdicts that are under way.
    pub budget: Duration,
    /// Longest measuring for a verdict, and again for its confirmation.
    pub verdict_budget: Duration,
    /// Let other rules decide, too.
    pub compare: bool,
    /// Seed of the random shifts.
    pub seed: u64,
}

/// The threshold that is used to look for an effect of this size.
pub fn threshold(operations: u32) -> f64 {
    THRESHOLD_OF_EFFECT * effect(operations)
}

pub fn effect(operations: u32) -> f64 {
    f64::from(operations) / f64::from(BASE) - 1.0
}

/// Ctrl-C before there was anything to report.
pub fn interrupted() -> Error {
    Error::new(ExitCode::Interrupted, "interrupted before anything was measured")
}
