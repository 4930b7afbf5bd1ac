//! Two versions with their files.

use super::path::join;
use super::{FileSet, Mode, Repository, Version};
use perfunit_model::error::Result;
use perfunit_model::{Side, Sides, VersionName};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The two versions of a comparison with the files of each.
#[derive(Clone)]
pub struct Versions {
    /// The user's repository, read only.
    pub repository: Rc<Repository>,
    pub sides: Sides<Version>,
    pub files: Sides<FileSet>,
}

impl Versions {
    /// Reads the files of both versions.
    pub fn read(repository: Repository, sides: Sides<Version>) -> Result<Self> {
        let files = Sides { base: repository.files(&sides.base)?, head: repository.files(&sides.head)? };
        Ok(Self { repository: Rc::new(repository), sides, files })
    }

    /// Reads a file of a version, if it exists. The content of a symbolic link is its target path.
    pub fn read_file(&self, files: &FileSet, path: &str) -> Option<Vec<u8>> {
        let path = Path::new(path);
        files.entries.get(path).and_then(|entry| self.repository.read(entry, path).ok())
    }

    /// Resolves the symbolic links in a path. Returns `None` if the path leaves the repository or the links form a
    /// cycle.
    pub fn resolve(&self, files: &FileSet, path: &str) -> Option<String> {
        // The limit of Linux.
        const MOST: usize = 40;
        let mut links = 0;
        let mut found = String::new();
        let mut ahead: Vec<String> = path.split('/').rev().map(str::to_owned).collect();
        while let Some(segment) = ahead.pop() {
            let here = join(&found, &segment)?;
            let entry = files.entries.get(Path::new(&here)).filter(|entry| entry.mode == Mode::Symlink);
            let Some(entry) = entry else {
                found = here;
                continue;
            };
            let target = String::from_utf8(self.repository.read(entry, Path::new(&here)).ok()?).ok()?;
            links += 1;
            if links > MOST || target.starts_with('/') {
                return None;
            }
            ahead.extend(target.split('/').rev().map(str::to_owned));
        }
        Some(found)
    }

    /// Returns the paths of the files that differ.
    pub fn changed_paths(&self) -> BTreeSet<String> {
        let changed = self.files.base.changed_paths(&self.files.head);
        changed.iter().map(|path| path.to_string_lossy().into_owned()).collect()
    }

    /// Returns changed files that are also reachable through a symbolic link: the path through the link, and the real
    /// path.
    pub fn changed_behind_links(&self) -> BTreeMap<String, PathBuf> {
        let changed = self.files.base.changed_paths(&self.files.head);
        let mut found = BTreeMap::new();
        for files in [&self.files.base, &self.files.head] {
            let links = files.entries.iter().filter(|(_, entry)| entry.mode == Mode::Symlink);
            for link in links.filter_map(|(path, _)| path.to_str()) {
                let Some(target) = self.resolve(files, link) else { continue };
                for path in changed.iter().filter(|path| path.starts_with(&target)) {
                    let Some(rest) = path.strip_prefix(&target).ok().and_then(Path::to_str) else { continue };
                    let alias = if rest.is_empty() { link.to_owned() } else { format!("{link}/{rest}") };
                    found.insert(alias, path.clone());
                }
            }
        }
        found
    }

    /// Returns keys that identify the contents of both versions.
    pub fn contents(&self) -> Sides<String> {
        self.files.as_ref().map(FileSet::key)
    }

    pub fn names(&self) -> Sides<VersionName> {
        self.sides.as_ref().map(|version| version.name.clone())
    }

    /// Describes a version by its label and short commit.
    pub fn describe(&self, side: Side) -> String {
        let name = &self.sides.get(side).name;
        match name.commit_beside_label() {
            None => name.label.clone(),
            Some(commit) => format!("{}, {commit}", name.label),
        }
    }
}
