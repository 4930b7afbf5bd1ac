//! Several commits in a row, each with its changes compared with the previous one that builds.

use super::format::short_commit;
use super::{
    Change, EffectSize, Metric, Mode, NothingBecause, ProgramChange, ReasonKind, Side, TargetId, TestId, Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Commit {
    /// Full commit id.
    pub id: String,
    /// First line of the commit message.
    pub subject: String,
    /// Commit time, in seconds since 1970.
    pub seconds: i64,
    /// Tags that point to the commit.
    pub tags: Vec<String>,
}

impl Commit {
    /// Returns the first digits of the id.
    pub fn short(&self) -> &str {
        short_commit(&self.id)
    }
}

/// A commit of a range and its outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub commit: Commit,
    pub outcome: StepOutcome,
}

/// Outcome of a commit.
#[derive(Debug, Clone, PartialEq)]
pub enum StepOutcome {
    Compared(Step),
    Skipped(Skipped),
    /// The commit was not compared yet, because of the budget or Ctrl-C.
    Open,
}

/// A commit compared with an earlier one.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The base: the previous commit, or the nearest earlier one that builds.
    pub base: String,
    /// Tests found in the targets that the change can reach.
    pub found: usize,
    /// Tests that can have changed.
    pub selected: usize,
    /// The reason if nothing was selected.
    pub nothing_because: Option<NothingBecause>,
    /// Results of the tests that can have changed. The code of all other tests is equal, except in unlisted targets.
    pub tests: Vec<StepTest>,
    /// Typical changes of programs that tests start.
    pub programs: Vec<ProgramChange>,
    /// Targets whose tests could not be listed on one version.
    pub unlisted: BTreeSet<TargetId>,
    /// Upper bound of the probability that any test in the step is falsely called slower or faster.
    pub alpha: f64,
    /// Wall time, in seconds.
    pub seconds: f64,
    /// Processor model of the machine that measured the step.
    pub machine: String,
}

/// A test of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepTest {
    pub test: TestId,
    pub verdict: Verdict,
    /// The reason if the verdict is missing or inconclusive.
    pub reason: Option<ReasonKind>,
    pub figures: Option<StepFigures>,
    /// The first responsible function.
    pub function: Option<String>,
    /// The version with the test code that was measured on both sides, if it differs.
    pub test_code: Option<Side>,
    /// The deciding metrics.
    pub metrics: Vec<Metric>,
}

/// Measured figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepFigures {
    pub change: Change,
    /// Time of one run on base and head, in ns. It depends on the machine and the moment, and only the ratio lasts.
    pub base_ns: f64,
    pub head_ns: f64,
    pub mode: Mode,
    pub effect: EffectSize,
}

/// Reason why a commit was not compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Skipped {
    /// The commit does not build; contains cargo's first error.
    DoesNotBuild { error: String },
    /// No earlier commit of the range builds.
    NothingBefore,
    /// The comparison ended with an error.
    Failed { error: String },
    /// The tests of the target could not be listed.
    Unlisted,
    /// The commit does not have the test.
    NoTest,
}

/// The commits of a range, oldest first, with the changes of each.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// The commit that the first one is compared with.
    pub base: Commit,
    pub entries: Vec<Entry>,
    /// Tests that were compared directly over several commits, in the order of their heads.
    pub spans: Vec<Span>,
    /// Number of commits excluded from the range. Their steps are unknown.
    pub left_out: usize,
    /// A note on how the range was chosen, if the user named none.
    pub note: Option<String>,
    pub source: HistorySource,
    pub interrupted: bool,
}

/// Source of the results in a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistorySource {
    /// Stored results, and new comparisons of commits without one.
    Comparisons,
    /// Only stored results.
    Stored,
}

impl History {
    /// Returns the compared steps with their commits.
    pub fn steps(&self) -> impl Iterator<Item = (&Commit, &Step)> {
        self.entries.iter().filter_map(|entry| Some((&entry.commit, entry.step()?)))
    }

