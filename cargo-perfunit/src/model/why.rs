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
    /// What else it can start, load or read that differs, if its own code is the same.
    #[serde(default)]
    pub others: Vec<OtherInput>,
}

impl Why {
    /// Whether two tests can begin to differ at exactly the same places.
    pub fn is_alike(&self, other: &Self) -> bool {
        self.changed == other.changed && self.others == other.others
    }
}

/// What tests can start, load or read besides their own executable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum OtherInput {
    /// A binary of the workspace, by what its `main` leads to.
    Binary { name: String },
    /// A shared library of the project.
    Library { name: String },
    /// A variable that cargo sets.
    Variable { name: String },
    /// A file that a build script left in `OUT_DIR`.
    OutDirFile { path: String },
}

/// A function whose machine code, or whose data, differs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ChangedFunction {
    /// Demangled name.
    pub name: String,
    /// What it uses that differs, if it is not its own code: a constant, a table.
    pub data: Option<String>,
}
