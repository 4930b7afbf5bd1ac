//! A pairing gives both versions the same test code, so that versions are compared and not workloads.
//!
//! One version is unchanged, the other is overlaid with its test code. If no test code differs, a pairing consists of
//! the two versions. Trying the old tests first, and new ones if they fail, follows Chen and Shang.

use super::invoke::BuildFailure;
use super::prepare::StepResult;
use perfunit_model::error::Result;
use perfunit_model::{Side, Sides};
use perfunit_project::git::{Entry, FileSet, Mode};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Both versions with the test code of one of them.
#[derive(Debug)]
pub struct Pairing {
    /// Side that provides the test code of both versions.
    pub tests_of: Side,
    /// Files of both versions.
    pub files: Sides<FileSet>,
    /// Files that tests find, if files moved between the versions: each version finds them at its own paths.
    data: Option<FileSet>,
    /// Files that the overlay changed.
    overlay: BTreeSet<String>,
    /// Original entries of these files; `None` if the version did not have the file.
    own: BTreeMap<String, Option<Entry>>,
    /// Files removed from the overlay because they did not compile.
    given_up: BTreeSet<String>,
    /// Files of each target, by root file.
    files_of_roots: BTreeMap<String, BTreeSet<String>>,
    /// Results of the steps before tests. Both versions use them, like the data files.
    steps: Vec<StepResult>,
}

/// Test code of one version, to overlay the other.
pub struct TestCode {
    pub tests_of: Side,
    /// New content of files; `None` for files to remove.
    pub files: BTreeMap<String, Option<Vec<u8>>>,
    /// Files of each target of both versions, by root file.
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
            steps: Vec::new(),
        };
        for (path, content) in code.files {
            pairing.lay_over(path, content);
        }
        pairing
    }

    /// Returns the side that is overlaid.
    pub fn overlaid(&self) -> Side {
        self.tests_of.other()
    }

    /// Returns the files that tests find at run time. They are the same for both sides, because otherwise the workloads
    /// would differ.
    pub fn data(&self) -> Result<Cow<'_, FileSet>> {
        self.with_steps(Cow::Borrowed(self.data.as_ref().unwrap_or_else(|| self.files.get(self.tests_of))))
    }

    /// Returns the files of one version as tests find them; files that moved are at the paths of both versions.
    pub fn data_of(&self, side: Side) -> Result<Cow<'_, FileSet>> {
        let files = self.files.get(side);
        self.with_steps(files.for_both(&self.files.base).map_or(Cow::Borrowed(files), Cow::Owned))
    }

    /// Adds the files that the steps before tests made.
    pub fn with_steps<'a>(&self, files: Cow<'a, FileSet>) -> Result<Cow<'a, FileSet>> {
        let mut files = files;
        for step in &self.steps {
            step.add_to(files.to_mut())?;
        }
        Ok(files)
    }

    /// Adds the result of a step before tests.
    pub fn add_step(&mut self, result: StepResult) {
        self.steps.push(result);
    }

    /// Checks whether files moved between the versions.
    pub fn moves(&self) -> bool {
        self.data.is_some()
    }

    /// Returns the files that the overlay changed.
    pub fn overlay(&self) -> &BTreeSet<String> {
        &self.overlay
    }

    /// Returns the files that did not compile with the other version's test code.
    pub fn given_up(&self) -> &BTreeSet<String> {
        &self.given_up
    }

    /// Checks whether both versions are unchanged.
    pub fn is_plain(&self) -> bool {
        self.overlay.is_empty()
    }

    /// Returns the sides in build order. The unchanged version comes first: if it fails, the overlay is not the cause.
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

    /// Removes the files responsible for a build failure from the overlay. Returns false if there are none.
    pub fn give_up(&mut self, failure: &BuildFailure, tree: &Path) -> bool {
        let responsible = self.responsible(failure, tree);
        self.take_back(&responsible);
        !responsible.is_empty()
    }

    /// Restores the original content of these files.
    pub fn take_back(&mut self, paths: &BTreeSet<String>) {
        let entries = &mut self.files.get_mut(self.tests_of.other()).entries;
        for path in paths {
            let place = PathBuf::from(path);
            match self.own.get(path) {
                Some(Some(entry)) => drop(entries.insert(place, entry.clone())),
                Some(None) => drop(entries.remove(&place)),
                // The overlay did not change this file.
                None => {}
            }
            self.overlay.remove(path);
            self.given_up.insert(path.clone());
        }
    }

    /// Returns the overlaid files behind a failure: those with errors, else all files of the targets with errors, else
    /// those that add a target (cargo may refuse it), else all. Returns none if other code than tests fails, because no
    /// overlay changes that.
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
