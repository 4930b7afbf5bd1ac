//! Histories, searches and releases as JSON documents, described in `docs/json.md`.

use super::log::skip_reason;
use crate::explanations;
use crate::pooled_change::ProgramChange;
use crate::wire::{Interval, SCHEMA_VERSION, Test, finite, pretty};
use perfunit_model as model;
use perfunit_model::{
    Bisection, Course, EffectClass, History, Mode, Point, ReasonKind, Releases, Side, Skipped, StepOutcome, StepTest,
    Verdict,
};
use schemars::JsonSchema;
use serde::Serialize;

/// The JSON document of `log`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LogDocument {
    /// Version of this format.
    schema_version: u32,
    /// The commit that the first one is compared with.
    base: model::Commit,
    /// The commits, oldest first.
    commits: Vec<Entry>,
    /// Tests that are slower or faster in at least one step or over several, the largest change first.
    courses: Vec<CourseOf>,
    /// Commits of the range that `--paths` or `--merges` excludes.
    left_out: usize,
    /// Upper bound of the probability that any test is falsely called slower or faster.
    family_wise_error: f64,
    /// True if commits or direct comparisons are not compared yet.
    interrupted: bool,
}

/// A commit and its result.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct Entry {
    #[serde(flatten)]
    commit: model::Commit,
    #[serde(flatten)]
    outcome: Outcome,
}

/// The result of a commit.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub(super) enum Outcome {
    /// The commit was compared with an earlier commit.
    Compared {
        /// Id of the earlier commit: the parent, or the nearest earlier commit that builds.
        compared_with: String,
        /// Tests in the targets that the change can reach.
        found: usize,
        /// The reason if no test can have changed.
        nothing_because: Option<String>,
        /// Tests that can have changed. The code of all other tests is equal, except in `unlisted` targets.
        tests: Vec<TestOf>,
        /// Programs that many tests start, each with its typical change over them.
        programs: Vec<ProgramChange>,
        /// Targets with tests that could not be listed on one version.
        unlisted: Vec<String>,
        /// Wall time of the comparison in seconds. (`seconds` is the commit's time.)
        wall_seconds: f64,
        /// Processor model of the machine that measured it.
        machine: String,
    },
    /// The commit does not build.
    DoesNotBuild {
        /// Cargo's first error.
        error: String,
    },
    /// No earlier commit in the range builds.
    NothingBefore,
    /// The comparison ended with an error.
    Failed {
        /// The error.
        error: String,
    },
    /// The commit is not compared yet.
    Open,
}

/// A test in the comparison of a commit.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct TestOf {
    #[serde(flatten)]
    test: Test,
    verdict: Verdict,
    /// The kind of reason if the verdict is missing or inconclusive.
    reason: Option<ReasonKind>,
    /// Change of head against base, as a fraction.
    change: Option<Interval>,
    /// Time of one run on base, ns.
    base_ns: Option<f64>,
    /// Time of one run on head, ns.
    head_ns: Option<f64>,
    mode: Option<Mode>,
    /// Cohen's d and its class.
    effect: Option<Effect>,
    /// The responsible function.
    function: Option<String>,
    /// The version with the test code that was measured on both; null if both have the same.
    test_code: Option<Side>,
    /// The metrics that decided the verdict.
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
    /// Points after the first and the last commit, and after each commit that changes something. Commits without a
    /// point leave ratio, interval and `known` unchanged.
    points: Vec<PointOf>,
    /// Direct comparisons over several commits.
    anchors: Vec<AnchorOf>,
}

/// A direct comparison over several commits.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, and a key of the document")]
struct AnchorOf {
    /// Id of the earlier commit.
    since: String,
    /// Id of the later commit.
    commit: String,
    verdict: Verdict,
    direct: Interval,
    /// The product of the steps in between.
    product: Interval,
    /// True if the steps cover everything in between.
    complete: bool,
    /// True if the test's own code differs between the commits, so that steps and direct comparison measure different
    /// work.
    other_test_code: bool,
    /// True if the intervals of both do not overlap, although `complete` and without `other_test_code`.
    contradiction: bool,
    /// True if the test is slower or faster overall, but not in any single step.
    gradual: bool,
}

