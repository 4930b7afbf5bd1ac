//! The tests of a run, explained.

use super::{Explanation, Sides, TestId, Unexplained, Verdict, VersionName, Warning};

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
    /// Time of one run on base, ns, and head's change as a fraction of it, where it was measured.
    pub figures: Option<(f64, f64)>,
    /// Why, or why that is not known.
    pub answer: Result<Explanation, Unexplained>,
}
