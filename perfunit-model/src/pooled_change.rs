//! Changes of tests taken together: of those that enter the changed code through one function, and of those that start one
//! program.

use super::{Change, CodeChange, Function, TargetId, TestId, Verdict};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The first changed function that a test executes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EnteredFunction {
    /// Name in the machine code.
    pub function: String,
    /// The changed item in the sources; `None` if the name fits none or several.
    pub item: Option<CodeChange>,
}

/// The mean change of tests that enter the changed code through one function. None of them is slower or faster alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PooledChange {
    /// Name of the function: that of the changed item, or that in the machine code.
    pub name: String,
    /// The changed function in the sources, if known.
    pub function: Option<Function>,
    /// The tests that were measured for it.
    pub tests: Vec<TestId>,
    /// Measured tests that enter there, in the same target.
    pub entering: usize,
    /// Verdict on the mean change; never `NotMeasured`.
    pub verdict: Verdict,
    /// The mean change of a test.
    pub change: Change,
    /// The smallest mean change that counts, as a fraction of base.
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub threshold: f64,
    /// Two-sided p value of the hypothesis "no change of the mean".
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub p_value: f64,
    /// Code layouts behind the interval, each with pairs of every test.
    pub layouts: usize,
}

/// The typical change of a program's own time over all tests that start it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProgramChange {
    /// Name of the program.
    pub name: String,
    /// Number of tests with a change of its time.
    pub tests: usize,
    /// Verdict on the typical change; never `NotMeasured`.
    pub verdict: Verdict,
    /// The trimmed mean change of the tests.
    pub change: Change,
    /// The smallest typical change that counts, as a fraction of base.
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub threshold: f64,
    /// Two-sided p value of the hypothesis "no typical change".
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub p_value: f64,
}

impl EnteredFunction {
    /// Returns the name of the changed item if it is known, otherwise that in the machine code.
    pub fn name(&self) -> &str {
        self.item.as_ref().map_or(&self.function, |item| &item.item)
    }

    /// Returns the function in the sources of a target, if it is known.
    pub fn in_sources(&self, target: &TargetId) -> Option<Function> {
        let CodeChange { item, path, line, .. } = self.item.clone()?;
        Some(Function { package: target.package.clone(), file: path, line, name: item })
    }
}

/// Formats `count_words (src/lib.rs:3)`.
impl fmt::Display for EnteredFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        self.item.as_ref().map_or(Ok(()), |CodeChange { path, line, .. }| write!(f, " ({path}:{line})"))
    }
}
