//! Packages and targets of a version, as the stages need them.

use crate::model::{TargetId, TargetKind};
use crate::system::fs;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// One version's workspace. All paths are relative to the git root, with `/`.
#[derive(Debug, Clone, Default)]
pub struct Workspace {
    /// Root folder, empty for the git root itself.
    pub root: String,
    /// Members, then what of the repository they depend on by path, or by a patch of the root manifest.
    pub packages: Vec<Package>,
    /// Path dependencies and patches outside of the repository: absolute folders.
    pub outside: BTreeSet<PathBuf>,
}

impl Workspace {
    pub fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| package.member)
    }

    /// Adds the doc tests of the members' libraries as targets of their own.
    pub fn add_doctests(&mut self) {
        for package in self.packages.iter_mut().filter(|package| package.member && package.doctests) {
            let library = package.targets.iter().find(|target| target.id.kind == TargetKind::Lib);
            let doctests = library.map(|library| Target {
                id: TargetId { kind: TargetKind::Doctest, ..library.id.clone() },
                root: library.root.clone(),
                tested: true,
                benched: false,
                requires_features: false,
            });
            package.targets.extend(doctests);
        }
    }

    /// Takes the targets with benchmarks of the members, as `cargo bench` does: `all` means with `--benches`, else the ones
    /// that it names. Those among unit tests are targets of their own, where a target is said to have any.
    pub fn add_benches(&mut self, all: bool, has_benches: &dyn Fn(&Package, &Target) -> bool) {
        for package in self.packages.iter_mut().filter(|package| package.member) {
            let among_tests = |target: &Target| {
                let kind = target.id.kind.of_benches().filter(|_| target.benched && has_benches(package, target))?;
                Some(Target { id: TargetId { kind, ..target.id.clone() }, tested: true, ..target.clone() })
            };
            let among_tests: Vec<Target> = package.targets.iter().filter_map(among_tests).collect();
            for target in package.targets.iter_mut().filter(|target| target.id.kind == TargetKind::Bench) {
                target.tested = target.benched || !all;
            }
            package.targets.extend(among_tests);
        }
    }
}

/// A package of the repository.
#[derive(Debug, Clone, Default)]
pub struct Package {
    pub name: String,
    /// Its version; empty where it is not known.
    pub version: String,
    /// Folder of its manifest.
    pub dir: String,
    /// True for workspace members: only those have tests to run.
    pub member: bool,
    /// Dependencies on other packages of this list.
    pub dependencies: Vec<Dependency>,
    /// Dependencies on other packages: from registries, by git, outside of the repository.
    pub elsewhere: Vec<Dependency>,
    /// All targets that can hold tests.
    pub targets: Vec<Target>,
    /// Root file of the build script.
    pub build_script: Option<String>,
    /// True if `cargo test` would run documentation tests.
    pub doctests: bool,
}

/// A dependency on a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependency {
    pub package: String,
    /// Only for tests, examples and benchmarks.
    pub dev: bool,
}

/// A target that can hold tests.
#[derive(Debug, Clone)]
pub struct Target {
    pub id: TargetId,
    pub root: String,
    /// False with `test = false`.
    pub tested: bool,
    /// True if `cargo bench` takes it unasked; of libraries and binaries the `#[bench]` functions.
    pub benched: bool,
    /// True if it is only built with certain features.
    pub requires_features: bool,
}

/// `path` relative to `root` with `/`; `None` if it lies outside. Cargo gives a target's path as the manifest has it, with `..`.
pub(super) fn relative(root: &Path, path: &Path) -> Option<String> {
    let path = fs::normal(path);
    let relative = path.strip_prefix(root).ok()?;
    let parts: Vec<_> = relative.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    Some(parts.join("/"))
}
