//! What changed besides functions with a probe, and can be behind a difference: dependencies, configuration, code that
//! is not timed by itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Something that changed and can reach the test, other than a function that is timed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Changed {
    /// A package of a registry or of git.
    Dependency {
        /// Its name.
        package: String,
        /// Versions that only base has.
        base: Vec<String>,
        /// Versions that only head has; the same as base's where source or checksum differ.
        head: Vec<String>,
    },
    /// A package of the repository that is no member of the workspace, and whose functions carry no probes.
    LocalDependency {
        /// Its name.
        package: String,
        /// What of it changed.
        changes: Vec<CodeChange>,
    },
    /// A file that says how to build.
    Configuration {
        /// The file, from the root of the repository.
        path: String,
        /// The keys that differ: `profile.bench.lto`. Empty: the whole file is new, gone, or cannot be read.
        keys: Vec<String>,
    },
    /// A build script.
    BuildScript {
        /// Its file, from the root of the repository.
        path: String,
    },
    /// Code of the workspace that carries no probe: a type, a constant, a macro, a function too small to be timed.
    Code(CodeChange),
    /// Another file, which the code may have built in.
    File {
        /// The file, from the root of the repository.
        path: String,
    },
}

/// An item of source code that changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct CodeChange {
    /// What happened to it.
    pub change: ChangeKind,
    /// What to call it: `Parser::line`, `impl Parser`.
    pub item: String,
    /// Its file, from the root of the repository: head's, or base's if it was removed.
    pub path: String,
    /// Line in that file, from 1.
    pub line: usize,
}

/// What happened to an item.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, strum::Display,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum ChangeKind {
    Added,
    Removed,
    /// In both, with other tokens.
    Changed,
    /// The same tokens in another file or module.
    Moved,
}

/// Something that changed, and how much of a test's difference it can be behind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    pub changed: Changed,
    /// The part of the test's difference that is attributed to functions whose source is the same in both versions and
    /// that this can reach; the test's own code is among them. 1 is all; more than 1 where others became faster.
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub share: f64,
}

/// `changed LIMIT (src/lib.rs:3)`.
impl fmt::Display for CodeChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { change, item, path, line } = self;
        write!(f, "{change} {item} ({path}:{line})")
    }
}
