//! Why a test can have changed, in terms of its machine code.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What of a test's machine code differs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Why {
    /// Functions from the test to the nearest changed one, demangled; the nearest changed one is the last.
    pub path: Vec<String>,
    /// Where the two versions can first part: the test runs the same instructions until it comes to one of these.
    pub changed: Vec<ChangedFunction>,
}

/// A function whose machine code, or whose data, differs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ChangedFunction {
    /// Demangled name.
    pub name: String,
    /// What it uses that differs, if it is not its own code: a constant, a table.
    pub data: Option<String>,
}
