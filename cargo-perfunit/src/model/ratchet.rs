//! The version against which small losses are added up, what was accepted since then, and what was found.

use super::{Mode, Outcome, Run, Side, TestId, Verdict, VersionName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A loss that the project accepts on purpose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceptedLoss {
    /// The test's target and name.
    pub test: String,
    /// As a fraction of the time at the accepted version.
    pub loss: f64,
    /// How it was measured.
    pub mode: Mode,
    pub reason: String,
    /// `2026-11-23`.
    pub date: String,
}

impl AcceptedLoss {
    /// The log ratio that is accepted of a test measured in this mode: a loss of first calls says nothing of later ones.
    pub fn log_ratio(&self, mode: Mode) -> f64 {
        if self.mode == mode { self.loss.ln_1p() } else { 0.0 }
    }
}

/// The version whose speed the project has accepted, and the losses since then that it accepts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AcceptedVersion {
    /// As it was named.
    pub revision: String,
    /// Commit id in full.
    pub commit: String,
    pub losses: Vec<AcceptedLoss>,
}

/// The comparison of head with the ratchet's version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ratchet {
    pub version: VersionName,
    /// Its base is that version.
    pub comparison: Result<Box<Run>, NotCompared>,
}

/// Why head was not compared with the ratchet's version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum NotCompared {
    /// It is base.
    IsBase,
    DoesNotBuild {
        side: Side,
        /// Cargo's first error.
        error: String,
    },
    /// The working tree changed between the two comparisons.
    HeadChanged,
    /// Ctrl-C.
    Interrupted,
    BudgetUsedUp,
    Failed {
        why: String,
    },
}

impl Ratchet {
    /// The comparison, if there was one.
    pub fn run(&self) -> Option<&Run> {
        self.comparison.as_deref().ok()
    }
}

impl Run {
    /// The tests that are slower than the ratchet's version, although none of them is slower than base: small losses that
    /// add up.
    pub fn cumulative_losses(&self) -> Vec<&Outcome> {
        let is_slower = |outcome: &&Outcome| outcome.verdict == Verdict::Slower;
        let known: BTreeSet<&TestId> = self.outcomes.iter().filter(is_slower).map(|outcome| &outcome.test).collect();
        let compared = self.ratchet.iter().filter_map(Ratchet::run).flat_map(|run| &run.outcomes);
        compared.filter(is_slower).filter(|outcome| !known.contains(&outcome.test)).collect()
    }
}