/// Time after a commit as a multiple of the time before the first commit.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct PointOf {
    /// Id of the commit.
    commit: String,
    ratio: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    /// False if the step has no figures for the test.
    known: bool,
    /// True if the point comes from a direct comparison with an earlier commit.
    anchored: bool,
}

/// The JSON document of `bisect`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BisectDocument {
    /// Version of this format.
    schema_version: u32,
    /// The test that was searched.
    #[serde(flatten)]
    test: Test,
    /// The function, if its tests were requested.
    function: Option<String>,
    /// Other tests of the function that changed between the ends.
    others: Vec<OtherTest>,
    /// The direction that was searched.
    direction: model::Direction,
    good: model::Commit,
    bad: model::Commit,
    /// Change from the good end to the bad end, as fractions.
    change: Interval,
    /// Number of commits after the good end.
    commits: usize,
    /// The steps found, the largest first; at most one without `--all`.
    steps: Vec<FoundStep>,
    /// Ranges over which the test changed, but no single step was found.
    unresolved: Vec<Unresolved>,
    /// Further changes of the test that the search has seen.
    further: model::Further,
    /// The change of all other commits together; only for `--all`.
    rest: Option<Interval>,
    /// Commits that could not be compared.
    skipped: Vec<SkippedCommit>,
}

/// Another test of the function.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct OtherTest {
    #[serde(flatten)]
    test: Test,
    /// Change from the good end to the bad end, as fractions.
    change: Interval,
}

/// A commit that changed the test.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct FoundStep {
    /// The commit, or several if only the last can be compared.
    candidates: Vec<model::Commit>,
    /// The commit before the candidates.
    base: model::Commit,
    /// The changes of the searched test and then of the others.
    tests: Vec<FoundTest>,
    /// The difference of the responsible function's source.
    source: Option<model::SourceChange>,
}

/// A test that changed in a found step.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct FoundTest {
    #[serde(flatten)]
    test: TestOf,
    /// The explanation, the same as in `diff`.
    explanation: Option<explanations::Explanation>,
    /// The reason for a missing explanation.
    unexplained_because: Option<String>,
}

/// A range of commits without a single step.
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
    /// The reason.
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
            .map(|(commit, why)| SkippedCommit { commit: commit.clone(), why: skip_reason(why) })
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
            programs: step.programs.iter().map(ProgramChange::from).collect(),
            unlisted: step.unlisted.iter().map(ToString::to_string).collect(),
            wall_seconds: step.seconds,
            machine: step.machine.clone(),
        },
        StepOutcome::Skipped(Skipped::DoesNotBuild { error }) => Outcome::DoesNotBuild { error: error.clone() },
        StepOutcome::Skipped(Skipped::NothingBefore) => Outcome::NothingBefore,
        StepOutcome::Skipped(Skipped::Failed { error }) => Outcome::Failed { error: error.clone() },
        StepOutcome::Skipped(why @ (Skipped::Unlisted | Skipped::NoTest)) => {
            Outcome::Failed { error: skip_reason(why) }
        }
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

/// The JSON document of `log --by-tag`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ReleasesDocument {
    /// Version of this format.
    schema_version: u32,
    /// The releases, oldest first. The last one is the end of the range, even without a tag.
    releases: Vec<ReleaseOf>,
    /// Upper bound of the probability that any test is falsely called slower or faster between releases.
    family_wise_error: f64,
    /// True if releases are not compared yet.
    interrupted: bool,
}

/// A release, compared with the previous release that builds.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct ReleaseOf {
    base: model::Commit,
    head: model::Commit,
    /// The result of the direct comparison.
    comparison: Outcome,
    /// The commits in between, as far as `log` compared them; the others are `open`.
    commits: Vec<Entry>,
    /// The commits that made each slower or faster test so, as far as they were compared.
    moved_by: Vec<MovedBy>,
}

/// The commits that made a test slower or faster.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct MovedBy {
    #[serde(flatten)]
    test: Test,
    /// Ids of the commits.
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
    let moved = release.outcome.step().into_iter().flat_map(model::Step::changed_tests);
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
