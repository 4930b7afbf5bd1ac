//! Changed functions that no test executes.

use super::Function;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

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

/// What leaves code out of a build by its condition (`cfg`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeftOutBy {
    Features,
    Platform,
    /// The profile, which decides on debug assertions.
    Profile,
}

impl LeftOutBy {
    pub const ALL: [Self; 3] = [Self::Features, Self::Platform, Self::Profile];
}

impl fmt::Display for LeftOutBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Features => "the features (--features)",
            Self::Platform => "the platform",
            Self::Profile => "the profile (debug assertions)",
        })
    }
}
