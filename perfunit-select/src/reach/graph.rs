//! The workspace as needed to decide what a change reaches: packages, targets, files, local dependencies.

use crate::source::FileInTarget;
use perfunit_model::{TargetId, TargetKind};
use perfunit_project::cargo::{Dependency, DependencyKind};
use perfunit_project::git::path::{is_below, parent, within};
use std::collections::{BTreeMap, BTreeSet};

/// Files of a target by path, as [`crate::source::modules`] finds them.
pub type Files = BTreeMap<String, FileInTarget>;

/// External dependencies of each package.
pub type External = BTreeMap<String, BTreeSet<String>>;
/// Packages with changed features, each with the path of a file that may be the cause.
pub type Refeatured = BTreeMap<String, String>;

/// The workspace. All paths are relative to the root of the repository, with `/`, without a trailing one; the root is
/// `""`.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    /// Folder of the workspace's manifest and lock file.
    pub root: String,
    /// Members and other local packages.
    pub packages: Vec<PackageNode>,
    /// External packages that each local package depends on, directly or indirectly, for builds, tests and build
    /// scripts. A package that is missing or has none may depend on any.
    pub external: External,
    /// Packages, including external ones, with other features than in base, and a manifest or lock file that may be the
    /// cause.
    pub refeatured: Refeatured,
    /// Folders of vendored packages, and changed files that cargo's configuration names. Their content reaches
    /// everything.
    pub decisive: Vec<String>,
    /// Folders with a manifest that is not in `packages` (such as a `fuzz` crate). Their content reaches nothing.
    pub outside: Vec<String>,
    /// For changed data files, the folders of the packages with code that names them. In their own package only the
    /// code of library and binaries counts.
    pub named_by: BTreeMap<String, BTreeSet<String>>,
    /// For other changed files, the code files and build scripts that embed them as data.
    pub taken_in: BTreeMap<String, BTreeSet<String>>,
    /// For the folder of a package, the folders of packages with code that names one of its binaries. All their tests
    /// may start it.
    pub started_by: BTreeMap<String, BTreeSet<String>>,
}

#[derive(Debug, Clone, Default)]
pub struct PackageNode {
    pub name: String,
    /// Folder of its manifest.
    pub dir: String,
    /// Local path dependencies.
    pub dependencies: Vec<Dependency>,
    pub targets: Vec<TargetNode>,
    /// Root file of the build script.
    pub build_script: Option<String>,
    /// True if the package is a workspace member. Tests of other path dependencies are not ours.
    pub member: bool,
    /// True if the library is a procedural macro: its functions run in compilers, not in the tests of other packages.
    pub is_macro: bool,
}

/// A target of a package.
#[derive(Debug, Clone)]
pub struct TargetNode {
    pub id: TargetId,
    pub root: String,
    /// Files, including the root file.
    pub files: Files,
    /// True if it is built as a test executable.
    pub has_tests: bool,
}

impl Graph {
    /// Returns the index of the innermost package around a file; `None` if the file is in a package outside the
    /// workspace.
    pub fn nearest_package(&self, path: &str) -> Option<usize> {
        let inside = |dir: &str| is_below(path, dir);
        let (position, package) = self
            .packages
            .iter()
            .enumerate()
            .filter(|(_, package)| inside(&package.dir))
            .max_by_key(|(_, package)| package.dir.len())?;
        let is_outside = self.outside.iter().any(|dir| inside(dir) && dir.len() > package.dir.len());
        (!is_outside).then_some(position)
    }

    /// Returns the package at this index and all packages that depend on it, directly or indirectly, for any purpose.
    pub fn dependents(&self, position: usize) -> BTreeSet<String> {
        let mut found = BTreeSet::from([self.packages[position].name.clone()]);
        loop {
            let depends =
                |package: &&PackageNode| package.dependencies.iter().any(|known| found.contains(&known.package));
            let more: Vec<String> = self.packages.iter().filter(depends).map(|package| package.name.clone()).collect();
            let before = found.len();
            found.extend(more);
            if found.len() == before {
                return found;
            }
        }
    }

