//! What is asked about tests, and what was found out.

use super::assemble::{OfTest, function_of};
use perfunit_build as build;
use perfunit_build::{BuildFailure, BuiltSides, Job};
use perfunit_measure::{Config, Measuring};
use perfunit_model::{
    BuiltWith, Change, ChangeKind, Difference, Engine, Explain, Explanation, Function, Mode, Outcome, Sides, Strategy,
    TargetId, TestId, Unexplained, Warning,
};
use perfunit_project::git::Versions;
use perfunit_select::Selected;
use perfunit_select::reach::{self, TestSource};
use perfunit_select::source::{self, ChangedItem, ItemKind};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Probability that some interval of an explanation misses.
pub const ALPHA: f64 = 0.01;
/// Longest measuring for one explanation in time.
pub const LONGEST: Duration = Duration::from_secs(8);
/// Pairs without which nothing is found out: one to settle how to run it, one to see who is called, four for an interval.
const FEWEST_PAIRS: usize = 6;
/// From this factor on a test with probes is so much another one that instructions tell more.
const DISTORTED: f64 = 4.0;
/// What accounts for this part of a change is most of it: not all instructions take equally long.
const ACCOUNTED: f64 = 0.5;

/// The pairing that questions are about, as it was measured, and how to answer them.
#[derive(Clone, Copy)]
pub struct Inquiry<'a> {
    pub versions: &'a Versions,
    pub selected: &'a Selected,
    pub built: &'a BuiltSides,
    /// Cargo's options.
    pub build: &'a build::Options,
    pub explaining: Explaining,
    pub measuring: &'a Measuring,
    /// When the whole run has to end.
    pub deadline: Option<Instant>,
    /// When explaining has to end that nobody asked for.
    pub unasked_until: Option<Instant>,
}

/// Explaining that nobody asked for may take as long as measuring took, and this.
pub(super) const LEAST_UNASKED: Duration = Duration::from_secs(3);

impl Inquiry<'_> {
    /// The same, after tests were measured for so long.
    #[must_use]
    pub fn after(self, measuring: Duration) -> Self {
        let is_unasked = self.explaining.explain == Explain::Auto;
        Self { unasked_until: is_unasked.then(|| Instant::now() + measuring.max(LEAST_UNASKED)), ..self }
    }

    /// When to end.
    pub fn end(&self) -> Option<Instant> {
        self.deadline.into_iter().chain(self.unasked_until).min()
    }

    /// Why no time is left, if so.
    pub fn over(&self) -> Option<Unexplained> {
        let is_over = |end: Option<Instant>| end.is_some_and(|end| Instant::now() >= end);
        match (is_over(self.deadline), is_over(self.unasked_until)) {
            (true, _) => Some(Unexplained::BudgetUsed { by_measuring: false }),
            (false, true) => Some(Unexplained::LongerThanMeasuring { instructions: None }),
            (false, false) => None,
        }
    }

    /// Why there are no executables to explain with.
    pub fn not_built(&self, with: BuiltWith, failure: &BuildFailure) -> Unexplained {
        let error = || Unexplained::DoesNotBuild { with, error: failure.first_error().to_owned() };
        if failure.stopped { self.over().unwrap_or(Unexplained::NoTimeLeft) } else { error() }
    }

    /// How to run processes for explanations, each test for so long at most.
    pub fn config(&self, longest: Duration, deadline: Option<Instant>) -> Config {
        Config {
            timeout: self.measuring.timeout,
            per_test_budget: longest,
            deadline,
            threshold: self.measuring.threshold,
            alpha: ALPHA,
            others: 0,
            family: 1,
            seed: self.measuring.seed,
            placement: self.measuring.placement,
            accepted: None,
            metering: None,
        }
    }

    /// What to build once more of these targets.
    pub fn job<'b>(&'b self, targets: &'b BTreeSet<TargetId>) -> Job<'b> {
        let Selected { workspace, packages, .. } = self.selected;
        Job { options: self.build, workspace, packages, targets, deadline: self.end() }
    }

    /// What happened to a function's source.
    pub fn changed(&self, function: &Function) -> Option<ChangeKind> {
        // Both lines are those of the name. Other items may be called alike: `use std::fmt`, and methods of other types.
        let is = |item: &&ChangedItem| {
            let is_function = matches!(item.kind, ItemKind::Function | ItemKind::Method);
            is_function && item.path == function.file && item.line == function.line && function.is_named(&item.name)
        };
        self.selected.diff.items.iter().find(is).map(|item| item.change)
    }

    /// Whether the source of the function with this key is another in head.
    pub fn has_changed(&self, functions: &Sides<BTreeMap<u64, Function>>, key: u64) -> bool {
        function_of(functions, key).is_some_and(|function| self.changed(function).is_some())
    }

    /// The names in a function's source, sorted, those of its type and trait among them.
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

    /// The test's own source.
    pub fn of_test(&self, test: &TestId) -> Option<OfTest> {
        let files = &self.selected.target_files.get(&test.target)?.head;
        // Those of other modules have other tests.
        let of_module = files.iter().filter(|(_, info)| test.name.starts_with(&info.module));
        let read = of_module.filter_map(|(path, info)| {
            let content = self.versions.read_file(&self.versions.files.head, path)?;
            Some((path.clone(), info.module.clone(), content))
        });
        let index = reach::index(&read.collect::<Vec<_>>());
        let sources = index.sources(TestSource { name: &test.name, kind: test.target.kind, files });
        let file = sources.first()?.path.clone();
        let mut names: Vec<String> = sources.into_iter().flat_map(|source| source.item.code.names.clone()).collect();
        names.sort_unstable();
        Some(OfTest { file, names })
    }
}

