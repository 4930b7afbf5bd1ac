//! Questions about tests, and their answers.

use super::assemble::{OfTest, function_of};
use perfunit_build as build;
use perfunit_build::{BuildFailure, BuiltSides, Job};
use perfunit_measure::{Config, Measuring};
use perfunit_model::{
    BuiltWith, Change, ChangeKind, Difference, Engine, Explain, Explanation, Function, Metric, Mode, Outcome,
    SelectedBecause, Sides, Strategy, TargetId, TestId, Unexplained, Warning,
};
use perfunit_project::git::Versions;
use perfunit_select::TargetSelection;
use perfunit_select::reach::{self, NameIndex, TestSource};
use perfunit_select::source::{self, ChangedItem, ItemKind};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Probability that some interval of an explanation misses.
pub const ALPHA: f64 = 0.01;
/// Longest measurement for one explanation by time.
pub const LONGEST: Duration = Duration::from_secs(8);
/// Least number of pairs: one to prepare the test, one to count calls, four for an interval.
const FEWEST_PAIRS: usize = 6;
/// Factor from which probes distort a test so much that instructions are better evidence.
const DISTORTED: f64 = 4.0;
/// Starts of programs in one run of a test that is known to start some, where they were not counted.
const UNSEEN_STARTS: f64 = 4.0;
/// Share of a change that counts as most of it, because instructions differ in time.
const ACCOUNTED: f64 = 0.5;
/// The same if nearly all of the difference is in a changed function: the rest of the time is probably there, too.
const ACCOUNTED_BY_ONE: f64 = 0.25;
/// The share of the difference that is nearly all of it.
const NEARLY_ALL: f64 = 0.9;

/// The measured pairing that questions are about, and options for answers.
#[derive(Clone, Copy)]
pub struct Inquiry<'a> {
    pub versions: &'a Versions,
    pub selected: &'a TargetSelection,
    pub built: &'a BuiltSides,
    /// Cargo's options.
    pub build: &'a build::Options,
    pub explaining: Explaining,
    pub measuring: &'a Measuring,
    /// Time at which the whole run must end.
    pub deadline: Option<Instant>,
    /// Time at which explanations without a request must end.
    pub unasked_until: Option<Instant>,
}

/// Least time for explanations without a request, which otherwise may take as long as the measurement.
pub(super) const LEAST_UNASKED: Duration = Duration::from_secs(3);

impl Inquiry<'_> {
    /// Returns the inquiry after a measurement of this length.
    #[must_use]
    pub fn after(self, measuring: Duration) -> Self {
        let is_unasked = self.explaining.explain == Explain::Auto;
        Self { unasked_until: is_unasked.then(|| Instant::now() + measuring.max(LEAST_UNASKED)), ..self }
    }

    /// Returns the time at which to end.
    pub fn end(&self) -> Option<Instant> {
        self.deadline.into_iter().chain(self.unasked_until).min()
    }

    /// Returns the reason why no time is left, if so.
    pub fn over(&self) -> Option<Unexplained> {
        let is_over = |end: Option<Instant>| end.is_some_and(|end| Instant::now() >= end);
        match (is_over(self.deadline), is_over(self.unasked_until)) {
            (true, _) => Some(Unexplained::BudgetUsed { by_measuring: false }),
            (false, true) => Some(Unexplained::LongerThanMeasuring { instructions: None }),
            (false, false) => None,
        }
    }

    /// Returns the reason for a failed build.
    pub fn not_built(&self, with: BuiltWith, failure: &BuildFailure) -> Unexplained {
        let error = || Unexplained::DoesNotBuild { with, error: failure.first_error().to_owned() };
        if failure.stopped { self.over().unwrap_or(Unexplained::NoTimeLeft) } else { error() }
    }

    /// Returns the configuration of processes for explanations, with at most `longest` per test.
    pub fn config(&self, longest: Duration, deadline: Option<Instant>) -> Config {
        Config { per_test_budget: longest, deadline, alpha: ALPHA, ..Config::of(self.measuring) }
    }

    /// Returns the build job for these targets.
    pub fn job<'b>(&'b self, targets: &'b BTreeSet<TargetId>) -> Job<'b> {
        let TargetSelection { workspace, packages, .. } = self.selected;
        Job { options: self.build, workspace, packages, targets, deadline: self.end() }
    }

    /// Returns the change of a function's source.
    pub fn source_change(&self, function: &Function) -> Option<ChangeKind> {
        // Both lines are those of the name. Other items may have the same name: `use std::fmt`, and methods of other
        // types.
        let is = |item: &&ChangedItem| {
            let is_function = matches!(item.kind, ItemKind::Function | ItemKind::Method);
            is_function && item.path == function.file && item.line == function.line && function.is_named(&item.name)
        };
        self.selected.diff.items.iter().find(is).map(|item| item.change)
    }

    /// Returns whether the source of the function with this key changed.
    pub fn has_changed(&self, functions: &Sides<BTreeMap<u64, Function>>, key: u64) -> bool {
        function_of(functions, key).is_some_and(|function| self.source_change(function).is_some())
    }

    /// Returns the names in a function's source, sorted, including those of its type and trait.
    pub fn names(&self, function: &Function) -> Vec<String> {
        let content = self.versions.read_file(&self.versions.files.head, &function.file).unwrap_or_default();
        let items = source::items(&content).unwrap_or_default();
        let own = items.into_iter().filter(|item| function.is_named(&item.name));
        let Some(item) = own.min_by_key(|item| item.line.abs_diff(function.line)) else { return Vec::new() };
        let mut names = item.code.names;
        names.extend([item.owner, item.implements]);
        names.sort_unstable();
        names
    }

    /// Returns the test's own source, given the names of head.
    pub fn of_test(&self, test: &TestId, index: &NameIndex) -> Option<OfTest> {
        let files = &self.selected.target_files.get(&test.target)?.head;
        let source = TestSource { name: &test.name, kind: test.target.kind, files };
        let sources = index.sources(source);
        let file = sources.first()?.path.clone();
        let mut names: Vec<String> = sources.into_iter().flat_map(|source| source.item.code.names.clone()).collect();
        names.sort_unstable();
        let unreached = reach::unreached(source, index, &self.selected.diff);
        let unreached = unreached.into_iter().map(|item| (item.path.clone(), item.name.clone())).collect();
        Some(OfTest { file, names, unreached })
    }
}

