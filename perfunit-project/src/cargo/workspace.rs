//! Packages and targets of a version.

use crate::git::path::within;
use cargo_metadata::DependencyKind;
use perfunit_model::{TargetId, TargetKind};
use perfunit_system::fs;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// One version's workspace. All paths are relative to the git root, with `/`.
#[derive(Debug, Clone, Default)]
pub struct Workspace {
    /// Root folder, empty for the git root itself.
    pub root: String,
    /// Workspace members, then the packages of the repository that they depend on by path or by a patch.
    pub packages: Vec<Package>,
    /// Members that cargo selects by default in the root folder.
    pub default_packages: BTreeSet<String>,
    /// Absolute folders of path dependencies and patches outside of the repository.
    pub outside: BTreeSet<PathBuf>,
    /// In head's workspace: base's workspace, if its packages or targets have other names or paths.
    pub counterpart: Option<Rc<Counterpart>>,
}

/// A member by name and folder, one of which other versions may not have.
#[derive(Debug, Clone)]
pub struct OwnPackage {
    pub name: String,
    /// Folder, relative to the workspace's root.
    pub folder: PathBuf,
}

impl Workspace {
    pub fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| package.member)
    }

    /// Returns the members that cargo selects by default for a user in this member; without one, the members of the root folder.
    /// In another version the member may have another name or folder.
    pub fn selected_by_default(&self, own: Option<&OwnPackage>) -> BTreeSet<String> {
        let Some(own) = own else { return self.default_packages.clone() };
        let folder = Path::new(&self.root).join(&own.folder);
        let named = self.members().find(|package| package.name == own.name);
        let found = named.or_else(|| self.members().find(|package| Path::new(&package.dir) == folder));
        found.into_iter().map(|package| package.name.clone()).collect()
    }

    /// Adds the doc tests of the members' libraries as separate targets.
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

    /// Adds the members' targets with benchmarks, as `cargo bench` selects them: all of them if `all`, as with
    /// `--benches`, otherwise those that cargo's arguments name. Benchmarks among unit tests become separate targets if
    /// `has_benches` is true.
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
    /// Version of the package; empty if unknown.
    pub version: String,
    /// Folder of its manifest.
    pub dir: String,
    /// True if the package is a workspace member. Only members have tests to run.
    pub member: bool,
    /// Dependencies on packages of this workspace.
    pub dependencies: Vec<Dependency>,
    /// Dependencies on other packages: from registries, from git, or outside of the repository.
    pub elsewhere: Vec<Dependency>,
    /// Targets that can hold tests.
    pub targets: Vec<Target>,
    /// Root file of the build script.
    pub build_script: Option<String>,
    /// True if `cargo test` runs documentation tests.
    pub doctests: bool,
    /// True if the library is a procedural macro of a member, which only compilers run.
    pub is_macro: bool,
}

/// A dependency on a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependency {
    pub package: String,
    pub kind: DependencyKind,
}

impl Dependency {
    /// Returns whether only tests, examples and benchmarks have this dependency.
    pub fn is_dev(&self) -> bool {
        self.kind == DependencyKind::Development
    }
}

/// A target that can hold tests.
#[derive(Debug, Clone)]
pub struct Target {
    pub id: TargetId,
    pub root: String,
    /// False with `test = false`.
    pub tested: bool,
    /// True if plain `cargo bench` builds the target; for libraries and binaries, because of their `#[bench]`
    /// functions.
    pub benched: bool,
    /// True if the target is only built with certain features.
    pub requires_features: bool,
}

/// Returns `path` relative to `root`, with `/`; `None` if it is outside. Cargo prints a target's path as in the
/// manifest, possibly with `..`.
pub(super) fn relative(root: &Path, path: &Path) -> Option<String> {
    let path = fs::normal(path);
    let relative = path.strip_prefix(root).ok()?;
    let parts: Vec<_> = relative.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    Some(parts.join("/"))
}

