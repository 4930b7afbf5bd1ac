//! Finds the targets that a change can reach, along files, packages and their dependencies.

use super::graph::{Graph, PackageNode};
use crate::source::{ChangedInput, ChangedItem, InputKind, ItemKind, SourceDiff};
use perfunit_model::{ChangeKind, ReachedBy, TargetId, TargetKind};
use perfunit_project::git::path::{is_below, parent};
use std::collections::{BTreeMap, BTreeSet};

/// Targets that a change can reach.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reached {
    /// Targets with tests of workspace members, each with its causes, the most informative first.
    pub targets: BTreeMap<TargetId, Vec<ReachedBy>>,
    /// Changed files that are in no package of the workspace and reach nothing.
    pub nowhere: Vec<String>,
}

/// Reason why a target is reached, and whether it concerns code that others can call.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Cause {
    by: ReachedBy,
    is_not_code: bool,
}

impl From<ReachedBy> for Cause {
    fn from(by: ReachedBy) -> Self {
        Self { by, is_not_code: false }
    }
}

/// Finds the targets that the difference can reach.
pub fn reach(graph: &Graph, diff: &SourceDiff) -> Reached {
    let mut sources = Sources::new(graph);
    for item in &diff.items {
        sources.item(item);
    }
    for input in &diff.inputs {
        sources.input(input);
    }
    for (path, by) in &graph.taken_in {
        for by in by {
            sources.taken_in(path, by);
        }
    }
    for (package, path) in &graph.refeatured {
        sources.record_features(package, path);
    }
    sources.finish()
}

type CauseSet = BTreeSet<usize>;

/// Causes in one package.
#[derive(Default, Clone)]
struct InPackage {
    /// Causes in the files of each target.
    targets: Vec<CauseSet>,
    /// Causes for all of its own targets.
    own: CauseSet,
    /// Causes for all of its targets, and for everything that depends on its library.
    exported: CauseSet,
    /// Causes in its binaries, which its integration tests can start.
    binaries: CauseSet,
}

struct Sources<'a> {
    graph: &'a Graph,
    /// Targets that contain each file: package, target, test-only.
    holders: BTreeMap<&'a str, Vec<(usize, usize, bool)>>,
    /// Packages by name. Several can have the same name: a member, and the patch of an older version of it.
    named: BTreeMap<&'a str, Vec<usize>>,
    packages: Vec<InPackage>,
    causes: Vec<Cause>,
    nowhere: BTreeSet<String>,
}

impl<'a> Sources<'a> {
    fn new(graph: &'a Graph) -> Self {
        let mut holders = BTreeMap::<_, Vec<_>>::new();
        let mut named = BTreeMap::<_, Vec<_>>::new();
        for (package, node) in graph.packages.iter().enumerate() {
            named.entry(node.name.as_str()).or_default().push(package);
            for (target, node) in node.targets.iter().enumerate() {
                for (path, file) in &node.files {
                    holders.entry(path.as_str()).or_default().push((package, target, file.test_only));
                }
            }
        }
        let empty = |node: &PackageNode| InPackage {
            targets: vec![CauseSet::new(); node.targets.len()],
            ..InPackage::default()
        };
        let packages = graph.packages.iter().map(empty).collect();
        Self { graph, holders, named, packages, causes: Vec::new(), nowhere: BTreeSet::new() }
    }

    fn cause(&mut self, cause: impl Into<Cause>) -> usize {
        let cause = cause.into();
        match self.causes.iter().rposition(|known| *known == cause) {
            Some(position) if !matches!(cause.by, ReachedBy::Item(_)) => position,
            _ => {
                self.causes.push(cause);
                self.causes.len() - 1
            }
        }
    }

