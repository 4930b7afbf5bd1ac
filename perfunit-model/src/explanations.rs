//! The tests of a run, explained.

use super::{Explanation, Measured, Metric, Sides, TestId, Unexplained, Verdict, VersionName, Warning};

/// What there is to say.
#[derive(Debug)]
pub struct Explanations {
    /// What was compared.
    pub versions: Sides<VersionName>,
    pub tests: Vec<TestExplained>,
    /// What the user should know.
    pub warnings: Vec<Warning>,
}

/// A test of the last run.
#[derive(Debug)]
pub struct TestExplained {
    pub test: TestId,
    /// What the run found.
    pub verdict: Verdict,
    /// The metrics that decide.
    pub gates: Vec<Metric>,
    pub measured: Option<Measured>,
    /// Why, or why that is not known.
    pub answer: Result<Explanation, Unexplained>,
}
