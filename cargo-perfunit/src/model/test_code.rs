//! How a test's own code differs between the versions: then two workloads would be compared, and not two versions.

use super::CodeChange;
use serde::{Deserialize, Serialize};

/// How a test's own code differs between the versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum TestCodeDifference {
    GoneInHead,
    NewInHead,
    Changed { item: TestCodeItem },
}

/// An item of a test's own code that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TestCodeItem {
    /// The last part of its name: the function is spelled out in one version, or in both and differs.
    Function(String),
    Doctest(String),
    Macro(CodeChange),
    MacroCall(CodeChange),
    /// A function, type or constant of test code that it names.
    Helper(CodeChange),
}
