//! Changed functions that no test executes.

use super::Function;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A function that is new or changed in head, and that no test executes, or none that can be measured.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Uncovered {
    /// The function.
    #[serde(flatten)]
    pub function: Function,
    /// Evidence that no test executes it.
    pub because: UncoveredBecause,
}

/// Evidence that no test executes a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UncoveredBecause {
    /// No test can reach it.
    Unreached,
    /// Tests can reach the function but were seen not to execute it.
    NotExecuted,
    /// Only new test code calls the function, but base's test code is measured.
    NewTestCode,
    /// Tests may execute the function, but none of them can be measured.
    NotMeasured,
}

/// Condition (`cfg`) that excludes code from a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeftOutBy {
    Features,
    Platform,
    /// The profile, which determines debug assertions.
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
