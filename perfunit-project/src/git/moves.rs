//! Files that head has at another path than base.
//!
//! All stages know a file by its path in head. Base's own path is only used on disk: in the tree that is built, and in what
//! compilers print.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The two paths of moved files.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Moves {
    /// Paths in base, by those in head.
    places: BTreeMap<PathBuf, PathBuf>,
    /// Paths in head, by those in base.
    names: BTreeMap<PathBuf, PathBuf>,
    /// Folders of packages, and of targets whose root moved, in head and in base: new files follow them.
    folders: Vec<(PathBuf, PathBuf)>,
    /// Files of base that did not move.
    fixed: BTreeSet<PathBuf>,
}

impl Moves {
    /// Takes base's files, their paths by those in head, and the folders of packages in head and in base. A file does not
    /// move to where base has another one that stays.
    pub fn new<T>(
        base: &BTreeMap<PathBuf, T>,
        places: BTreeMap<PathBuf, PathBuf>,
        folders: Vec<(PathBuf, PathBuf)>,
    ) -> Self {
        let mut places = places;
        loop {
            let leaving: BTreeSet<&PathBuf> = places.values().collect();
            let is_taken = |path: &PathBuf| base.contains_key(path) && !leaving.contains(path);
            let taken: Vec<PathBuf> = places.keys().filter(|path| is_taken(path)).cloned().collect();
            if taken.is_empty() {
                break;
            }
            places.retain(|path, _| !taken.contains(path));
        }
        let names: BTreeMap<PathBuf, PathBuf> =
            places.iter().map(|(path, place)| (place.clone(), path.clone())).collect();
        // Of two files with one origin, one is a copy.
        places.retain(|path, place| names.get(place) == Some(path));
        let fixed = base.keys().filter(|path| !names.contains_key(*path)).cloned().collect();
        Self { places, names, folders, fixed }
    }

    /// The paths of moved files, in head and in base.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (&PathBuf, &PathBuf)> {
        self.places.iter()
    }

    /// Whether every file is where it was.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns the path in base of a file that head calls `path`.
    pub(super) fn place(&self, path: &Path) -> PathBuf {
        self.places.get(path).cloned().unwrap_or_else(|| self.follow(path))
    }

    /// Returns the paths in head that a file can have which base has at `place`, the innermost folder's first.
    pub(super) fn names(&self, place: &Path) -> Vec<PathBuf> {
        if let Some(path) = self.names.get(place) {
            return vec![path.clone()];
        }
        let around = self.folders.iter().filter(|(_, base)| place.starts_with(base));
        let mut around: Vec<_> = around.collect();
        around.sort_by_key(|(_, base)| std::cmp::Reverse(base.components().count()));
        around.into_iter().filter_map(|(head, base)| Some(head.join(place.strip_prefix(base).ok()?))).collect()
    }

    /// Moves a file that base does not have along with the innermost folder around it.
    fn follow(&self, path: &Path) -> PathBuf {
        if self.fixed.contains(path) {
            return path.to_owned();
        }
        let around = self.folders.iter().filter(|(from, _)| path.starts_with(from));
        let innermost = around.max_by_key(|(from, _)| from.components().count());
        innermost.and_then(|(from, to)| Some(to.join(path.strip_prefix(from).ok()?))).unwrap_or(path.to_owned())
    }
}