    fn item(&mut self, item: &ChangedItem) {
        let path = &item.path;
        let is_not_code =
            matches!(item.kind, ItemKind::Use | ItemKind::Module | ItemKind::Attributes | ItemKind::Other);
        if self.graph.is_decisive(path) {
            return self.everywhere(ReachedBy::Item(item.code_change()));
        }
        let cause = Cause { by: ReachedBy::Item(item.code_change()), is_not_code };
        let mut placed = false;
        for path in [Some(path), item.from.as_ref()].into_iter().flatten() {
            let Some(holders) = self.holders.get(path.as_str()).cloned() else { continue };
            let cause = self.cause(cause.clone());
            for holder in holders {
                self.place(holder, item.test_only, cause);
            }
            placed = true;
        }
        if !placed && !self.build_script(path) {
            self.stray_rust_file(item);
        }
    }

    /// Records a cause in a file of a target.
    fn place(&mut self, (package, target, file_test_only): (usize, usize, bool), test_only: bool, cause: usize) {
        self.packages[package].targets[target].insert(cause);
        if test_only || file_test_only {
            return;
        }
        match self.graph.packages[package].targets[target].id.kind {
            TargetKind::Lib => drop(self.packages[package].exported.insert(cause)),
            TargetKind::Bin => drop(self.packages[package].binaries.insert(cause)),
            // Files of other targets are listed under the library or binary too, if it contains them.
            _ => {}
        }
    }

    /// Records a change of a build script. Returns false if the path is not one.
    fn build_script(&mut self, path: &str) -> bool {
        let packages = self.graph.packages.iter().enumerate();
        let of_it = packages.filter(|(_, node)| node.build_script.as_deref() == Some(path));
        let of_it: Vec<usize> = of_it.map(|(position, _)| position).collect();
        if of_it.is_empty() {
            return false;
        }
        let cause = self.cause(ReachedBy::BuildScript { path: path.to_owned() });
        for package in of_it {
            self.packages[package].exported.insert(cause);
        }
        true
    }

    /// Records Rust code outside of head's module tree: generated, included by a macro, a module of a build script,
    /// removed.
    fn stray_rust_file(&mut self, item: &ChangedItem) {
        let path = &item.path;
        let Some(package) = self.graph.nearest_package(path) else {
            self.nowhere.insert(path.clone());
            return;
        };
        let beside_the_library = self.graph.is_beside_the_library(path);
        // The targets that contained a removed file no longer declare it, which is a change of theirs.
        if beside_the_library && item.change == ChangeKind::Removed {
            self.nowhere.insert(path.clone());
            return;
        }
        let cause = self.cause(ReachedBy::File { path: path.clone() });
        let package = &mut self.packages[package];
        if beside_the_library {
            package.own.insert(cause)
        } else {
            package.exported.insert(cause)
        };
    }

    fn input(&mut self, input: &ChangedInput) {
        let path = input.path.clone();
        if self.graph.is_decisive(&path) {
            return self.everywhere(ReachedBy::File { path });
        }
        if input.kind == InputKind::Data && self.data_file(&path) && self.graph.nearest_package(&path).is_none() {
            return;
        }
        if input.kind == InputKind::CargoConfig && self.graph.is_configured_by(&path) {
            return self.everywhere(ReachedBy::File { path });
        }
        if self.graph.is_outside(&path) {
            return self.outside(path, &input.kind);
        }
        let at_root = parent(&path) == self.graph.root;
        match &input.kind {
            InputKind::LockFile { packages } if at_root => self.lock_file(&path, packages),
            InputKind::CargoConfig => self.everywhere(ReachedBy::File { path }),
            InputKind::Manifest | InputKind::WorkspaceManifest if at_root => self.everywhere(ReachedBy::File { path }),
            InputKind::ManifestVersion if at_root => self.everywhere(ReachedBy::Version { path }),
            // Only the lock file at the root counts, as do profiles and patches.
            InputKind::LockFile { .. } => drop(self.nowhere.insert(path)),
            InputKind::Manifest | InputKind::WorkspaceManifest => {
                self.in_package(path, |path| ReachedBy::File { path }, Exported::Yes);
            }
            // Code of other packages may read it in a constant derived from `CARGO_PKG_VERSION`.
            InputKind::ManifestVersion => self.in_package(path, |path| ReachedBy::Version { path }, Exported::Yes),
            InputKind::BuildScript => {
                if !self.build_script(&path) {
                    self.in_package(path, |path| ReachedBy::BuildScript { path }, Exported::Yes);
                }
            }
            InputKind::Data => {
                // Data embedded in the library is next to its code or read by a build script. Otherwise its code names
                // the file.
                let is_built_in = self.graph.is_in_library_folder(&path)
                    || (self.graph.has_build_script(&path) && !self.graph.is_beside_the_library(&path));
                let exported = if is_built_in { Exported::Yes } else { Exported::No };
                self.in_package(path, |path| ReachedBy::File { path }, exported);
            }
        }
    }

