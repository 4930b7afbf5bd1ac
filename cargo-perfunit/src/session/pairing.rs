//! A pairing: both versions with the same test code, so that what is compared are versions and not workloads.
//!
//! One version is as it is, the other is overlaid with its test code. Where no test code differs a pairing is just the two
//! versions. That old tests are to be tried first, and new ones where they do not work, is the rule of Chen and Shang.

use super::select::Selected;
use super::setup::Setup;
use crate::build::BuildFailure;
use crate::git::{Entry, FileSet, Mode};
use crate::model::{Side, Sides};
use crate::select::source::{self, Holder};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Both versions with the test code of one of them.
#[derive(Debug)]
pub struct Pairing {
    /// Whose test code both have.
    pub tests_of: Side,
    /// The files of both.
    pub files: Sides<FileSet>,
    /// Files in which the overlaid version differs from itself.
    overlay: BTreeSet<String>,
    /// Files that were among these until they did not compile.
    given_up: BTreeSet<String>,
}

impl Pairing {
    /// Overlays the other version with the test code of `tests_of`.
    pub fn new(setup: &Setup, selected: &Selected, tests_of: Side) -> Self {
        let code = tests_of.other();
        let files = setup.files.as_ref();
        let holds = |side: Side| {
            source::holds(selected.target_files.iter().map(|(target, files)| (target.kind, files.get(side))))
        };
        let read = |side: Side| move |path: &str| setup.read_file(setup.files.get(side), path);
        let roots = selected.roots();
        let overlay = source::overlay(
            &setup.changed_paths(),
            &roots,
            &Holder { files: &holds(code), read: &read(code) },
            &Holder { files: &holds(tests_of), read: &read(tests_of) },
        );
        let mut pairing = Self {
            tests_of,
            files: Sides { base: files.base.clone(), head: files.head.clone() },
            overlay: BTreeSet::new(),
            given_up: BTreeSet::new(),
        };
        for (path, content) in overlay {
            pairing.lay_over(path, content);
        }
        pairing
    }

    /// The version that is not as it is.
    pub fn overlaid(&self) -> Side {
        self.tests_of.other()
    }

    /// The files in which that version differs from itself.
    pub fn overlay(&self) -> &BTreeSet<String> {
        &self.overlay
    }

    /// The files that did not compile with the other version's test code.
    pub fn given_up(&self) -> &BTreeSet<String> {
        &self.given_up
    }

    /// True if both versions are as they are.
    pub fn is_plain(&self) -> bool {
        self.overlay.is_empty()
    }

    /// The version that is as it is comes first: what does not build there is not for want of other test code.
    pub fn order(&self) -> [Side; 2] {
        [self.tests_of, self.overlaid()]
    }

    fn lay_over(&mut self, path: String, content: Option<Vec<u8>>) {
        let entries = &mut self.files.get_mut(self.tests_of.other()).entries;
        let place = PathBuf::from(&path);
        match (content, entries.get(&place).map(|entry| entry.mode)) {
            // A link may lead to a file of other targets.
            (_, Some(Mode::Symlink)) => return,
            (Some(content), mode) => {
                let mode = mode.unwrap_or(Mode::File);
                entries.insert(place, Entry { mode, ..Entry::snapshot(content) });
            }
            (None, _) => drop(entries.remove(&place)),
        }
        self.overlay.insert(path);
    }

    /// After the overlaid version did not build: gives up the overlay of the files with errors. True if that leaves
    /// something to try.
    pub fn give_up(&mut self, setup: &Setup, selected: &Selected, failure: &BuildFailure) -> bool {
        let blamed = blamed(&self.overlay, failure, &setup.tree.root(), selected);
        self.take_back(setup, &blamed);
        !blamed.is_empty()
    }

    /// Gives the overlaid version its own content of these files.
    pub fn take_back(&mut self, setup: &Setup, paths: &BTreeSet<String>) {
        let own = &setup.files.get(self.overlaid()).entries;
        let entries = &mut self.files.get_mut(self.tests_of.other()).entries;
        for path in paths {
            let place = Path::new(path);
            match own.get(place) {
                Some(entry) => drop(entries.insert(place.to_owned(), entry.clone())),
                None => drop(entries.remove(place)),
            }
            self.overlay.remove(path);
            self.given_up.insert(path.clone());
        }
    }
}

/// The overlaid files behind a failure: those with errors in them, else all of the targets with errors, else those that
/// made a target (cargo may not want it), else all. None if code besides tests does not compile: no overlay changes that.
fn blamed(overlay: &BTreeSet<String>, failure: &BuildFailure, tree: &Path, selected: &Selected) -> BTreeSet<String> {
    if !failure.roots.is_empty() && !failure.only_tests {
        return BTreeSet::new();
    }
    let in_tree = |paths: &BTreeSet<PathBuf>| -> BTreeSet<String> {
        let relative = paths.iter().filter_map(|path| path.strip_prefix(tree).ok());
        relative.map(|path| path.to_string_lossy().into_owned()).collect()
    };
    let of = |paths: &BTreeSet<String>| overlay.intersection(paths).cloned().collect::<BTreeSet<_>>();
    let found = of(&in_tree(&failure.files));
    if !found.is_empty() {
        return found;
    }
    let roots = in_tree(&failure.roots);
    let targets = selected.workspace.packages.iter().flat_map(|package| &package.targets);
    let failed = targets.filter(|target| roots.contains(&target.root));
    let files = failed.filter_map(|target| selected.target_files.get(&target.id));
    let files = files.flat_map(|sides| sides.base.keys().chain(sides.head.keys())).cloned();
    let found = of(&files.collect());
    if !found.is_empty() {
        return found;
    }
    let found = of(&selected.roots());
    if found.is_empty() { overlay.clone() } else { found }
}
