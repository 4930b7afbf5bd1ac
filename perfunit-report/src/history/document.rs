//! Histories, searches and releases as JSON documents, described in `docs/json.md`.

use super::log::skipped;
use crate::explanations;
use crate::wire::{Interval, SCHEMA_VERSION, Test, finite, pretty};
use perfunit_model as model;
use perfunit_model::{
    Bisection, Course, EffectClass, History, Mode, Point, ReasonKind, Releases, Side, Skipped, StepOutcome, StepTest,
    Verdict,
};
use schemars::JsonSchema;
use serde::Serialize;

/// The document of `log`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LogDocument {
    /// Version of this format.
    schema_version: u32,
    /// The commit that the first one is compared with.
    base: model::Commit,
    /// Oldest first.
    commits: Vec<Entry>,
    /// Tests that are slower or faster in at least one step or over several, the largest change first.
    courses: Vec<CourseOf>,
    /// Commits of the range that were not asked for, by `--paths` or `--merges`.
    left_out: usize,
    /// At most the probability that any test is falsely called slower or faster.
    family_wise_error: f64,
    /// Whether commits or direct comparisons are open.
    interrupted: bool,
}

/// A commit, and what came of it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct Entry {
    #[serde(flatten)]
    commit: model::Commit,
    #[serde(flatten)]
    outcome: Outcome,
}

/// What came of a commit.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub(super) enum Outcome {
    /// Compared with an earlier commit.
    Compared {
        /// Its id: the commit before, or where that does not build the nearest one that does.
        compared_with: String,
        /// Tests in the targets that the change can reach.
        found: usize,
        /// Why no test can have changed.
        nothing_because: Option<String>,
        /// Tests that can have changed; the code of all others is equal, but for those of `unlisted`.
        tests: Vec<TestOf>,
        /// Targets with tests of which one version does not say which.
        unlisted: Vec<String>,
        /// Wall time, in seconds; `seconds` is when the commit was made.
        wall_seconds: f64,
        /// Model of the processor that it was measured on.
        machine: String,
    },
    /// It does not build.
    DoesNotBuild {
        /// Cargo's first error.
        error: String,
    },
    /// No commit before it builds.
    NothingBefore,
    /// The comparison ended with an error.
    Failed {
        /// The error.
        error: String,
    },
    /// Not compared yet.
    Open,
}

/// A test of a step.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct TestOf {
    #[serde(flatten)]
    test: Test,
    verdict: Verdict,
    /// The kind of reason, where there is no verdict or an inconclusive one.
    reason: Option<ReasonKind>,
    /// Head against base, as fractions.
    change: Option<Interval>,
    /// Time of one run on base, in ns.
    base_ns: Option<f64>,
    /// The same on head.
    head_ns: Option<f64>,
    mode: Option<Mode>,
    /// Cohen's d, and its class.
    effect: Option<Effect>,
    /// The responsible function.
    function: Option<String>,
    /// Whose test code was measured on both versions; null if it is the same.
    test_code: Option<Side>,
    /// What decided the verdict.
    metrics: Vec<String>,
}

/// Cohen's d.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
struct Effect {
    d: Option<f64>,
    class: EffectClass,
}

/// The course of a test.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct CourseOf {
    #[serde(flatten)]
    test: Test,
    /// After the first and the last commit, and after those that change something: a commit without a point leaves ratio,
    /// interval and `known` as they are.
    points: Vec<PointOf>,
    /// Direct comparisons over several commits.
    anchors: Vec<AnchorOf>,
}

/// A direct comparison over several commits.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, and a key of the document")]
struct AnchorOf {
    /// Id of the commit that it was compared with.
    since: String,
    /// Id of the last commit.
    commit: String,
    verdict: Verdict,
    direct: Interval,
    /// The steps between, multiplied.
    product: Interval,
    /// Whether the steps have figures of all that lies between.
    complete: bool,
    /// Whether the code of the test itself differs over these commits: then steps and direct comparison do other work.
    other_test_code: bool,
    /// Whether the intervals of both do not overlap, although `complete` and without `other_test_code`.
    contradiction: bool,
    /// Whether the test is slower or faster over all, and in no single step.
    gradual: bool,
}

/// Time after a commit as a multiple of that before the first.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct PointOf {
    /// Its id.
    commit: String,
    ratio: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    /// False where the step has no figures of the test.
    known: bool,
    /// Whether it comes from a direct comparison with an earlier commit.
    anchored: bool,
}