/// Base's workspace where its names or paths differ from head's, with the mapping between the two.
#[derive(Debug, Clone, Default)]
pub struct Counterpart {
    pub workspace: Workspace,
    /// Names of base's packages, by head's names.
    pub packages: BTreeMap<String, String>,
    /// Base's targets, by head's targets.
    pub targets: BTreeMap<TargetId, TargetId>,
    /// Base's targets with tests that have no counterpart in head.
    pub gone: Vec<TargetId>,
}

impl Counterpart {
    /// Matches packages by name or folder, and their targets by kind and name, root file, or content. `same_content`
    /// compares two root files, given by their path in head and in base.
    pub fn find(head: &Workspace, base: Workspace, same_content: &dyn Fn(&str, &str) -> bool) -> Self {
        let mut found = Self::default();
        for (ours, theirs) in packages(head, &base) {
            found.packages.insert(ours.name.clone(), theirs.name.clone());
            found.targets.extend(targets(ours, theirs, same_content));
        }
        let known: BTreeSet<&TargetId> = found.targets.values().collect();
        let tested = base.members().flat_map(|package| &package.targets).filter(|target| target.tested);
        // Doc tests and benchmarks among unit tests exist only together with their target.
        let stands_alone = |id: &TargetId| id.kind != TargetKind::Doctest && id.kind.beside().is_none();
        let gone = tested.map(|target| &target.id).filter(|id| !known.contains(id) && stands_alone(id));
        found.gone = gone.cloned().collect();
        found.workspace = base;
        found
    }

    /// Returns base's package for one of head's.
    pub fn package(&self, head: &str) -> Option<&Package> {
        let name = self.packages.get(head)?;
        self.workspace.packages.iter().find(|package| package.name == *name)
    }

    /// Returns base's target for one of head's.
    pub fn target(&self, head: &TargetId) -> Option<&Target> {
        let id = self.targets.get(head)?;
        self.workspace.packages.iter().flat_map(|package| &package.targets).find(|target| target.id == *id)
    }

    /// Checks whether all packages and targets have the same names in base and head.
    pub fn is_same_names(&self) -> bool {
        self.packages.iter().all(|(head, base)| head == base) && self.targets.iter().all(|(head, base)| head == base)
    }
}

/// Pairs the packages of head and base, head's first.
fn packages<'a>(head: &'a Workspace, base: &'a Workspace) -> Vec<(&'a Package, &'a Package)> {
    let mut pairs: Vec<(&Package, &Package)> = Vec::new();
    let by_name = |ours: &Package, theirs: &Package| ours.name == theirs.name;
    let by_folder = |ours: &Package, theirs: &Package| ours.dir == theirs.dir;
    for is_same in [&by_name as &dyn Fn(&Package, &Package) -> bool, &by_folder] {
        for ours in &head.packages {
            if pairs.iter().any(|(known, _)| std::ptr::eq(*known, ours)) {
                continue;
            }
            let is_free = |theirs: &&Package| !pairs.iter().any(|(_, known)| std::ptr::eq(*known, *theirs));
            let theirs = base.packages.iter().filter(is_free).find(|theirs| is_same(ours, theirs));
            pairs.extend(theirs.map(|theirs| (ours, theirs)));
        }
    }
    pairs
}