    /// Returns the packages with code that build scripts may run: their dependencies, direct and indirect.
    pub fn used_by_build_scripts(&self) -> BTreeSet<&str> {
        let all = self.packages.iter().flat_map(|package| &package.dependencies);
        let direct = all.filter(|known| known.kind == DependencyKind::Build);
        let mut queue: Vec<&str> = direct.map(|known| known.package.as_str()).collect();
        let mut found = BTreeSet::new();
        while let Some(name) = queue.pop() {
            if found.insert(name) {
                let named = self.packages.iter().filter(|package| package.name == name);
                queue.extend(named.flat_map(|package| &package.dependencies).map(|known| known.package.as_str()));
            }
        }
        found
    }

    /// Checks for the folders of a package with code that uses the library: tests, benchmarks, examples.
    pub fn is_beside_the_library(&self, path: &str) -> bool {
        let inside = self.nearest_package(path).and_then(|position| within(path, &self.packages[position].dir));
        let folder = inside.and_then(|inside| inside.split_once('/'));
        folder.is_some_and(|(folder, _)| ["tests", "benches", "examples"].contains(&folder))
    }

    /// Checks whether a file reaches everything.
    pub fn is_decisive(&self, path: &str) -> bool {
        self.decisive.iter().any(|known| known == path || is_below(path, known))
    }

    /// Checks whether a file is in the folder of a package's library.
    pub fn is_in_library_folder(&self, path: &str) -> bool {
        self.nearest_package(path).is_some_and(|package| {
            let targets = &self.packages[package].targets;
            let library = targets.iter().find(|target| target.id.kind == TargetKind::Lib);
            library.is_some_and(|library| is_below(path, parent(&library.root)))
        })
    }

    pub fn has_build_script(&self, path: &str) -> bool {
        self.nearest_package(path).is_some_and(|package| self.packages[package].build_script.is_some())
    }

    /// Checks whether cargo or rustup finds this configuration file on the way up from the workspace's folder.
    pub fn is_configured_by(&self, configuration: &str) -> bool {
        let at = parent(configuration);
        let above = if at.rsplit('/').next() == Some(".cargo") { parent(at) } else { at };
        self.root == above || is_below(&self.root, above)
    }

    /// Checks whether a file is in a package outside the workspace.
    pub fn is_outside(&self, path: &str) -> bool {
        self.nearest_package(path).is_none() && self.outside.iter().any(|dir| is_below(path, dir))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependents_are_direct_and_indirect() {
        let package = |name: &str, dependencies: &[&str]| PackageNode {
            name: name.to_owned(),
            dependencies: dependencies
                .iter()
                .map(|name| Dependency { package: (*name).to_owned(), kind: DependencyKind::Normal })
                .collect(),
            ..PackageNode::default()
        };
        let packages = vec![package("a", &["b"]), package("b", &["c"]), package("c", &[]), package("d", &[])];
        let graph = Graph { packages, ..Graph::default() };
        let of = |position| graph.dependents(position).into_iter().collect::<Vec<_>>();
        assert_eq!(graph.used_by_build_scripts(), BTreeSet::new());
        let mut built = graph.clone();
        built.packages[0].dependencies[0].kind = DependencyKind::Build;
        assert_eq!(built.used_by_build_scripts(), BTreeSet::from(["b", "c"]));
        assert_eq!(
            (of(2), of(1), of(3)),
            (vec!["a".into(), "b".into(), "c".into()], vec!["a".into(), "b".into()], vec!["d".into()])
        );
    }

    #[test]
    fn the_innermost_package_is_nearest() {
        let package = |dir: &str| PackageNode { dir: dir.to_owned(), ..PackageNode::default() };
        let graph = Graph {
            packages: vec![package(""), package("crates/a")],
            outside: vec!["fuzz".to_owned()],
            ..Graph::default()
        };
        assert_eq!(graph.nearest_package("src/lib.rs"), Some(0));
        assert_eq!(graph.nearest_package("crates/a/src/lib.rs"), Some(1));
        assert_eq!(graph.nearest_package("crates/ab/src/lib.rs"), Some(0));
        assert_eq!(graph.nearest_package("fuzz/main.rs"), None);
        assert!(graph.is_outside("fuzz/main.rs") && !graph.is_outside("main.rs"));
        assert!(graph.is_beside_the_library("crates/a/tests/it.rs") && graph.is_beside_the_library("benches/a/b.bin"));
        assert!(
            !graph.is_beside_the_library("crates/a/src/tests/a.rs") && !graph.is_beside_the_library("crates/a/tests")
        );
    }
}