/// The document of `bisect`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BisectDocument {
    /// Version of this format.
    schema_version: u32,
    /// The test by which it searched.
    #[serde(flatten)]
    test: Test,
    /// The function, if its tests were asked for.
    function: Option<String>,
    /// Other tests of the function that changed between the ends.
    others: Vec<OtherTest>,
    /// The direction that was searched.
    direction: model::Direction,
    good: model::Commit,
    bad: model::Commit,
    /// From the good end to the bad one, as fractions.
    change: Interval,
    /// Commits after the good end.
    commits: usize,
    /// The steps that were found, the largest first; one at most without `--all`.
    steps: Vec<FoundStep>,
    /// Commits over which the test changed, and among which no step was found.
    unresolved: Vec<Unresolved>,
    /// Further changes of the test that the search has seen.
    further: model::Further,
    /// With `--all`, the change of all other commits together.
    rest: Option<Interval>,
    /// Commits that could not be compared.
    skipped: Vec<SkippedCommit>,
}

/// Another test of the function.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct OtherTest {
    #[serde(flatten)]
    test: Test,
    /// From the good end to the bad one, as fractions.
    change: Interval,
}

/// A commit that changed the test.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct FoundStep {
    /// The commit, or several where all but the last cannot be compared.
    candidates: Vec<model::Commit>,
    /// The commit before them.
    base: model::Commit,
    /// What they did to the test that was searched by, and then to the others.
    tests: Vec<FoundTest>,
    /// The difference of the responsible function's source.
    source: Option<model::SourceChange>,
}

/// A test in a step that was found.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct FoundTest {
    #[serde(flatten)]
    test: TestOf,
    /// As in `diff`.
    explanation: Option<explanations::Explanation>,
    /// Why there is none.
    unexplained_because: Option<String>,
}

/// Commits without a step that could be named.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct Unresolved {
    because: model::Unsearched,
    commits: Vec<model::Commit>,
}

/// A commit that could not be compared.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct SkippedCommit {
    #[serde(flatten)]
    commit: model::Commit,
    /// Why.
    why: String,
}

/// Returns the JSON document of a history.
pub fn log_json(history: &History, courses: &[Course]) -> String {
    pretty(&LogDocument {
        schema_version: SCHEMA_VERSION,
        base: history.base.clone(),
        commits: history.entries.iter().map(entry).collect(),
        courses: courses.iter().map(|one| course(history, one)).collect(),
        left_out: history.left_out,
        family_wise_error: history.family_wise_error(),
        interrupted: history.interrupted,
    })
}

/// Returns the JSON document of a search.
pub fn bisect_json(bisection: &Bisection) -> String {
    let not_compared = bisection.skipped.iter();
    let others = bisection.others.iter();
    let unresolved = bisection.unresolved.iter();
    pretty(&BisectDocument {
        schema_version: SCHEMA_VERSION,
        test: Test::from(&bisection.test),
        function: bisection.function.clone(),
        others: others.map(|(test, change)| OtherTest { test: Test::from(test), change: (*change).into() }).collect(),
        direction: bisection.direction,
        good: bisection.good.clone(),
        bad: bisection.bad.clone(),
        change: bisection.change.into(),
        commits: bisection.commits,
        steps: bisection.steps.iter().map(found_step).collect(),
        unresolved: unresolved
            .map(|left| Unresolved { because: left.because, commits: left.commits.clone() })
            .collect(),
        further: bisection.further,
        rest: bisection.rest.map(Interval::from),
        skipped: not_compared
            .map(|(commit, why)| SkippedCommit { commit: commit.clone(), why: skipped(why) })
            .collect(),
    })
}

fn found_step(step: &model::FoundStep) -> FoundStep {
    let test = |test: &model::FoundTest| FoundTest {
        test: test_of(&test.found),
        explanation: test.explanation.as_ref().map(explanations::Explanation::from),
        unexplained_because: test.unexplained.as_ref().map(ToString::to_string),
    };
    FoundStep {
        candidates: step.commits.clone(),
        base: step.base.clone(),
        tests: step.tests.iter().map(test).collect(),
        source: step.source.clone(),
    }
}

pub(super) fn entry(entry: &model::Entry) -> Entry {
    Entry { commit: entry.commit.clone(), outcome: outcome(&entry.outcome) }
}