/// A test to explain.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub test: TestId,
    /// Time of one run on base without probes, ns.
    pub base_ns: f64,
    /// Change of head as a fraction of base.
    pub change: f64,
    /// Bounds of its interval.
    pub ends: [f64; 2],
    /// Starts of programs of the workspace in one run, about; 0 if the test starts none.
    pub starts: f64,
}

/// Answers to questions.
#[derive(Debug, Default)]
pub struct Answers {
    /// Explanations by test, or the reasons why there is none.
    pub tests: BTreeMap<TestId, Result<Explanation, Unexplained>>,
    /// Warnings for the user.
    pub warnings: Vec<Warning>,
}

impl Question {
    /// Returns the time of a call of both versions, in s.
    pub fn pair_seconds(&self) -> f64 {
        self.base_ns * (2.0 + self.change) / 1e9
    }

    /// Returns the difference without probes, in ns per run.
    pub fn difference(&self) -> Difference {
        let [low, high] = self.ends.map(|end| self.base_ns * end);
        Difference { estimate: self.base_ns * self.change, low, high }
    }

    /// Returns whether fewer pairs fit into an explanation than it needs.
    pub fn is_too_long(&self) -> bool {
        FEWEST_PAIRS as f64 * self.pair_seconds() > LONGEST.as_secs_f64()
    }

    /// Returns whether this change of instructions, a fraction, accounts for this part of the change in time.
    fn is_accounted_for(&self, instructions: Option<f64>, part: f64) -> bool {
        instructions.is_some_and(|more| (1.0 + more).ln() / (1.0 + self.change).ln() >= part)
    }

    pub fn too_long(&self) -> Unexplained {
        Unexplained::TooLong {
            pair_seconds: self.pair_seconds(),
            pairs: FEWEST_PAIRS,
            longest_seconds: LONGEST.as_secs(),
        }
    }

    /// Returns the question about an outcome; `None` unless its time was measured in steady state or it starts programs.
    pub fn about(outcome: &Outcome) -> Option<Self> {
        let starts = starts(outcome);
        let is_open = |mode| mode == Mode::Steady || (mode == Mode::FirstCall && starts > 0.0);
        let measured = outcome.measured.as_ref().filter(|measured| is_open(measured.mode))?;
        if measured.bound.as_ref().is_some_and(|bound| bound.limit_ns.is_some()) {
            return None;
        }
        let Change { estimate, low, high } = measured.change;
        Some(Self {
            test: outcome.test.clone(),
            base_ns: measured.base_ns,
            change: estimate,
            ends: [low, high],
            starts,
        })
    }

