//! The tool's result for one test with figures.

use perfunit_model::{Mode, Note, variant_name};
use perfunit_report::json::TestResult;
use serde::{Deserialize, Serialize};

/// A test with figures.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Seen {
    /// Target of the test.
    pub target: String,
    /// Name in the target.
    pub name: String,
    /// Verdict as in the document.
    pub verdict: String,
    /// Reason why the test is inconclusive.
    pub reason: Option<String>,
    /// True if the test was slower or faster before confirmation.
    pub flagged_first: bool,
    /// Time of one run on base, ns.
    pub base_ns: f64,
    /// Change of head as a fraction of base.
    pub estimate: f64,
    /// Bounds of the interval.
    pub interval: [Option<f64>; 2],
    /// Number of pairs of processes.
    pub pairs: usize,
    /// Number of layouts.
    pub layouts: usize,
    /// True if the test was repeated in one process.
    pub is_steady: bool,
    /// True if its runs do not all do the same work.
    #[serde(default)]
    pub varies: bool,
}

impl Seen {
    /// Returns the result of a test in the document; `None` without figures.
    pub fn of(result: &TestResult) -> Option<Self> {
        let change = result.change?;
        let mut seen = Self {
            target: result.test.target.clone(),
            name: result.test.name.clone(),
            verdict: variant_name(result.verdict),
            reason: result.reason.as_ref().map(|reason| reason.kind.clone()),
            flagged_first: false,
            base_ns: result.base_ns?,
            estimate: change.estimate?,
            interval: [change.low, change.high],
            pairs: result.pairs.unwrap_or(0),
            layouts: result.layouts.unwrap_or(0),
            is_steady: result.mode == Some(Mode::Steady),
            varies: result.notes.iter().any(|note| note.starts_with("its work differs")),
        };
        let taken_back = result.notes.iter().any(|note| *note == Note::TakenBack.to_string());
        seen.flagged_first = seen.is_flagged() || taken_back || seen.reason.as_deref() == Some("not-confirmed");
        Some(seen)
    }

    /// Returns target and name.
    pub fn test(&self) -> String {
        format!("{} {}", self.target, self.name)
    }

    /// Returns whether the test is slower or faster, which is false for a null edit.
    pub fn is_flagged(&self) -> bool {
        ["slower", "faster"].contains(&self.verdict.as_str())
    }

    /// Returns whether the test certainly changed, however little.
    pub fn is_certain(&self) -> bool {
        let [low, high] = self.interval;
        low.is_some_and(|low| low > 0.0) || high.is_some_and(|high| high < 0.0)
    }

    /// Returns whether a cycle is a small part of the test's time.
    pub fn is_sizable(&self) -> bool {
        self.is_steady && self.base_ns >= 50.0
    }
}
