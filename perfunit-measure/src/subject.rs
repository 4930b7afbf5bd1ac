//! A test to measure, and the end of it.

use super::running::Programs;
use perfunit_build::{SideBuild, TestExecutable};
use perfunit_model::{Capture, Measured, Metrics, Note, Reason, Sides, TestId, Verdict};
use perfunit_project::config::Terms;
use perfunit_system::progress::Progress;

/// A test to measure.
#[derive(Debug, Clone)]
pub struct Subject<'a> {
    pub test: TestId,
    pub executables: Sides<&'a TestExecutable>,
    /// What the user wants of it in particular.
    pub terms: Option<&'a Terms>,
    /// `#[ignore]`d, which a harness of its own must be told.
    pub ignored: bool,
}

impl Subject<'_> {
    /// What runs it.
    pub(super) fn programs<'a>(&'a self, sides: &Sides<&'a SideBuild>) -> Programs<'a> {
        Programs {
            executables: self.executables,
            folders: Sides { base: &sides.base.folder, head: &sides.head.folder },
            test: self.executables.head.known_as(&self.test.name),
            ignored: self.ignored,
        }
    }
}

/// Who hears of tests while others are still measured.
#[derive(Clone, Copy)]
pub struct Observer<'a> {
    pub progress: &'a Progress,
    /// Hears of each test once, when nothing more will be asked of it.
    pub ended: &'a dyn Fn(&TestId, &Ended),
}

/// The figures behind a verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    pub verdict: Verdict,
    pub measured: Measured,
    /// Standard deviation of the units of replication, log ratios, as a robust estimate has it.
    pub spread: f64,
    /// Wall time of a pair.
    pub seconds_per_pair: f64,
    pub notes: Vec<Note>,
    /// What is known besides time; empty if nothing was asked for.
    pub metrics: Metrics,
}

/// The end of one test.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// The figures, or why there are none.
    pub result: std::result::Result<Figures, Reason>,
    /// Why a verdict is inconclusive.
    pub reason: Option<Reason>,
    /// How it was captured, once it ran.
    pub capture: Option<Capture>,
}
