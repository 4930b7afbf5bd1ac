//! A test to measure, the figures of one series of its pairs, and its end.

use super::measured_process::Programs;
use perfunit_build::{SideBuild, TestExecutable};
use perfunit_model::{
    Capture, CrossCheck, EnteredFunction, Measured, Metrics, Note, PossibleChange, Reason, Sides, Spent, TestId,
    Verdict,
};
use perfunit_project::config::Terms;
use perfunit_system::progress::Progress;

/// A test to measure.
#[derive(Debug, Clone)]
pub struct Subject<'a> {
    pub test: TestId,
    pub executables: Sides<&'a TestExecutable>,
    /// The user's terms for this test.
    pub terms: Option<&'a Terms>,
    /// True if the test is `#[ignore]`d; a custom harness then needs an argument.
    pub ignored: bool,
    /// The first changed function that the test executes, if it was traced.
    pub enters: Option<&'a EnteredFunction>,
}

impl<'a> Subject<'a> {
    /// Returns a test without terms of its own.
    pub fn new(test: TestId, executables: Sides<&'a TestExecutable>) -> Self {
        Self { test, executables, terms: None, ignored: false, enters: None }
    }
}

impl Subject<'_> {
    /// Returns the executables with the arguments that run the test.
    pub(super) fn programs<'a>(&'a self, sides: &Sides<&'a SideBuild>) -> Programs<'a> {
        Programs {
            executables: self.executables,
            folders: Sides { base: &sides.base.folder, head: &sides.head.folder },
            test: self.executables.head.known_as(&self.test.name),
            ignored: self.ignored,
            is_drawn: false,
        }
    }
}

/// The receiver of verdicts while other tests are still measured.
#[derive(Clone, Copy)]
pub struct Observer<'a> {
    pub progress: &'a Progress,
    /// A function that is called once for each test, as soon as its measurement is complete.
    pub ended: &'a dyn Fn(&TestId, &Ended),
}

/// The figures of one series of pairs or single calls.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// The verdict on wall time.
    pub verdict: Verdict,
    pub measured: Measured,
    /// Robust standard deviation of the units of replication, as log ratios.
    pub spread: f64,
    /// Wall time of a pair.
    pub seconds_per_pair: f64,
    /// True if there are enough values for a look, so that the interval has its level.
    pub has_level: bool,
    /// Distance between the changes of the pairs' first calls and of their later calls, in standard errors; `None` if too few
    /// pairs tell it.
    pub first_calls_apart: Option<f64>,
    pub notes: Vec<Note>,
    /// The metrics except wall time; empty if none was requested.
    pub metrics: Metrics,
}

impl Figures {
    /// Returns the time of a run on each side.
    pub(super) fn ns(&self) -> Sides<f64> {
        Sides { base: self.measured.base_ns, head: self.measured.head_ns }
    }
}

/// The result of one series of pairs or single calls of a test.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The figures, or the reason why there are none.
    pub result: std::result::Result<Figures, Reason>,
    /// The reason why the figures are inconclusive.
    pub reason: Option<Reason>,
    /// The capture method, once the test ran.
    pub capture: Option<Capture>,
}

impl Finding {
    /// Returns the verdict on wall time if it is a change.
    pub(super) fn change_seen(&self) -> Option<Verdict> {
        self.result.as_ref().ok().map(|figures| figures.verdict).filter(|verdict| verdict.is_change())
    }
}

/// The end of one test: its verdict with the figures behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// The verdict by the metrics that decide.
    pub verdict: Verdict,
    /// The reason why the test was not measured or why its verdict is inconclusive.
    pub reason: Option<Reason>,
    /// The figures, unless the test was not measured.
    pub figures: Option<Figures>,
    /// The change that the figures leave possible, if they bound it.
    pub possible: Option<PossibleChange>,
    /// The comparison of the changes of time and of work.
    pub cross_check: Option<CrossCheck>,
    /// The capture method, once the test ran.
    pub capture: Option<Capture>,
    /// The effort of measuring the test.
    pub spent: Spent,
}