/// Pairs the targets of two packages, head's first.
fn targets(head: &Package, base: &Package, same_content: &dyn Fn(&str, &str) -> bool) -> BTreeMap<TargetId, TargetId> {
    let renamed = head.name != base.name;
    let inside =
        |target: &Target, package: &Package| within(&target.root, &package.dir).unwrap_or(&target.root).to_owned();
    let is_of_library = |kind: TargetKind| matches!(kind, TargetKind::Lib | TargetKind::LibBench | TargetKind::Doctest);
    // A package has one library, whatever its name.
    let by_name = |ours: &Target, theirs: &Target| ours.id.name == theirs.id.name || is_of_library(ours.id.kind);
    let by_root = |ours: &Target, theirs: &Target| inside(ours, head) == inside(theirs, base);
    let by_content = |ours: &Target, theirs: &Target| same_content(&ours.root, &theirs.root);
    let mut pairs = BTreeMap::new();
    for is_same in [&by_name as &dyn Fn(&Target, &Target) -> bool, &by_root, &by_content] {
        for ours in &head.targets {
            // The sides exchange the texts of doc tests by package name.
            if pairs.contains_key(&ours.id) || (renamed && ours.id.kind == TargetKind::Doctest) {
                continue;
            }
            let is_free =
                |theirs: &&Target| theirs.id.kind == ours.id.kind && !pairs.values().any(|known| *known == theirs.id);
            let theirs = base.targets.iter().filter(is_free).find(|theirs| is_same(ours, theirs));
            if let Some(theirs) = theirs {
                pairs.insert(ours.id.clone(), theirs.id.clone());
            }
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dir: &str, targets: &[(TargetKind, &str, &str)]) -> Package {
        let target = |(kind, target, root): &(TargetKind, &str, &str)| Target {
            id: TargetId { package: name.to_owned(), kind: *kind, name: (*target).to_owned() },
            root: if dir.is_empty() { (*root).to_owned() } else { format!("{dir}/{root}") },
            tested: true,
            benched: false,
            requires_features: false,
        };
        let targets = targets.iter().map(target).collect();
        Package { name: name.to_owned(), dir: dir.to_owned(), member: true, targets, ..Package::default() }
    }

    #[track_caller]
    fn check(head: Vec<Package>, base: Vec<Package>, expected: &[&str], gone: &[&str]) {
        let workspace = |packages| Workspace { packages, ..Workspace::default() };
        let same = |ours: &str, theirs: &str| ours.contains("same") && theirs.contains("same");
        let found = Counterpart::find(&workspace(head), workspace(base), &same);
        let pairs: Vec<String> = found.targets.iter().map(|(head, base)| format!("{head} = {base}")).collect();
        assert_eq!(pairs, expected);
        assert_eq!(found.gone.iter().map(ToString::to_string).collect::<Vec<_>>(), gone);
    }

    use TargetKind::{Lib, Test};

    #[test]
    fn packages_are_known_by_name_then_by_folder() {
        check(
            vec![package("a", "crates/a", &[(Lib, "a", "src/lib.rs")]), package("c", "b", &[(Lib, "c", "src/lib.rs")])],
            vec![package("a", "a", &[(Lib, "a", "src/lib.rs")]), package("b", "b", &[(Lib, "b", "src/lib.rs")])],
            &["a = a", "c = b"],
            &[],
        );
        // Two packages that swapped their folders.
        check(
            vec![package("a", "b", &[(Lib, "a", "src/lib.rs")]), package("b", "a", &[(Lib, "b", "src/lib.rs")])],
            vec![package("a", "a", &[(Lib, "a", "src/lib.rs")]), package("b", "b", &[(Lib, "b", "src/lib.rs")])],
            &["a = a", "b = b"],
            &[],
        );
    }

    #[test]
    fn targets_are_known_by_kind_and_name_then_by_root_then_by_content() {
        check(
            vec![package(
                "a",
                "",
                &[
                    (Lib, "new", "src/core.rs"),
                    (Test, "it", "tests/it/main.rs"),
                    (Test, "other", "tests/b.rs"),
                    (Test, "same2", "tests/same2.rs"),
                    (Test, "fresh", "tests/fresh.rs"),
                ],
            )],
            vec![package(
                "a",
                "",
                &[
                    (Lib, "old", "src/lib.rs"),
                    (Test, "it", "tests/it.rs"),
                    (Test, "b", "tests/b.rs"),
                    (Test, "same1", "tests/same1.rs"),
                    (Test, "gone", "tests/gone.rs"),
                ],
            )],
            &["a = a", "a::it = a::it", "a::other = a::b", "a::same2 = a::same1"],
            &["a::gone"],
        );
    }
}
