//! Possible causes of a difference outside the functions with probes: dependencies, configuration, and code that is not
//! timed separately.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A change that can reach the test, outside the timed functions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Changed {
    /// A package from a registry or from git.
    Dependency {
        /// Name of the package.
        package: String,
        /// Versions that only base has.
        base: Vec<String>,
        /// Versions that only head has; the same as base's if source or checksum differ.
        head: Vec<String>,
    },
    /// A package in the repository without probes in tests: a procedural macro, or a package that is not a member of the
    /// workspace.
    LocalDependency {
        /// Name of the package.
        package: String,
        /// Changed items of the package.
        changes: Vec<CodeChange>,
    },
    /// A file that configures the build.
    Configuration {
        /// Path of the file, relative to the repository's root.
        path: String,
        /// Keys that differ, such as `profile.bench.lto`; empty if the whole file is new, removed or unreadable.
        keys: Vec<String>,
    },
    /// A build script.
    BuildScript {
        /// Path of the build script, relative to the repository's root.
        path: String,
    },
    /// Workspace code without a probe: a type, a constant, a macro, or a function that is too small to be timed.
    Code(CodeChange),
    /// Another file, which may be compiled into the code.
    File {
        /// Path of the file, relative to the repository's root.
        path: String,
    },
}

/// An item of source code that changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct CodeChange {
    /// Kind of the change.
    pub change: ChangeKind,
    /// Name of the item: `Parser::line`, `impl Parser`.
    pub item: String,
    /// Path of the file, relative to the repository's root; in base if the item was removed.
    pub path: String,
    /// Line in the file, from 1.
    pub line: usize,
}

/// Kind of change of an item.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, strum::Display,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum ChangeKind {
    Added,
    Removed,
    /// The item is in both versions, with different tokens.
    Changed,
    /// The item has the same tokens in another file or module.
    Moved,
}

/// A possible cause, with its share of a test's difference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    pub changed: Changed,
    /// Share of the test's difference that is attributed to functions with unchanged source that this cause can reach,
    /// including the test's own code. 1 is the whole difference; larger if other functions became faster.
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub share: f64,
}

/// Formats `changed LIMIT (src/lib.rs:3)`.
impl fmt::Display for CodeChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { change, item, path, line } = self;
        write!(f, "{change} {item} ({path}:{line})")
    }
}
