//! A pairing: both versions with the same test code, so that what is compared are versions and not workloads.
//!
//! One version is as it is, the other is overlaid with its test code. Where no test code differs a pairing is just the two
//! versions. That old tests are to be tried first, and new ones where they do not work, is the rule of Chen and Shang.

use super::invoke::BuildFailure;
use perfunit_model::{Side, Sides};
use perfunit_project::git::{Entry, FileSet, Mode};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Both versions with the test code of one of them.
#[derive(Debug)]
pub struct Pairing {
    /// Whose test code both have.
    pub tests_of: Side,
    /// The files of both.
    pub files: Sides<FileSet>,
    /// Those that tests find, if files moved between the versions: each version finds them at its own paths.
    data: Option<FileSet>,
    /// Files in which the overlaid version differs from itself.
    overlay: BTreeSet<String>,
    /// Its own entries of these, if it has them.
    own: BTreeMap<String, Option<Entry>>,
    /// Files that were among these until they did not compile.
    given_up: BTreeSet<String>,
    /// The files of all targets, by their roots.
    files_of_roots: BTreeMap<String, BTreeSet<String>>,
}

/// The test code of one version for the other.
pub struct TestCode {
    pub tests_of: Side,
    /// What files become in the other version; `None` for those that it has and this one lacks.
    pub files: BTreeMap<String, Option<Vec<u8>>>,
    /// The files of all targets of both versions, by their roots.
    pub files_of_roots: BTreeMap<String, BTreeSet<String>>,
}

impl Pairing {
    /// Overlays the other version with test code.
    pub fn new(files: &Sides<FileSet>, code: TestCode) -> Self {
        let mut pairing = Self {
            tests_of: code.tests_of,
            files: files.clone(),
            data: files.get(code.tests_of).for_both(&files.base),
            overlay: BTreeSet::new(),
            own: BTreeMap::new(),
            given_up: BTreeSet::new(),
            files_of_roots: code.files_of_roots,
        };
        for (path, content) in code.files {
            pairing.lay_over(path, content);
        }
        pairing
    }

    /// The version that is not as it is.
    pub fn overlaid(&self) -> Side {
        self.tests_of.other()
    }

    /// The files that tests find when they run: both sides see the same, or two workloads would be compared.
    pub fn data(&self) -> &FileSet {
        self.data.as_ref().unwrap_or_else(|| self.files.get(self.tests_of))
    }

    /// Returns the files of one version as tests find them: where files moved, at the paths of both versions.
    pub fn data_of(&self, side: Side) -> Cow<'_, FileSet> {
        let files = self.files.get(side);
        files.for_both(&self.files.base).map_or(Cow::Borrowed(files), Cow::Owned)
    }

    /// Whether files moved between the versions.
    pub fn moves(&self) -> bool {
        self.data.is_some()
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
        let own = entries.get(&place).cloned();
        match (content, own.as_ref().map(|entry| entry.mode)) {
            // A link may lead to a file of other targets.
            (_, Some(Mode::Symlink)) => return,
            (Some(content), mode) => {
                let mode = mode.unwrap_or(Mode::File);
                entries.insert(place, Entry { mode, ..Entry::snapshot(content) });
            }
            (None, _) => drop(entries.remove(&place)),
        }
        self.own.insert(path.clone(), own);
        self.overlay.insert(path);
    }

    /// After the overlaid version did not build in this tree: gives up the overlay of the files with errors. True if that
    /// leaves something to try.
    pub fn give_up(&mut self, failure: &BuildFailure, tree: &Path) -> bool {
        let responsible = self.responsible(failure, tree);
        self.take_back(&responsible);
        !responsible.is_empty()
    }

    /// Gives the overlaid version its own content of these files.
    pub fn take_back(&mut self, paths: &BTreeSet<String>) {
        let entries = &mut self.files.get_mut(self.tests_of.other()).entries;
        for path in paths {
            let place = PathBuf::from(path);
            match self.own.get(path) {
                Some(Some(entry)) => drop(entries.insert(place, entry.clone())),
                Some(None) => drop(entries.remove(&place)),
                // It is as it was.
                None => {}
            }
            self.overlay.remove(path);
            self.given_up.insert(path.clone());
        }
    }

    /// The overlaid files behind a failure: those with errors in them, else all of the targets with errors, else those
    /// that made a target (cargo may not want it), else all. None if code besides tests does not compile: no overlay
    /// changes that.
    fn responsible(&self, failure: &BuildFailure, tree: &Path) -> BTreeSet<String> {
        if !failure.roots.is_empty() && !failure.only_tests {
            return BTreeSet::new();
        }
        let in_tree = |path: &PathBuf| Some(path.strip_prefix(tree).ok()?.to_string_lossy().into_owned());
        let of = |paths: &BTreeSet<String>| self.overlay.intersection(paths).cloned().collect::<BTreeSet<_>>();
        let failed: BTreeSet<String> = failure.roots.keys().filter_map(in_tree).collect();
        let of_failed = self.files_of_roots.iter().filter(|(root, _)| failed.contains(*root));
        let of_failed = of_failed.flat_map(|(_, files)| files).cloned().collect();
        let roots = self.files_of_roots.keys().cloned().collect();
        let named = failure.places.iter().filter_map(|place| in_tree(&place.file)).collect();
        let found = [named, of_failed, roots].iter().map(of).find(|found| !found.is_empty());
        found.unwrap_or_else(|| self.overlay.clone())
    }
}
