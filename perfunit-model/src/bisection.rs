//! The answer of a search for the commits that changed a test.

use super::{Change, Commit, Explanation, Skipped, StepTest, TestId, Unexplained, Verdict};
use schemars::JsonSchema;
use serde::Serialize;

/// The direction of the changes that are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Direction {
    /// From the good end to the bad one the test got slower.
    Slower,
    /// It got faster.
    Faster,
}

impl Direction {
    /// The verdict of a test that changed this way.
    pub fn verdict(self) -> Verdict {
        match self {
            Direction::Slower => Verdict::Slower,
            Direction::Faster => Verdict::Faster,
        }
    }

    /// The other one.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Direction::Slower => Direction::Faster,
            Direction::Faster => Direction::Slower,
        }
    }

    /// The same change, as a positive number if it has this direction.
    pub fn sign(self) -> f64 {
        match self {
            Direction::Slower => 1.0,
            Direction::Faster => -1.0,
        }
    }
}

/// Where a search for the commits that changed a test ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Bisection {
    /// The test by which it searched.
    pub test: TestId,
    /// The function, if its tests were asked for.
    pub function: Option<String>,
    /// Other tests of the function that changed between the ends, with their changes.
    pub others: Vec<(TestId, Change)>,
    pub direction: Direction,
    pub good: Commit,
    pub bad: Commit,
    /// Of the test, between the ends.
    pub change: Change,
    /// Commits after the good end.
    pub commits: usize,
    /// The steps that were found, the largest first: one at most, unless all were asked for.
    pub steps: Vec<FoundStep>,
    /// Commits over which the test changed, and among which no step was found.
    pub unresolved: Vec<Unresolved>,
    /// Further changes of the test in the range, each shown by a comparison.
    pub further: Further,
    /// What the steps leave of the change, if all were asked for.
    pub rest: Option<Change>,
    /// Commits that could not be compared.
    pub skipped: Vec<(Commit, Skipped)>,
}

/// A commit that changed the test.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundStep {
    /// The commit; several if all but the last cannot be compared.
    pub commits: Vec<Commit>,
    /// The commit before them.
    pub base: Commit,
    /// What they did to the test by which it was searched, and then to the others.
    pub tests: Vec<FoundTest>,
    /// The change in the responsible function, if its source changed.
    pub source: Option<SourceChange>,
}

/// A test in a step that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundTest {
    pub found: StepTest,
    pub explanation: Option<Explanation>,
    pub unexplained: Option<Unexplained>,
}

/// The difference of a function's source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SourceChange {
    /// From the root of the repository.
    pub file: String,
    /// Line of the function's name in head.
    pub line: usize,
    /// Lines of a unified diff, each with its sign.
    pub diff: Vec<String>,
    /// Lines that are left out after these.
    pub left_out: usize,
}

/// Commits over which the test changed, without a step that could be named.
#[derive(Debug, Clone, PartialEq)]
pub struct Unresolved {
    pub commits: Vec<Commit>,
    pub because: Unsearched,
}

/// Why no step was named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unsearched {
    /// The budget or Ctrl-C ended the search.
    Open,
    /// The comparisons of single commits contradict those of more: none of them shows the change.
    Lost,
}

/// Which further changes a search has seen, besides the steps that it names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Further {
    /// Other commits of the range made the test slower.
    pub slower: bool,
    /// Other commits made it faster.
    pub faster: bool,
}
