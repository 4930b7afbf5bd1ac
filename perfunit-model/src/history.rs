//! Several commits in a row: what each changed, by comparison with the one before it that builds.

use super::format::short_commit;
use super::{Change, EffectSize, Metric, Mode, NothingBecause, ReasonKind, Side, TargetId, TestId, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

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
        short_commit(&self.id)
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
    /// Why nothing was selected.
    pub nothing_because: Option<NothingBecause>,
    /// Tests that can have changed, with what was found out. The code of all others is equal, but for those of targets
    /// that are not listed.
    pub tests: Vec<StepTest>,
    /// Targets whose tests one version does not say.
    pub unlisted: BTreeSet<TargetId>,
    /// At most the probability that any test is falsely slower or faster in it.
    pub alpha: f64,
    /// Wall time, in seconds.
    pub seconds: f64,
    /// Model of the processor that it was measured on.
    pub machine: String,
}

/// A test of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepTest {
    pub test: TestId,
    pub verdict: Verdict,
    /// Where it has no verdict or an inconclusive one.
    pub reason: Option<ReasonKind>,
    pub figures: Option<StepFigures>,
    /// The function that is responsible first.
    pub function: Option<String>,
    /// Whose test code was measured on both, if it differs.
    pub test_code: Option<Side>,
    /// What decided the verdict.
    pub metrics: Vec<Metric>,
}

/// What was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepFigures {
    pub change: Change,
    /// Time of one run on base and head, in ns. Of the machine and the hour: only their ratio lasts.
    pub base_ns: f64,
    pub head_ns: f64,
    pub mode: Mode,
    pub effect: EffectSize,
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
    /// The tests of the target could not be listed.
    Unlisted,
}

/// The commits of a range, oldest first, with what each changed.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// The commit that the first one is compared with.
    pub base: Commit,
    pub entries: Vec<Entry>,
    /// Tests that were compared directly over several of the commits, in the order of their heads.
    pub spans: Vec<Span>,
    /// Commits of the range that were not asked for: their steps are not known.
    pub left_out: usize,
    /// How the range was chosen, if the user named none.
    pub note: Option<String>,
    pub interrupted: bool,
}

impl History {
    /// The steps that were compared, with their commits.
    pub fn steps(&self) -> impl Iterator<Item = (&Commit, &Step)> {
        self.entries.iter().filter_map(|entry| Some((&entry.commit, entry.step()?)))
    }

    /// At most the probability that any test is falsely slower or faster in it: the sum over all comparisons (Boole's
    /// inequality).
    pub fn family_wise_error(&self) -> f64 {
        let spans = self.spans.iter().map(|span| &span.step);
        self.steps().map(|(_, step)| step).chain(spans).map(|step| step.alpha).sum()
    }

    /// How many entries a commit has behind it, its own included; 0 for the base.
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
    /// What was asked about.
    pub tests: BTreeSet<TestId>,
    /// What came of it; the code of tests that are not in it is equal.
    pub step: Step,
}

impl Entry {
    /// What came of it, if it was compared.
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
    /// What came of a test; `None` if its code is equal, or if that is not known.
    pub fn of(&self, test: &TestId) -> Option<&StepTest> {
        self.tests.iter().find(|found| found.test == *test)
    }

    /// Whether a test that is not in the step has equal code.
    pub fn says_of(&self, test: &TestId) -> bool {
        !self.unlisted.contains(&test.target)
    }

    /// Tests with this verdict.
    pub fn with(&self, verdict: Verdict) -> impl Iterator<Item = &StepTest> {
        self.tests.iter().filter(move |test| test.verdict == verdict)
    }

    /// Slower and faster tests.
    pub fn moved(&self) -> impl Iterator<Item = &StepTest> {
        self.tests.iter().filter(|test| test.verdict.is_change())
    }
}

/// The releases of a range, each against the one before it.
#[derive(Debug, Clone, PartialEq)]
pub struct Releases {
    /// The oldest first.
    pub releases: Vec<Release>,
    /// How the range was chosen, if the user named none.
    pub note: Option<String>,
    pub interrupted: bool,
}

/// A release, or what came after the last one, against the release before it.
#[derive(Debug, Clone, PartialEq)]
pub struct Release {
    pub base: Commit,
    pub head: Commit,
    /// What came of the direct comparison.
    pub outcome: StepOutcome,
    /// The commits that lead to it, with what is known about them; those that were never looked at are open.
    pub commits: Vec<Entry>,
}

