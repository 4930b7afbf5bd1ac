//! Changed functions that no test executes.

use super::Function;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A function that is new or changed in head, and that no test executes, or none that can be measured.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Uncovered {
    /// Which function.
    #[serde(flatten)]
    pub function: Function,
    /// How that is known.
    pub because: UncoveredBecause,
}

/// How it is known that no test executes a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UncoveredBecause {
    /// No test can reach it.
    Unreached,
    /// Tests can reach it, and were seen not to execute it.
    NotExecuted,
    /// Only what is new in test code leads to it, and tests are measured with base's.
    NewTestCode,
    /// Tests may execute it, and none of them can be measured.
    NotMeasured,
}
