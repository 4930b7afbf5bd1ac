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
        /// What of it changed, in words.
        changes: Vec<String>,
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
    Code {
        /// What it is, in words: `changed LIMIT (src/lib.rs:3)`.
        item: String,
    },
    /// Another file, which the code may have built in.
    File {
        /// The file, from the root of the repository.
        path: String,
    },
}

/// Something that changed, and how much of a test's difference it can be behind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    pub changed: Changed,
    /// The part of the test's difference that is attributed to functions whose source is the same in both versions and
    /// that this can reach; the test's own code is among them. 1 is all; more than 1 where others became faster.
    #[serde(deserialize_with = "super::float::one")]
    pub share: f64,
}

impl fmt::Display for Changed {
    /// `serde 1.0.200 -> 1.0.219`, `Cargo.toml: profile.bench.lto`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Changed::Dependency { package, base, head } => match (base.join(", "), head.join(", ")) {
                (base, head) if base.is_empty() => write!(f, "{package} {head} (new)"),
                (base, head) if head.is_empty() => write!(f, "{package} {base} (removed)"),
                (base, head) if base == head => write!(f, "{package} {head} (from another source)"),
                (base, head) => write!(f, "{package} {base} -> {head}"),
            },
            Changed::LocalDependency { package, changes } => write!(f, "{package}: {}", some(changes)),
            Changed::Configuration { path, keys } if keys.is_empty() => f.write_str(path),
            Changed::Configuration { path, keys } => write!(f, "{path}: {}", some(keys)),
            Changed::BuildScript { path } => write!(f, "build script {path}"),
            Changed::Code { item } => f.write_str(item),
            Changed::File { path } => f.write_str(path),
        }
    }
}

/// The first few of a list.
fn some(list: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown = list.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = list.len().saturating_sub(SHOWN);
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dependency(base: &[&str], head: &[&str]) -> String {
        let owned = |versions: &[&str]| versions.iter().map(ToString::to_string).collect();
        Changed::Dependency { package: "serde".into(), base: owned(base), head: owned(head) }.to_string()
    }

    #[test]
    fn versions_read_from_base_to_head() {
        assert_eq!(dependency(&["1.0.200"], &["1.0.219"]), "serde 1.0.200 -> 1.0.219");
        assert_eq!(dependency(&["1.0.1"], &["1.0.1"]), "serde 1.0.1 (from another source)");
        assert_eq!(dependency(&[], &["1.0.1"]), "serde 1.0.1 (new)");
        assert_eq!(dependency(&["0.9.0", "1.0.1"], &[]), "serde 0.9.0, 1.0.1 (removed)");
    }

    #[test]
    fn long_lists_are_cut() {
        let keys = ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec();
        let told = Changed::Configuration { path: "Cargo.toml".into(), keys }.to_string();
        assert_eq!(told, "Cargo.toml: a, b, c and 2 more");
    }
}
