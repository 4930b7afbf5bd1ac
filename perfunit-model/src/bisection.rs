//! Result of a search for the commits that changed a test.

use super::{Change, Commit, Explanation, Skipped, StepTest, TestId, Unexplained, Verdict};
use schemars::JsonSchema;
use serde::Serialize;

/// Direction of the searched changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Direction {
    /// The test got slower from the good end to the bad end.
    Slower,
    /// The test got faster.
    Faster,
}

impl Direction {
    /// Returns the verdict of a test that changed in this direction.
    pub fn verdict(self) -> Verdict {
        match self {
            Direction::Slower => Verdict::Slower,
            Direction::Faster => Verdict::Faster,
        }
    }

    /// Returns the opposite direction.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Direction::Slower => Direction::Faster,
            Direction::Faster => Direction::Slower,
        }
    }

    /// Returns the change, positive if it has this direction.
    pub fn sign(self) -> f64 {
        match self {
            Direction::Slower => 1.0,
            Direction::Faster => -1.0,
        }
    }
}

/// Result of a search for the commits that changed a test.
#[derive(Debug, Clone, PartialEq)]
pub struct Bisection {
    /// The test that was searched.
    pub test: TestId,
    /// The function, if its tests were requested.
    pub function: Option<String>,
    /// Other tests of the function that changed between the ends, with their changes.
    pub others: Vec<(TestId, Change)>,
    pub direction: Direction,
    pub good: Commit,
    pub bad: Commit,
    /// The test's change between the ends.
    pub change: Change,
    /// Number of commits after the good end.
    pub commits: usize,
    /// The steps found, the largest first; at most one, unless all were requested.
    pub steps: Vec<FoundStep>,
    /// Ranges of commits over which the test changed, but no single step was found.
    pub unresolved: Vec<Unresolved>,
    /// Further changes of the test in the range, each shown by a comparison.
    pub further: Further,
    /// The change that remains without the steps, if all were requested.
    pub rest: Option<Change>,
    /// Commits that could not be compared, with the reasons.
    pub skipped: Vec<(Commit, Skipped)>,
}

/// A commit that changed the test.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundStep {
    /// The commit; several if only the last one can be compared.
    pub commits: Vec<Commit>,
    /// The commit before `commits`.
    pub base: Commit,
    /// Changes of the searched test and then of the others.
    pub tests: Vec<FoundTest>,
    /// The diff of the responsible function, if its source changed.
    pub source: Option<SourceChange>,
}

/// A test that changed in a found step.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundTest {
    pub found: StepTest,
    pub explanation: Option<Explanation>,
    pub unexplained: Option<Unexplained>,
}

/// The diff of a function's source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SourceChange {
    /// Path of the file, relative to the repository's root.
    pub file: String,
    /// Line of the function's name in head.
    pub line: usize,
    /// Lines of a unified diff, each with its sign.
    pub diff: Vec<String>,
    /// Number of lines left out after `diff`.
    pub left_out: usize,
}

/// A range of commits over which the test changed, without a single step.
#[derive(Debug, Clone, PartialEq)]
pub struct Unresolved {
    pub commits: Vec<Commit>,
    pub because: Unsearched,
}

/// Reason for an unresolved range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unsearched {
    /// The budget or Ctrl-C ended the search.
    Open,
    /// Comparisons of single commits contradict those of longer ranges: none of them shows the change.
    Lost,
}

/// Further changes that a search has seen, apart from its steps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Further {
    /// True if other commits of the range made the test slower.
    pub slower: bool,
    /// True if other commits of the range made the test faster.
    pub faster: bool,
}
