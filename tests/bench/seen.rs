//! What the tool said of one test that has figures.

use perfunit_model::{Mode, Note, variant_name};
use perfunit_report::json::TestResult;
use serde::{Deserialize, Serialize};

/// A test with figures.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Seen {
    /// Its target.
    pub target: String,
    /// Its name there.
    pub name: String,
    /// In the words of the document.
    pub verdict: String,
    /// Why it is inconclusive.
    pub reason: Option<String>,
    /// Whether it was slower or faster until it was measured again.
    pub flagged_first: bool,
    /// Time of one run on base, in nanoseconds.
    pub base_ns: f64,
    /// Head against base, as fractions.
    pub estimate: f64,
    /// The interval's ends.
    pub interval: [Option<f64>; 2],
    /// Pairs of processes behind it.
    pub pairs: usize,
    /// Layouts behind it.
    pub layouts: usize,
    /// Whether it was repeated in one process.
    pub is_steady: bool,
    /// Whether its runs do not all do the same.
    #[serde(default)]
    pub varies: bool,
}

impl Seen {
    /// What the document says of a test; `None` without figures.
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

    /// Target and name.
    pub fn test(&self) -> String {
        format!("{} {}", self.target, self.name)
    }

    /// Slower or faster, which no null edit is.
    pub fn is_flagged(&self) -> bool {
        ["slower", "faster"].contains(&self.verdict.as_str())
    }

    /// Whether it surely changed, however little.
    pub fn is_certain(&self) -> bool {
        let [low, high] = self.interval;
        low.is_some_and(|low| low > 0.0) || high.is_some_and(|high| high < 0.0)
    }

    /// Whether a cycle is a small part of it.
    pub fn is_sizable(&self) -> bool {
        self.is_steady && self.base_ns >= 50.0
    }
}
