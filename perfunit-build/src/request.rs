//! What is to be built of one side, and how.

use super::configuration::said_by_variables;
use perfunit_model::error::Result;
use perfunit_model::{Lto, TargetId, TargetKind};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Cargo's own options, as the user typed them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    pub profile: String,
    /// What becomes of the profile's link-time optimization.
    #[serde(default)]
    pub lto: Lto,
    /// Passed through: features, lock file policy, target triple, `-j`, `--config`.
    pub arguments: Vec<String>,
}

/// One side to build.
#[derive(Debug)]
pub struct Request<'a> {
    pub options: &'a Options,
    /// What becomes of the profile's link-time optimization; `Off` only if there is one to leave out.
    pub lto: Lto,
    /// Content of the side: file set and injections.
    pub content_key: &'a str,
    /// The workspace's manifest in the tree.
    pub manifest: PathBuf,
    /// Cargo's configuration files, outermost first.
    pub config_files: Vec<PathBuf>,
    /// The targets to build.
    pub targets: &'a BTreeSet<TargetId>,
    /// Folders in the tree of the packages, by name: a name alone may also be that of a dependency.
    pub package_folders: &'a BTreeMap<String, PathBuf>,
    /// The packages that the user asked for, as far as this side has them, with their targets that hold tests.
    pub packages: &'a BTreeMap<String, BTreeSet<TargetId>>,
    /// The targets are all that their packages have.
    pub whole_packages: bool,
    /// One of the targets is only built with certain features.
    pub requires_features: bool,
    /// One of the bench targets has `bench = false`: cargo takes it only by its name.
    pub names_benches: bool,
    /// Our folder below cargo's target folder.
    pub ours: &'a Path,
    /// Cargo's target folder for this build, below `build` in ours.
    pub target_dir: &'a Path,
    /// Where the doc tests of the other side are, if it was built before: this one gets the same.
    pub texts: Option<&'a Path>,
    /// When cargo is stopped.
    pub deadline: Option<Instant>,
}

impl Request<'_> {
    /// The libraries whose doc tests are wanted.
    pub fn doctests(&self) -> BTreeSet<&TargetId> {
        self.targets.iter().filter(|target| target.kind == TargetKind::Doctest).collect()
    }

    /// Has cargo read the manifest of the tree, and the configuration of the project, below what the environment says.
    pub fn configure(&self, command: &mut Command) -> Result<()> {
        command.arg("--manifest-path").arg(&self.manifest);
        for config in &self.config_files {
            command.arg("--config").arg(config);
        }
        for said in said_by_variables(&self.config_files, &|name| std::env::var(name).ok())? {
            command.arg("--config").arg(said);
        }
        // Not in the tree: the folders above it, the user's own, may hold configuration files that are already in the list.
        command.current_dir("/");
        Ok(())
    }
}
