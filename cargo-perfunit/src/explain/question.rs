//! What is asked about tests, and what was found out.

use super::options::Explaining;
use crate::build::{self, BuiltSides, Job};
use crate::git::Versions;
use crate::measure::{Config, Measuring};
use crate::model::{Explanation, Function, Mode, Outcome, TargetId, TestId, Unexplained, Warning};
use crate::select::Selected;
use crate::select::source::ChangedItem;
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
}

impl Inquiry<'_> {
    pub fn is_over(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
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
            seed: self.measuring.seed,
            placement: self.measuring.placement,
            metering: None,
        }
    }

    /// What to build once more of these targets.
    pub fn job<'b>(&'b self, targets: &'b BTreeSet<TargetId>) -> Job<'b> {
        let Selected { workspace, packages, .. } = self.selected;
        Job { options: self.build, workspace, packages, targets }
    }

    /// What happened to a function's source.
    pub fn changed(&self, function: &Function) -> Option<String> {
        let is = |item: &&ChangedItem| {
            item.path == function.file
                && function.name.strip_suffix(&item.name).is_some_and(|rest| rest.is_empty() || rest.ends_with("::"))
        };
        self.selected.diff.items.iter().find(is).map(|item| item.change.to_string())
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
    fn pair_seconds(&self) -> f64 {
        self.base_ns * (2.0 + self.change) / 1e9
    }

    /// Whether fewer pairs fit an explanation than it needs.
    pub fn is_too_long(&self) -> bool {
        FEWEST_PAIRS as f64 * self.pair_seconds() > LONGEST.as_secs_f64()
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
        Some(Self { test: outcome.test.clone(), base_ns: measured.base_ns, change: measured.change.estimate })
    }
}

impl Answers {
    /// Whether instructions might tell more: nobody is named, or the probes make the test another one.
    pub fn is_open(&self, question: &Question) -> bool {
        match self.tests.get(&question.test) {
            Some(Ok(found)) => found.blamed.is_empty() || found.distortion >= DISTORTED,
            Some(Err(_)) => true,
            None => false,
        }
    }

    /// Takes over what names somebody for a difference in the direction of the one in time.
    pub fn improve(&mut self, questions: &[Question], others: &Answers) {
        for Question { test, change, .. } in questions {
            let Some(Ok(other)) = others.tests.get(test) else { continue };
            if !other.blamed.is_empty() && other.change.estimate.signum() == change.signum() {
                let before = self.tests.get(test).and_then(|answer| answer.as_ref().ok());
                let seconds = other.seconds + before.map_or(0.0, |before| before.seconds);
                self.tests.insert(test.clone(), Ok(Explanation { seconds, ..other.clone() }));
            }
        }
    }

    /// Nothing is explained, for one reason.
    pub fn none(questions: &[Question], why: Unexplained) -> Self {
        let tests = questions.iter().map(|question| (question.test.clone(), Err(why.clone()))).collect();
        Self { warnings: vec![Warning::NothingExplained { why }], tests }
    }
}