    /// Records a file of another workspace. Our path dependencies that are members there inherit from its manifest.
    fn outside(&mut self, path: String, kind: &InputKind) {
        let folder = parent(&path);
        let is_heir = |package: &PackageNode| !package.member && is_below(&package.dir, folder);
        let packages = self.graph.packages.iter().enumerate();
        let heirs: Vec<usize> = packages.filter(|(_, package)| is_heir(package)).map(|(at, _)| at).collect();
        let cause = match kind {
            InputKind::Manifest | InputKind::WorkspaceManifest if !heirs.is_empty() => ReachedBy::File { path },
            InputKind::ManifestVersion if !heirs.is_empty() => ReachedBy::Version { path },
            _ => {
                self.nowhere.insert(path);
                return;
            }
        };
        let cause = self.cause(cause);
        for heir in heirs {
            self.packages[heir].exported.insert(cause);
        }
    }

    /// Records a data file in the packages whose code names it. Their tests and those of dependent packages may read
    /// it. Returns false if there are none.
    fn data_file(&mut self, path: &str) -> bool {
        let Some(folders) = self.graph.named_by.get(path) else { return false };
        let cause = self.cause(ReachedBy::File { path: path.to_owned() });
        for (position, package) in self.graph.packages.iter().enumerate() {
            if folders.contains(&package.dir) {
                self.packages[position].exported.insert(cause);
            }
        }
        true
    }

    /// Records a file that another one embeds as data, as if the other file had changed.
    fn taken_in(&mut self, path: &str, by: &str) {
        let cause = self.cause(ReachedBy::File { path: path.to_owned() });
        let holders = self.holders.get(by).cloned().unwrap_or_default();
        for holder in &holders {
            self.place(*holder, false, cause);
        }
        let Some(package) = self.graph.nearest_package(by).filter(|_| holders.is_empty()) else { return };
        let package = &mut self.packages[package];
        if self.graph.is_beside_the_library(by) {
            package.own.insert(cause);
        } else {
            package.exported.insert(cause);
        }
    }

    fn everywhere(&mut self, cause: ReachedBy) {
        let cause = self.cause(cause);
        for package in &mut self.packages {
            package.own.insert(cause);
        }
    }

    fn in_package(&mut self, path: String, cause: impl FnOnce(String) -> ReachedBy, exported: Exported) {
        let Some(package) = self.graph.nearest_package(&path) else {
            self.nowhere.insert(path);
            return;
        };
        let cause = self.cause(cause(path));
        let package = &mut self.packages[package];
        match exported {
            Exported::Yes => package.exported.insert(cause),
            Exported::No => package.own.insert(cause),
        };
    }

    fn lock_file(&mut self, path: &str, changed: &[String]) {
        for (position, package) in self.graph.packages.iter().enumerate() {
            let known = self.graph.external.get(&package.name).filter(|known| !known.is_empty());
            let packages: Vec<String> = match known {
                Some(known) => changed.iter().filter(|name| known.contains(*name)).cloned().collect(),
                None => changed.to_vec(),
            };
            if !packages.is_empty() || changed.is_empty() {
                let cause = self.cause(ReachedBy::LockFile { path: path.to_owned(), packages });
                self.packages[position].own.insert(cause);
            }
        }
    }

