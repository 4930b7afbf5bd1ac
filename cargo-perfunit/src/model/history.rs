//! Several commits in a row: what each changed, by comparison with the one before it that builds.

use super::{Change, Mode, TestId, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A commit, as people know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Commit {
    /// In full.
    pub id: String,
    /// First line of the message.
    pub subject: String,
    /// When it was committed, in seconds since 1970.
    pub seconds: i64,
    /// Tags that point to it.
    pub tags: Vec<String>,
}

impl Commit {
    /// The first digits of its id.
    pub fn short(&self) -> &str {
        self.id.get(..7).unwrap_or(&self.id)
    }
}

/// A commit of a range, with what is known about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub commit: Commit,
    pub outcome: StepOutcome,
}

/// What came of a commit.
#[derive(Debug, Clone, PartialEq)]
pub enum StepOutcome {
    Compared(Step),
    Skipped(Skipped),
    /// Not looked at: the budget was used up, or Ctrl-C came first.
    Open,
}

/// A commit against an earlier one.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The commit compared against: the one before, or where that does not build the nearest one that does.
    pub base: String,
    /// Tests found in the targets that the change can reach.
    pub found: usize,
    /// Tests that can have changed.
    pub selected: usize,
    /// Why nothing was selected, in words.
    pub nothing_because: Option<String>,
    /// Tests that can have changed, with what was found out. The code of all others is equal.
    pub tests: Vec<StepTest>,
    /// Probability that any of its verdicts is false.
    pub alpha: f64,
    /// Wall time, in seconds.
    pub seconds: f64,
}

/// A test of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepTest {
    pub test: TestId,
    pub verdict: Verdict,
    /// The kind of [`Reason`](super::Reason), where it has no verdict or an inconclusive one.
    pub reason: Option<String>,
    pub figures: Option<StepFigures>,
    /// The function that is responsible first.
    pub function: Option<String>,
}

/// What was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepFigures {
    pub change: Change,
    /// Time of one run on base and head, in ns. Of the machine and the hour: only their ratio lasts.
    pub base_ns: f64,
    pub head_ns: f64,
    pub mode: Mode,
}

/// Why a commit was not compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Skipped {
    /// It does not build; cargo's first error.
    DoesNotBuild { error: String },
    /// No commit of the range before it builds.
    NothingBefore,
    /// The comparison ended with an error.
    Failed { error: String },
}

/// The commits of a range, oldest first, with what each changed.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// The commit that the first one is compared with.
    pub base: Commit,
    pub entries: Vec<Entry>,
    /// How the range was chosen, if the user named none.
    pub note: Option<String>,
    pub interrupted: bool,
}

impl History {
    /// The steps that were compared, with their commits.
    pub fn steps(&self) -> impl Iterator<Item = (&Commit, &Step)> {
        self.entries.iter().filter_map(|entry| match &entry.outcome {
            StepOutcome::Compared(step) => Some((&entry.commit, step)),
            StepOutcome::Skipped(_) | StepOutcome::Open => None,
        })
    }

    /// At most the probability that any verdict is false: the sum over all steps (Boole's inequality).
    pub fn family_wise_error(&self) -> f64 {
        self.steps().map(|(_, step)| step.alpha).sum()
    }
}

impl Step {
    /// Tests with this verdict.
    pub fn with(&self, verdict: Verdict) -> impl Iterator<Item = &StepTest> {
        self.tests.iter().filter(move |test| test.verdict == verdict)
    }

    /// Slower and faster tests.
    pub fn moved(&self) -> impl Iterator<Item = &StepTest> {
        self.tests.iter().filter(|test| matches!(test.verdict, Verdict::Slower | Verdict::Faster))
    }
}

/// A test of which at least one step is slower or faster.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    pub test: TestId,
    /// One for each entry of the history: time in relation to that before the first commit.
    pub points: Vec<Point>,
}

/// A test's time after a commit, as a multiple of that before the first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub ratio: f64,
    /// The ends of its interval: the sums of the steps' intervals, as logarithms.
    pub low: f64,
    pub high: f64,
    /// The step, if the test is slower or faster by it.
    pub moved: Option<Verdict>,
    /// False where the step was not compared, or the test has no figures in it: the ratio is that of before.
    pub is_known: bool,
}

impl Course {
    /// The change from before the first commit to after the last.
    pub fn total(&self) -> Change {
        let last = self.points.last().copied().unwrap_or(Point::START);
        Change { estimate: last.ratio - 1.0, low: last.low - 1.0, high: last.high - 1.0 }
    }
}

impl Point {
    /// Before the first commit.
    pub const START: Self = Self { ratio: 1.0, low: 1.0, high: 1.0, moved: None, is_known: true };
}
