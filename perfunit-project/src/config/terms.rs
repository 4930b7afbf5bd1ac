//! The effective settings of one test.

use perfunit_model::{AcceptedLoss, Metric, Threshold};
use std::time::Duration;

/// Settings that apply to the measurement of one test.
#[derive(Debug, Clone, PartialEq)]
pub struct Terms {
    /// Smallest change to report as slower or faster, as a fraction of base.
    pub threshold: Threshold,
    /// Time budget for screening, and again for confirmation.
    pub per_test_budget: Duration,
    /// Timeout for each measured process.
    pub timeout: Duration,
    /// Metrics that decide the verdict.
    pub gates: Vec<Metric>,
    /// Source of the threshold, if the test has its own.
    pub threshold_from: Option<String>,
    /// Source of the metrics, if the test has its own.
    pub gates_from: Option<String>,
    /// Accepted loss of this test.
    pub accepted: Option<AcceptedLoss>,
}
