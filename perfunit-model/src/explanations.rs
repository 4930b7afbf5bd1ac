//! Explanations of a run's tests.

use super::{Explanation, Measured, Metric, Sides, TestId, Unexplained, Verdict, VersionName, Warning};

/// Explanations of several tests.
#[derive(Debug)]
pub struct Explanations {
    /// The compared versions.
    pub versions: Sides<VersionName>,
    pub tests: Vec<TestExplained>,
    /// Warnings of the explanation.
    pub warnings: Vec<Warning>,
}

/// A test of the last run with its explanation.
#[derive(Debug)]
pub struct TestExplained {
    pub test: TestId,
    /// The run's verdict.
    pub verdict: Verdict,
    /// The deciding metrics.
    pub gates: Vec<Metric>,
    pub measured: Option<Measured>,
    /// The explanation, or the reason for not having one.
    pub answer: Result<Explanation, Unexplained>,
}