    /// Records a package with changed features. The cause may be a file of another package.
    fn record_features(&mut self, name: &str, path: &str) {
        let cause = self.cause(ReachedBy::File { path: path.to_owned() });
        for (position, package) in self.graph.packages.iter().enumerate() {
            if package.name == name {
                self.packages[position].exported.insert(cause);
            }
            if self.graph.external.get(&package.name).is_some_and(|external| external.contains(name)) {
                self.packages[position].own.insert(cause);
            }
        }
    }

    fn finish(self) -> Reached {
        let mut targets = BTreeMap::new();
        for (position, package) in self.graph.packages.iter().enumerate().filter(|(_, package)| package.member) {
            let here = &self.packages[position];
            let shared = &self.through_dependencies(position) | &self.through_programs(package);
            for (own, target) in here.targets.iter().zip(&package.targets).filter(|(_, target)| target.has_tests) {
                let mut causes: CauseSet = own | &shared;
                if target.id.kind.is_told_of_binaries() {
                    causes.extend(&here.binaries);
                }
                if !causes.is_empty() {
                    targets.insert(target.id.clone(), self.most_informative_first(&causes));
                }
            }
        }
        Reached { targets, nowhere: self.nowhere.into_iter().collect() }
    }

    /// Returns the causes in binaries that the code of this package names.
    fn through_programs(&self, package: &PackageNode) -> CauseSet {
        let started = self.graph.started_by.iter().filter(|(_, by)| by.contains(&package.dir));
        let mut causes = CauseSet::new();
        for (dir, _) in started {
            for position in (0..self.packages.len()).filter(|position| self.graph.packages[*position].dir == *dir) {
                causes.extend(&self.packages[position].binaries);
                causes.extend(self.through_dependencies(position));
            }
        }
        causes
    }

    /// Returns the causes for all targets of a package: its own, its library's, and those of its dependencies.
    fn through_dependencies(&self, package: usize) -> CauseSet {
        let mut causes = self.packages[package].own.clone();
        let mut queue = vec![package];
        // Dev-dependencies count for the package itself, but not for its dependencies.
        queue.extend(self.dependencies(package, true));
        let mut seen = BTreeSet::new();
        while let Some(next) = queue.pop() {
            if seen.insert(next) {
                causes.extend(&self.packages[next].exported);
                queue.extend(self.dependencies(next, false));
            }
        }
        causes
    }

    fn dependencies(&self, package: usize, dev: bool) -> Vec<usize> {
        let dependencies =
            self.graph.packages[package].dependencies.iter().filter(|dependency| dependency.is_dev() == dev);
        dependencies.filter_map(|dependency| self.named.get(dependency.package.as_str())).flatten().copied().collect()
    }

    fn most_informative_first(&self, causes: &CauseSet) -> Vec<ReachedBy> {
        let mut causes: Vec<Cause> = causes.iter().map(|cause| self.causes[*cause].clone()).collect();
        causes.sort_by_key(|Cause { by, is_not_code }| match by {
            ReachedBy::Item(_) if *is_not_code => 3,
            ReachedBy::Request => 0,
            ReachedBy::Item(item) => match item.change {
                ChangeKind::Changed => 0,
                ChangeKind::Added | ChangeKind::Removed => 2,
                ChangeKind::Moved => 3,
            },
            ReachedBy::LockFile { .. } | ReachedBy::BuildScript { .. } => 1,
            ReachedBy::File { .. } => 2,
            ReachedBy::Version { .. } => 4,
        });
        let mut causes: Vec<ReachedBy> = causes.into_iter().map(|cause| cause.by).collect();
        causes.dedup();
        causes
    }
}

/// Propagation of a cause to the packages that depend on this one.
#[derive(Clone, Copy)]
enum Exported {
    Yes,
    No,
}

#[cfg(test)]
mod tests;