    /// Returns whether the time certainly changed.
    pub fn is_certain(&self) -> bool {
        let [low, high] = self.ends;
        low > 0.0 || high < 0.0
    }

    /// Returns whether this change of a count is not the other way than a certain change of time.
    pub fn agrees(&self, change: f64) -> bool {
        !self.is_certain() || change.signum() == self.change.signum()
    }
}

/// Returns about how often a test starts programs of the workspace in one run.
fn starts(outcome: &Outcome) -> f64 {
    let timed = outcome.metrics.get(&Metric::ProgramTime).and_then(|metered| metered.as_ref().ok());
    let timed: f64 = timed.map_or(0.0, |metered| {
        let starts = metered.programs.iter().map(|program| program.starts.base.max(program.starts.head));
        starts.sum()
    });
    match outcome.selected_because {
        Some(SelectedBecause::InProgram { .. } | SelectedBecause::Unwatched { .. }) if timed <= 0.0 => UNSEEN_STARTS,
        _ => timed,
    }
}

impl Answers {
    /// Returns whether a test needs no other engine: its instructions account for most of the change in time, and either the
    /// function with the most additional instructions changed, or another change may be the cause. If that changed function
    /// has nearly all of them, they need to account for less.
    ///
    /// Probes do not see into programs that a test starts.
    pub fn settle(&self, question: &Question) -> bool {
        let Some(Ok(found)) = self.tests.get(&question.test) else {
            return question.starts > 0.0 && !question.is_certain();
        };
        if question.starts > 0.0 {
            return true;
        }
        let first = found.responsible.first().filter(|first| first.changed.is_some());
        let is_one = first.is_some_and(|first| first.share >= NEARLY_ALL);
        let part = if is_one { ACCOUNTED_BY_ONE } else { ACCOUNTED };
        let is_caused = first.is_some() || found.causes.first().is_some_and(|cause| cause.share >= ACCOUNTED);
        is_caused && question.is_accounted_for(found.instructions, part)
    }

    /// Merges explanations by time for tests with instructions that did not suffice.
    pub fn take_timed(&mut self, questions: &[Question], mut timed: Self) {
        for question in questions {
            let Some(answer) = timed.tests.remove(&question.test) else { continue };
            let counted = self.tests.get(&question.test).and_then(|answer| answer.as_ref().ok());
            let instructions = counted.and_then(|found| found.instructions);
            let first = counted
                .filter(|found| found.change.estimate.signum() == question.change.signum())
                .and_then(|found| found.responsible.first());
            let is_worse = match &answer {
                Ok(found) => found.responsible.is_empty() || found.distortion >= DISTORTED,
                // A changed function that executes more says something, even if waits or cache misses take most of the time.
                Err(_) => {
                    question.is_accounted_for(instructions, ACCOUNTED)
                        || first.is_some_and(|first| first.changed.is_some())
                }
            };
            if first.is_some() && is_worse {
                continue;
            }
            let answer = match answer {
                Ok(found) => Ok(Explanation { instructions, ..found }),
                Err(Unexplained::LongerThanMeasuring { .. }) => Err(Unexplained::LongerThanMeasuring { instructions }),
                Err(why) => Err(why),
            };
            self.tests.insert(question.test.clone(), answer);
        }
        let is_explained = self.tests.values().any(Result::is_ok);
        timed.warnings.retain(|warning| !(is_explained && matches!(warning, Warning::NothingExplained { .. })));
        self.warnings.extend(timed.warnings);
    }

    /// Returns answers without an explanation, all for one reason.
    pub fn none(questions: &[Question], why: Unexplained) -> Self {
        let tests = questions.iter().map(|question| (question.test.clone(), Err(why.clone()))).collect();
        // Tests explain this reason themselves, because the explanation was not requested.
        let is_missed = !matches!(why, Unexplained::LongerThanMeasuring { .. });
        Self { warnings: is_missed.then_some(Warning::NothingExplained { why }).into_iter().collect(), tests }
    }
}

/// Options for finding responsible functions.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Explaining {
    pub explain: Explain,
    /// Engine; chosen for each test if absent.
    pub engine: Option<Engine>,
    /// Strategy for choosing timed functions; chosen for each test if absent.
    pub strategy: Option<Strategy>,
    #[serde(skip)]
    pub goal: Goal,
}

/// Goal of the probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Goal {
    /// Find the functions responsible for a difference.
    #[default]
    Responsible,
    /// Show where the time goes, regardless of differences.
    Profile,
}
