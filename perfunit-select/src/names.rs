//! Source names of tests in both versions, and in a pairing of them.

use super::reach::{self, NameIndex, Named, TestCode, TestSource};
use super::source::{self, FileChange, SourceDiff};
use super::target_files::{TargetFiles, modules};
use super::target_selection::TargetSelection;
use perfunit_build::Pairing;
use perfunit_model::{Side, Sides, TestCodeDifference, TestCodeItem, TestId};
use perfunit_project::git::path::is_rust;
use perfunit_project::git::{FileSet, Versions};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Names of two versions, and their difference.
pub struct Names<'a> {
    /// Names of each version.
    pub sides: Sides<NameIndex>,
    files: Cow<'a, TargetFiles>,
    diff: Cow<'a, SourceDiff>,
}

impl<'a> Names<'a> {
    /// Indexes base and head.
    pub fn of_versions(versions: &Versions, selected: &'a TargetSelection) -> Self {
        let (files, diff) = (Cow::Borrowed(&selected.target_files), Cow::Borrowed(&selected.diff));
        let changed = versions.changed_paths();
        if changed.is_empty() {
            // There is only one version, so nothing is changed or ranked.
            return Self { sides: Sides::default(), files, diff };
        }
        let head = index_of_head(versions, selected);
        let of_base = sources(versions, &versions.files.base, Side::Base, &files, &|path| changed.contains(path));
        let base = head.replace_files(&changed, &of_base);
        Self { sides: Sides { base, head }, files, diff }
    }

    /// Indexes the versions of a pairing; `None` if both are unchanged.
    pub fn of_pairing(
        &self,
        versions: &Versions,
        selected: &TargetSelection,
        pairing: &Pairing,
    ) -> Option<Names<'static>> {
        if pairing.is_plain() {
            return None;
        }
        let (side, overlay) = (pairing.overlaid(), pairing.overlay());
        let files = pairing.files.get(side);
        let mut target_files = selected.target_files.clone();
        let mut revised = overlay.clone();
        for target in selected.workspace.packages.iter().flat_map(|package| &package.targets) {
            let Some(sides) = target_files.get_mut(&target.id) else { continue };
            if sides.base.keys().chain(sides.head.keys()).any(|path| overlay.contains(path)) {
                let now = modules(versions, files, &target.root);
                let before = std::mem::replace(sides.get_mut(side), now);
                revised.extend(sides.get(side).keys().filter(|path| !before.contains_key(*path)).cloned());
            }
        }
        let sources = sources(versions, files, side, &target_files, &|path| revised.contains(path));
        let index = self.sides.get(side).replace_files(&revised, &sources);
        let own = self.sides.get(pairing.tests_of).clone();
        let sides = match side {
            Side::Base => Sides { base: index, head: own },
            Side::Head => Sides { base: own, head: index },
        };
        let diff = Cow::Owned(difference(versions, pairing));
        Some(Names { sides, files: Cow::Owned(target_files), diff })
    }

    /// Returns the changed item of a test's own code.
    pub fn changed_code(&self, test: &TestId) -> Option<TestCodeItem> {
        let files = self.files.get(&test.target)?;
        let code = Sides {
            base: TestCode { index: &self.sides.base, files: &files.base },
            head: TestCode { index: &self.sides.head, files: &files.head },
        };
        reach::changed_test_code(&test.name, test.target.kind, &code, &self.diff)
    }

    /// Returns how a test's own code differs between the versions.
    pub fn difference(&self, test: &TestId) -> Option<TestCodeDifference> {
        match (self.test(Side::Base, test), self.test(Side::Head, test)) {
            (Some(_), None) => Some(TestCodeDifference::GoneInHead),
            (None, Some(_)) => Some(TestCodeDifference::NewInHead),
            _ => self.changed_code(test).map(|item| TestCodeDifference::Changed { item }),
        }
    }

    /// Returns the function of a test, unless a macro generates it.
    pub fn test(&self, side: Side, test: &TestId) -> Option<&Named> {
        let files = self.files.get(&test.target)?.get(side);
        self.sides.get(side).test(TestSource { name: &test.name, kind: test.target.kind, files })
    }
}

/// Indexes head.
pub fn index_of_head(versions: &Versions, selected: &TargetSelection) -> NameIndex {
    reach::index(&sources(versions, &versions.files.head, Side::Head, &selected.target_files, &|_| true))
}

/// Reads the Rust files of all targets on one side: path, module path, content.
fn sources(
    versions: &Versions,
    set: &FileSet,
    side: Side,
    target_files: &TargetFiles,
    wanted: &dyn Fn(&str) -> bool,
) -> Vec<(String, String, Vec<u8>)> {
    let files: BTreeSet<(&String, &String)> = target_files
        .values()
        .flat_map(|sides| sides.get(side))
        .filter(|(path, _)| wanted(path))
        .map(|(path, info)| (path, &info.module))
        .collect();
    let read =
        |(path, module): (&String, &String)| Some((path.clone(), module.clone(), versions.read_file(set, path)?));
    files.into_iter().filter_map(read).collect()
}

/// Returns the items that differ between the versions of a pairing.
fn difference(versions: &Versions, pairing: &Pairing) -> SourceDiff {
    let files = &pairing.files;
    let change = |path: &str| FileChange {
        path: path.to_owned(),
        base: versions.read_file(&files.base, path),
        head: versions.read_file(&files.head, path),
    };
    let changed = files.base.changed_paths(&files.head);
    let changed = changed.iter().filter(|path| is_rust(path)).filter_map(|path| path.to_str());
    source::diff(&changed.map(change).collect::<Vec<_>>(), &|_| false)
}
