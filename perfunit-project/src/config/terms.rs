//! The settings of one test.

use perfunit_model::{AcceptedLoss, Metric, Threshold};
use std::time::Duration;

/// On what terms one test is measured: the user's settings, of which a test can have its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Terms {
    /// Smallest change that counts, as a fraction of base.
    pub threshold: Threshold,
    /// Longest measuring, screening and confirmation each.
    pub per_test_budget: Duration,
    /// Longest life of one measured process.
    pub timeout: Duration,
    /// The metrics that decide.
    pub gates: Vec<Metric>,
    /// Where the threshold is set, if the test has its own.
    pub threshold_from: Option<String>,
    /// Where the metrics are set, if the test has its own.
    pub gates_from: Option<String>,
    /// The loss that is accepted of it.
    pub accepted: Option<AcceptedLoss>,
}
