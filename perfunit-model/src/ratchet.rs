//! The ratchet: the version against which small losses add up, and the losses accepted since.

use super::format::{one_line, percent};
use super::{Mode, Side};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A loss that the project accepts on purpose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceptedLoss {
    /// The test's target and name.
    pub test: String,
    /// Loss as a fraction of the time at the accepted version.
    pub loss: f64,
    /// How the loss was measured.
    pub mode: Mode,
    pub reason: String,
    /// Date of acceptance: `2026-11-23`.
    pub date: String,
}

impl AcceptedLoss {
    /// Returns the accepted log ratio of a test measured in this mode; losses of first calls do not apply to later
    /// calls.
    pub fn log_ratio(&self, mode: Mode) -> f64 {
        if self.mode == mode { self.loss.ln_1p() } else { 0.0 }
    }
}

/// The version with the project's accepted speed, and the losses accepted since.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AcceptedVersion {
    /// The version's name, as typed.
    pub revision: String,
    /// Full commit id.
    pub commit: String,
    pub losses: Vec<AcceptedLoss>,
}

/// Reason why head was not compared with the ratchet's version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum NotCompared {
    /// The version is base.
    IsBase,
    DoesNotBuild {
        side: Side,
        /// Cargo's first error.
        error: String,
    },
    /// The working tree changed between the two comparisons.
    HeadChanged,
    /// Ctrl-C stopped the run.
    Interrupted,
    BudgetUsedUp,
    Failed {
        why: String,
    },
}

impl fmt::Display for AcceptedLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} accepted on {}: {}", percent(self.loss), one_line(&self.date), one_line(&self.reason))
    }
}

impl fmt::Display for NotCompared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IsBase => f.write_str("it is base"),
            Self::DoesNotBuild { side, error } => {
                let side = if *side == Side::Base { "it" } else { "head" };
                write!(f, "{side} does not build: {}", one_line(error))
            }
            Self::HeadChanged => f.write_str("the working tree changed in the meantime"),
            Self::Interrupted => f.write_str("interrupted"),
            Self::BudgetUsedUp => f.write_str("the budget was used up"),
            Self::Failed { why } => f.write_str(&one_line(why)),
        }
    }
}