impl Release {
    /// The commits that made a test slower or faster, as far as they were looked at.
    pub fn moved_by<'a>(&'a self, test: &'a TestId) -> impl Iterator<Item = (&'a Commit, &'a StepTest)> {
        let steps = self.commits.iter().filter_map(|entry| Some((&entry.commit, entry.step()?)));
        steps.filter_map(|(commit, step)| Some((commit, step.moved().find(|found| found.test == *test)?)))
    }

    /// Commits that were never looked at.
    pub fn open(&self) -> impl Iterator<Item = &Commit> {
        let open = self.commits.iter().filter(|entry| entry.outcome == StepOutcome::Open);
        open.map(|entry| &entry.commit)
    }
}

impl Releases {
    /// At most the probability that any test is falsely slower or faster between two releases.
    pub fn family_wise_error(&self) -> f64 {
        self.releases.iter().filter_map(|release| release.outcome.step()).map(|step| step.alpha).sum()
    }
}

/// What joining the history of another machine brought.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Joined {
    /// Steps and skipped commits that were not known.
    pub new: usize,
    /// The same in both.
    pub same: usize,
    /// Other figures for the same key: those that were here stay.
    pub contradictions: usize,
    /// Steps and skipped commits under these terms, which can be of use to who asks.
    pub usable: usize,
}

impl Joined {
    /// Counts one.
    pub fn count(&mut self, is_new: bool, is_same: bool) {
        match (is_new, is_same) {
            (true, _) => self.new += 1,
            (false, true) => self.same += 1,
            (false, false) => self.contradictions += 1,
        }
    }
}

/// A test of which a step or a span is slower or faster.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    pub test: TestId,
    /// One for each entry of the history: time in relation to that before the first commit.
    pub points: Vec<Point>,
    /// Direct comparisons over several commits, the oldest first.
    pub anchors: Vec<Anchor>,
}

/// A test's time after a commit, as a multiple of that before the first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub ratio: f64,
    /// The ends of its interval: the sums of the intervals of the comparisons behind it, as logarithms.
    pub low: f64,
    pub high: f64,
    /// The step, if the test is slower or faster by it.
    pub moved: Option<Verdict>,
    /// False where the step was not compared, or the test has no figures in it: the ratio is that of before.
    pub is_known: bool,
    /// Whether it is that of a direct comparison with an earlier commit, and not of the last step.
    pub is_anchored: bool,
}

/// A test that was compared directly over several commits.
#[derive(Debug, Clone, PartialEq)]
pub struct Anchor {
    /// The commit that it was compared with.
    pub since: Commit,
    /// Index of the last commit among the entries.
    pub entry: usize,
    pub verdict: Verdict,
    /// What the direct comparison says.
    pub direct: Change,
    /// What the steps in between say, multiplied.
    pub product: Change,
    /// Whether these steps have figures of all that lies between.
    pub is_complete: bool,
    /// Whether the test's own code differs over these commits: then steps and the direct comparison do other work.
    pub has_other_test_code: bool,
    /// Whether the test is slower or faster in one of them.
    pub has_moved: bool,
}

impl Anchor {
    /// True if the intervals of both do not overlap.
    pub fn differs(&self) -> bool {
        self.direct.low > self.product.high || self.product.low > self.direct.high
    }

    /// True if they differ although the steps have figures of all that lies between, and all do the same work.
    pub fn is_contradiction(&self) -> bool {
        self.is_complete && !self.has_other_test_code && self.differs()
    }

    /// True if the whole is slower or faster, and no single commit is.
    pub fn is_gradual(&self) -> bool {
        !self.has_moved && self.verdict.is_change()
    }
}

impl Course {
    /// The first and the last point, and those that say something new, each with the index of its entry.
    pub fn turns(&self) -> impl Iterator<Item = (usize, &Point)> {
        let last = self.points.len().saturating_sub(1);
        let is_turn = move |(index, point): &(usize, &Point)| {
            *index == 0 || *index == last || !point.continues(&self.points[*index - 1])
        };
        self.points.iter().enumerate().filter(is_turn)
    }

    /// The change from before the first commit to after the last.
    pub fn total(&self) -> Change {
        let last = self.points.last().copied().unwrap_or(Point::START);
        Change { estimate: last.ratio - 1.0, low: last.low - 1.0, high: last.high - 1.0 }
    }
}

impl Point {
    /// Whether it says nothing but what the one before it does.
    fn continues(&self, before: &Self) -> bool {
        let figures = |point: &Self| [point.ratio, point.low, point.high].map(f64::to_bits);
        let is_new = self.moved.is_some() || self.is_anchored || self.is_known != before.is_known;
        !is_new && figures(self) == figures(before)
    }

    /// Before the first commit.
    pub const START: Self = Self { ratio: 1.0, low: 1.0, high: 1.0, moved: None, is_known: true, is_anchored: false };
}