pub(super) fn outcome(outcome: &StepOutcome) -> Outcome {
    match outcome {
        StepOutcome::Compared(step) => Outcome::Compared {
            compared_with: step.base.clone(),
            found: step.found,
            nothing_because: step.nothing_because.map(|because| because.to_string()),
            tests: step.tests.iter().map(test_of).collect(),
            unlisted: step.unlisted.iter().map(ToString::to_string).collect(),
            wall_seconds: step.seconds,
            machine: step.machine.clone(),
        },
        StepOutcome::Skipped(Skipped::DoesNotBuild { error }) => Outcome::DoesNotBuild { error: error.clone() },
        StepOutcome::Skipped(Skipped::NothingBefore) => Outcome::NothingBefore,
        StepOutcome::Skipped(Skipped::Failed { error }) => Outcome::Failed { error: error.clone() },
        StepOutcome::Skipped(why @ Skipped::Unlisted) => Outcome::Failed { error: skipped(why) },
        StepOutcome::Open => Outcome::Open,
    }
}

fn test_of(found: &StepTest) -> TestOf {
    TestOf {
        test: Test::from(&found.test),
        verdict: found.verdict,
        reason: found.reason,
        change: found.figures.map(|figures| figures.change.into()),
        base_ns: found.figures.and_then(|figures| finite(figures.base_ns)),
        head_ns: found.figures.and_then(|figures| finite(figures.head_ns)),
        mode: found.figures.map(|figures| figures.mode),
        effect: found.figures.map(|figures| Effect { d: finite(figures.effect.d), class: figures.effect.class }),
        function: found.function.clone(),
        test_code: found.test_code,
        metrics: found.metrics.iter().map(|metric| metric.name().to_owned()).collect(),
    }
}

fn course(history: &History, course: &Course) -> CourseOf {
    let point = |(index, point): (usize, &Point)| PointOf {
        commit: history.entries[index].commit.id.clone(),
        ratio: finite(point.ratio),
        low: finite(point.low),
        high: finite(point.high),
        known: point.is_known,
        anchored: point.is_anchored,
    };
    let anchor = |anchor: &model::Anchor| AnchorOf {
        since: anchor.since.id.clone(),
        commit: history.entries[anchor.entry].commit.id.clone(),
        verdict: anchor.verdict,
        direct: anchor.direct.into(),
        product: anchor.product.into(),
        complete: anchor.is_complete,
        other_test_code: anchor.has_other_test_code,
        contradiction: anchor.is_contradiction(),
        gradual: anchor.is_gradual(),
    };
    CourseOf {
        test: Test::from(&course.test),
        points: course.turns().map(point).collect(),
        anchors: course.anchors.iter().map(anchor).collect(),
    }
}

/// The document of `log --by-tag`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ReleasesDocument {
    /// Version of this format.
    schema_version: u32,
    /// Oldest first; the last one is the end of the range, whether it has a tag or not.
    releases: Vec<ReleaseOf>,
    /// At most the probability that any test is falsely called slower or faster from release to release.
    family_wise_error: f64,
    /// Whether releases are open.
    interrupted: bool,
}

/// A release against the one before it that builds.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct ReleaseOf {
    base: model::Commit,
    head: model::Commit,
    /// What came of the direct comparison.
    comparison: Outcome,
    /// The commits that lead to it, as far as `log` looked at them; others are `open`.
    commits: Vec<Entry>,
    /// For each slower or faster test, the commits that made it so, as far as they were looked at.
    moved_by: Vec<MovedBy>,
}

/// The commits that made a test slower or faster.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct MovedBy {
    #[serde(flatten)]
    test: Test,
    /// Their ids.
    commits: Vec<String>,
}

/// Returns the JSON document of releases.
pub fn releases_json(releases: &Releases) -> String {
    pretty(&ReleasesDocument {
        schema_version: SCHEMA_VERSION,
        releases: releases.releases.iter().map(release).collect(),
        family_wise_error: releases.family_wise_error(),
        interrupted: releases.interrupted,
    })
}

fn release(release: &model::Release) -> ReleaseOf {
    let moved = release.outcome.step().into_iter().flat_map(model::Step::moved);
    let moved_by = |found: &model::StepTest| MovedBy {
        test: Test::from(&found.test),
        commits: release.moved_by(&found.test).map(|(commit, _)| commit.id.clone()).collect(),
    };
    ReleaseOf {
        base: release.base.clone(),
        head: release.head.clone(),
        comparison: outcome(&release.outcome),
        commits: release.commits.iter().map(entry).collect(),
        moved_by: moved.map(moved_by).collect(),
    }
}
