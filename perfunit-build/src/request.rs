//! The request to build one side.

use super::configuration::variable_overrides;
use perfunit_model::error::Result;
use perfunit_model::{Lto, TargetId, TargetKind};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Cargo options from the user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    pub profile: String,
    /// Use of the profile's link-time optimization.
    #[serde(default)]
    pub lto: Lto,
    /// Arguments for cargo: features, lock file policy, target triple, `-j`, `--config`.
    pub arguments: Vec<String>,
}

/// Request to build one side.
#[derive(Debug)]
pub struct Request<'a> {
    pub options: &'a Options,
    /// Use of the profile's link-time optimization; `Off` only if there is one to disable.
    pub lto: Lto,
    /// Key of the side's content: file set and injections.
    pub content_key: &'a str,
    /// Manifest of the workspace in the tree.
    pub manifest: PathBuf,
    /// Cargo's configuration files, outermost first.
    pub config_files: Vec<PathBuf>,
    /// Targets to build.
    pub targets: &'a BTreeSet<TargetId>,
    /// Folders of the packages in the tree, by name. A name alone is ambiguous if a dependency has the same name.
    pub package_folders: &'a BTreeMap<String, PathBuf>,
    /// Packages that the user selected and that this side has, with their targets that hold tests.
    pub packages: &'a BTreeMap<String, BTreeSet<TargetId>>,
    /// True if `targets` contains all targets of their packages.
    pub whole_packages: bool,
    /// True if one of the targets is only built with certain features.
    pub requires_features: bool,
    /// True if one of the bench targets has `bench = false`, so that cargo builds it only by name.
    pub names_benches: bool,
    /// Our state folder, below cargo's target folder.
    pub ours: &'a Path,
    /// Cargo's target folder for this build, below `build` in our state folder.
    pub target_dir: &'a Path,
    /// Folder with the doc tests of the other side, if that was built before; this side uses the same.
    pub texts: Option<&'a Path>,
    /// Environment variables that steps before the build set.
    pub variables: &'a BTreeMap<String, String>,
    /// Time at which to stop cargo.
    pub deadline: Option<Instant>,
}

impl Request<'_> {
    /// Returns the libraries with wanted doc tests.
    pub fn doctests(&self) -> BTreeSet<&TargetId> {
        self.targets.iter().filter(|target| target.kind == TargetKind::Doctest).collect()
    }

    /// Makes cargo read the manifest in the tree and the project's configuration, with lower precedence than the
    /// environment.
    pub fn configure(&self, command: &mut Command) -> Result<()> {
        command.arg("--manifest-path").arg(&self.manifest);
        for config in &self.config_files {
            command.arg("--config").arg(config);
        }
        for setting in variable_overrides(&self.config_files, &|name| std::env::var(name).ok())? {
            command.arg("--config").arg(setting);
        }
        // Run outside of the tree: the user's folders above it may contain configuration files that were already added.
        command.current_dir("/");
        Ok(())
    }
}