    /// Returns an upper bound of the probability that any test is falsely called slower or faster: the sum over all
    /// comparisons (Boole's inequality).
    pub fn family_wise_error(&self) -> f64 {
        let spans = self.spans.iter().map(|span| &span.step);
        self.steps().map(|(_, step)| step).chain(spans).map(|step| step.alpha).sum()
    }

    /// Returns the number of entries up to and including a commit; 0 for the base.
    pub fn place(&self, commit: &str) -> Option<usize> {
        if self.base.id == commit {
            return Some(0);
        }
        self.entries.iter().position(|entry| entry.commit.id == commit).map(|index| index + 1)
    }
}

/// Tests that were compared directly over several commits.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    pub base: Commit,
    pub head: Commit,
    /// The compared tests.
    pub tests: BTreeSet<TestId>,
    /// The results. The code of tests without one is equal.
    pub step: Step,
}

impl Entry {
    /// Returns the results, if the commit was compared.
    pub fn step(&self) -> Option<&Step> {
        self.outcome.step()
    }
}

impl StepOutcome {
    pub fn step(&self) -> Option<&Step> {
        match self {
            Self::Compared(step) => Some(step),
            Self::Skipped(_) | Self::Open => None,
        }
    }
}

impl Step {
    /// Returns the result of a test; `None` if its code is equal, or if that is unknown.
    pub fn of(&self, test: &TestId) -> Option<&StepTest> {
        self.tests.iter().find(|found| found.test == *test)
    }

    /// Returns true if a test that is not in the step is known to have equal code. One that is new or gone under the same name
    /// in another target may be this test before or after a rename of its package.
    pub fn says_of(&self, test: &TestId) -> bool {
        let is_on_one_side = |found: &&StepTest| matches!(found.reason, Some(ReasonKind::New | ReasonKind::Removed));
        let mut others = self.tests.iter().filter(is_on_one_side);
        !self.unlisted.contains(&test.target) && !others.any(|other| other.test.name == test.name)
    }

    /// Returns the tests with this verdict.
    pub fn with(&self, verdict: Verdict) -> impl Iterator<Item = &StepTest> {
        self.tests.iter().filter(move |test| test.verdict == verdict)
    }

    /// Returns whether a test or a program is slower or faster, or a test has another verdict.
    pub fn has(&self, verdict: Verdict) -> bool {
        let of_program = |program: &ProgramChange| verdict.is_change() && program.verdict == verdict;
        self.with(verdict).next().is_some() || self.programs.iter().any(of_program)
    }

    /// Returns the slower and faster tests.
    pub fn changed_tests(&self) -> impl Iterator<Item = &StepTest> {
        self.tests.iter().filter(|test| test.verdict.is_change())
    }
}

/// The releases of a range, each compared with the previous one.
#[derive(Debug, Clone, PartialEq)]
pub struct Releases {
    /// Releases, the oldest first.
    pub releases: Vec<Release>,
    /// A note on how the range was chosen, if the user named none.
    pub note: Option<String>,
    pub interrupted: bool,
}

/// A release, or the state after the last one, compared with the previous release.
#[derive(Debug, Clone, PartialEq)]
pub struct Release {
    pub base: Commit,
    pub head: Commit,
    /// Outcome of the direct comparison.
    pub outcome: StepOutcome,
    /// The commits in between with their outcomes; commits that were never compared are open.
    pub commits: Vec<Entry>,
}

impl Release {
    /// Returns the commits that made a test slower or faster, as far as they were compared.
    pub fn moved_by<'a>(&'a self, test: &'a TestId) -> impl Iterator<Item = (&'a Commit, &'a StepTest)> {
        let steps = self.commits.iter().filter_map(|entry| Some((&entry.commit, entry.step()?)));
        steps.filter_map(|(commit, step)| Some((commit, step.changed_tests().find(|found| found.test == *test)?)))
    }

    /// Returns the commits that were never compared.
    pub fn open(&self) -> impl Iterator<Item = &Commit> {
        let open = self.commits.iter().filter(|entry| entry.outcome == StepOutcome::Open);
        open.map(|entry| &entry.commit)
    }
}