/// A test to explain, with what is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub test: TestId,
    /// Time of one run on base without probes, ns.
    pub base_ns: f64,
    /// Head's change, as a fraction of that.
    pub change: f64,
    /// The ends of its interval.
    pub ends: [f64; 2],
}

/// What was found out.
#[derive(Debug, Default)]
pub struct Answers {
    /// By test: the explanation, or why there is none.
    pub tests: BTreeMap<TestId, Result<Explanation, Unexplained>>,
    /// What the user should know.
    pub warnings: Vec<Warning>,
}

impl Question {
    /// Time of a call of both versions, s.
    pub fn pair_seconds(&self) -> f64 {
        self.base_ns * (2.0 + self.change) / 1e9
    }

    /// The difference without probes, ns a run.
    pub fn difference(&self) -> Difference {
        let [low, high] = self.ends.map(|end| self.base_ns * end);
        Difference { estimate: self.base_ns * self.change, low, high }
    }

    /// Whether fewer pairs fit an explanation than it needs.
    pub fn is_too_long(&self) -> bool {
        FEWEST_PAIRS as f64 * self.pair_seconds() > LONGEST.as_secs_f64()
    }

    /// Whether this change of instructions, a fraction, is behind most of the change in time.
    fn is_accounted_for(&self, instructions: Option<f64>) -> bool {
        instructions.is_some_and(|more| (1.0 + more).ln() / (1.0 + self.change).ln() >= ACCOUNTED)
    }

    pub fn too_long(&self) -> Unexplained {
        Unexplained::TooLong {
            pair_seconds: self.pair_seconds(),
            pairs: FEWEST_PAIRS,
            longest_seconds: LONGEST.as_secs(),
        }
    }

    /// What there is to explain about an outcome: nothing unless its time was measured in steady state.
    pub fn about(outcome: &Outcome) -> Option<Self> {
        let measured = outcome.measured.as_ref().filter(|measured| measured.mode == Mode::Steady)?;
        if measured.bound.as_ref().is_some_and(|bound| bound.limit_ns.is_some()) {
            return None;
        }
        let Change { estimate, low, high } = measured.change;
        Some(Self { test: outcome.test.clone(), base_ns: measured.base_ns, change: estimate, ends: [low, high] })
    }
}

impl Answers {
    /// Whether a test needs no other engine: its instructions account for the change in time, and whoever executes more of
    /// them has changed, or something else has that can be behind it.
    pub fn settle(&self, question: &Question) -> bool {
        let Some(Ok(found)) = self.tests.get(&question.test) else { return false };
        let has_changed = found.responsible.first().is_some_and(|first| first.changed.is_some())
            || found.causes.first().is_some_and(|cause| cause.share >= ACCOUNTED);
        question.is_accounted_for(found.instructions) && has_changed
    }

    /// Takes over what timing functions told of tests whose instructions did not tell enough.
    pub fn take_timed(&mut self, questions: &[Question], mut timed: Self) {
        for question in questions {
            let Some(answer) = timed.tests.remove(&question.test) else { continue };
            let counted = self.tests.get(&question.test).and_then(|answer| answer.as_ref().ok());
            let instructions = counted.and_then(|found| found.instructions);
            let names = counted.is_some_and(|found| {
                !found.responsible.is_empty() && found.change.estimate.signum() == question.change.signum()
            });
            let is_worse = match &answer {
                Ok(found) => found.responsible.is_empty() || found.distortion >= DISTORTED,
                Err(_) => question.is_accounted_for(instructions),
            };
            if names && is_worse {
                continue;
            }
            let answer = match answer {
                Ok(found) => Ok(Explanation { instructions, ..found }),
                Err(Unexplained::LongerThanMeasuring { .. }) => Err(Unexplained::LongerThanMeasuring { instructions }),
                Err(why) => Err(why),
            };
            self.tests.insert(question.test.clone(), answer);
        }
        self.warnings.extend(timed.warnings);
    }

    /// Nothing is explained, for one reason.
    pub fn none(questions: &[Question], why: Unexplained) -> Self {
        let tests = questions.iter().map(|question| (question.test.clone(), Err(why.clone()))).collect();
        // What nobody asked for is not missed: each test says it of itself.
        let is_missed = !matches!(why, Unexplained::LongerThanMeasuring { .. });
        Self { warnings: is_missed.then_some(Warning::NothingExplained { why }).into_iter().collect(), tests }
    }
}

/// How to find the responsible functions.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Explaining {
    pub explain: Explain,
    /// What is counted; chosen for each test if absent.
    pub engine: Option<Engine>,
    /// By which functions are timed; chosen for each test if absent.
    pub strategy: Option<Strategy>,
    #[serde(skip)]
    pub goal: Goal,
}

/// What the probes are to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Goal {
    /// The functions responsible for a difference.
    #[default]
    Responsible,
    /// Where the time goes, whether it differs or not.
    Profile,
}
