//! The answer for a test, and how it was found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer for one test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The interval excludes 0, the estimate is at or beyond the threshold, and fresh pairs confirmed it.
    Slower,
    /// As `Slower`, in the other direction.
    Faster,
    /// The interval excludes 0 and lies wholly inside the threshold: shown, never gated.
    ChangedBelowThreshold,
    /// The whole interval lies inside the threshold.
    Same,
    /// Measured, but the interval is too wide to tell, or reaches across the threshold.
    Inconclusive,
    /// Not measured, with a reason.
    NotMeasured,
}

impl Verdict {
    /// All of them, in the order of the summary.
    pub const ALL: [Verdict; 6] = [
        Verdict::Slower,
        Verdict::Faster,
        Verdict::ChangedBelowThreshold,
        Verdict::Same,
        Verdict::Inconclusive,
        Verdict::NotMeasured,
    ];

    pub fn is_change(self) -> bool {
        matches!(self, Verdict::Slower | Verdict::Faster)
    }
}

/// How a test was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The body is repeated in each process; the steady state is compared.
    Steady,
    /// First calls are compared, each in a child that is forked just before the body: it cannot be repeated, or only its
    /// first call holds work.
    FirstCall,
    /// The body cannot be repeated, nor can its process fork; its first call in each process is compared.
    Cold,
    /// A harness of its own runs it: whole processes are compared, from their start to their end.
    Process,
}