impl Releases {
    /// Returns an upper bound of the probability that any test is falsely called slower or faster between two releases.
    pub fn family_wise_error(&self) -> f64 {
        self.releases.iter().filter_map(|release| release.outcome.step()).map(|step| step.alpha).sum()
    }
}

/// Result of importing another machine's history.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Joined {
    /// Number of new steps and skipped commits.
    pub new: usize,
    /// Number of results that are the same in both.
    pub same: usize,
    /// Number of results that differ for the same key. The existing ones stay.
    pub contradictions: usize,
    /// Number of steps and skipped commits with the current options.
    pub usable: usize,
}

impl Joined {
    /// Counts one result.
    pub fn count(&mut self, is_new: bool, is_same: bool) {
        match (is_new, is_same) {
            (true, _) => self.new += 1,
            (false, true) => self.same += 1,
            (false, false) => self.contradictions += 1,
        }
    }
}

/// The course of a test with at least one slower or faster step or span.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    pub test: TestId,
    /// One point for each entry of the history: time relative to the time before the first commit.
    pub points: Vec<Point>,
    /// Direct comparisons over several commits, the oldest first.
    pub anchors: Vec<Anchor>,
}

/// Time of a test after a commit, as a multiple of the time before the first commit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub ratio: f64,
    /// Lower end of the interval: the sum of the intervals of the comparisons behind it, as logarithms.
    pub low: f64,
    pub high: f64,
    /// The verdict, if the step made the test slower or faster.
    pub moved: Option<Verdict>,
    /// False if the step was not compared or has no figures for the test; the ratio is then the previous one.
    pub is_known: bool,
    /// True if the point comes from a direct comparison with an earlier commit instead of the last step.
    pub is_anchored: bool,
}

/// A direct comparison of a test over several commits.
#[derive(Debug, Clone, PartialEq)]
pub struct Anchor {
    /// The earlier commit.
    pub since: Commit,
    /// Index of the later commit among the entries.
    pub entry: usize,
    pub verdict: Verdict,
    /// Change in the direct comparison.
    pub direct: Change,
    /// Product of the steps in between.
    pub product: Change,
    /// True if the steps cover everything in between.
    pub is_complete: bool,
    /// True if the test's own code differs between the commits, so that steps and direct comparison measure different
    /// work.
    pub has_other_test_code: bool,
    /// True if the test is slower or faster in one of the steps.
    pub has_moved: bool,
}

impl Anchor {
    /// Returns true if the intervals of both do not overlap.
    pub fn differs(&self) -> bool {
        self.direct.low > self.product.high || self.product.low > self.direct.high
    }

    /// Returns true if both differ although the steps cover everything in between and measure the same work.
    pub fn is_contradiction(&self) -> bool {
        self.is_complete && !self.has_other_test_code && self.differs()
    }

    /// Returns true if the test is slower or faster overall, but not in any single commit.
    pub fn is_gradual(&self) -> bool {
        !self.has_moved && self.verdict.is_change()
    }
}

impl Course {
    /// Returns the first and the last point and all points with new information, each with the index of its entry.
    pub fn turns(&self) -> impl Iterator<Item = (usize, &Point)> {
        let last = self.points.len().saturating_sub(1);
        let is_turn = move |(index, point): &(usize, &Point)| {
            *index == 0 || *index == last || !point.continues(&self.points[*index - 1])
        };
        self.points.iter().enumerate().filter(is_turn)
    }

    /// Returns the change from before the first commit to after the last.
    pub fn total(&self) -> Change {
        let last = self.points.last().copied().unwrap_or(Point::START);
        Change { estimate: last.ratio - 1.0, low: last.low - 1.0, high: last.high - 1.0 }
    }
}

impl Point {
    /// Returns true if the point only repeats the previous one.
    fn continues(&self, before: &Self) -> bool {
        let figures = |point: &Self| [point.ratio, point.low, point.high].map(f64::to_bits);
        let is_new = self.moved.is_some() || self.is_anchored || self.is_known != before.is_known;
        !is_new && figures(self) == figures(before)
    }

    /// The point before the first commit.
    pub const START: Self = Self { ratio: 1.0, low: 1.0, high: 1.0, moved: None, is_known: true, is_anchored: false };
}
