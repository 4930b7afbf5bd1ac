//! The files of one version.

use git2::{ObjectType, Oid};
use perfunit_model::Warning;
use perfunit_model::error::Result;
use perfunit_system::fs;
use perfunit_system::os::unix::ffi::OsStrExt as _;
use perfunit_system::os::unix::fs::{PermissionsExt as _, symlink};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// File kinds that git distinguishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    File,
    /// A regular file with the executable bit.
    Executable,
    /// A symbolic link; its content is the target path.
    Symlink,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::File => "file",
            Mode::Executable => "executable",
            Mode::Symlink => "symlink",
        })
    }
}

/// Location of an entry's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// In the object database of the repository or of one of its submodules.
    ObjectDatabase,
    /// In memory: the content of the working tree when the version was read.
    Snapshot(Arc<[u8]>),
    /// In a file of the working tree or the LFS store that is too large to hold in memory.
    Disk(PathBuf),
}

/// One file of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub mode: Mode,
    /// Blob hash of the content.
    pub id: Oid,
    /// Location of the content.
    pub source: Source,
}

impl Entry {
    /// Creates an entry for a regular file with this content.
    pub fn snapshot(contents: impl Into<Arc<[u8]>>) -> Entry {
        let contents = contents.into();
        Entry { mode: Mode::File, id: blob_id(&contents), source: Source::Snapshot(contents) }
    }

    /// Reads a file or link from disk. A file stays there, and must not change.
    pub fn of_disk(path: &Path) -> Result<Entry> {
        let failed = fs::io_error("look at", path);
        let metadata = path.symlink_metadata().map_err(failed)?;
        if metadata.is_symlink() {
            return std::fs::read_link(path).map(|target| Entry::link(&target)).map_err(fs::io_error("read", path));
        }
        let mode = if metadata.permissions().mode() & 0o111 == 0 { Mode::File } else { Mode::Executable };
        let id = blob_id(&fs::read(path)?);
        Ok(Entry { mode, id, source: Source::Disk(path.to_owned()) })
    }

    /// Copies what this entry was read from to another place. A link stays a link.
    pub fn copy_to(&self, path: &Path, from: &Path) -> Result<()> {
        match &self.source {
            Source::Snapshot(target) if self.mode == Mode::Symlink => {
                symlink(std::ffi::OsStr::from_bytes(target), path).map_err(fs::io_error("create the link", path))
            }
            _ => fs::copy(from, path),
        }
    }

    /// Creates an entry for a symbolic link to this target.
    pub fn link(target: &Path) -> Entry {
        Entry { mode: Mode::Symlink, ..Entry::snapshot(target.as_os_str().as_bytes()) }
    }
}

/// The files of a version, by their path relative to the root of the repository.
///
/// Paths are `PathBuf`s because paths in git need not be UTF-8. Folders are implied.
#[derive(Debug, Clone, Default)]
pub struct FileSet {
    /// The files, sorted by path components.
    pub entries: BTreeMap<PathBuf, Entry>,
    /// Environment variables that steps before the build set.
    pub variables: BTreeMap<String, String>,
    /// Warnings about missing or unexpected content.
    pub warnings: Vec<Warning>,
    /// Paths in the version itself, where they differ from head's paths.
    pub(crate) moves: Option<Arc<Moves>>,
    /// Additional paths at which files are written to disk.
    pub(crate) copies: BTreeMap<PathBuf, PathBuf>,
}

impl FileSet {
    /// Checks whether a file exists or may exist: a file behind a symbolic link to a folder is listed under another
    /// path.
    pub fn may_have(&self, path: &Path) -> bool {
        let is_link = |folder: &Path| self.entries.get(folder).is_some_and(|entry| entry.mode == Mode::Symlink);
        self.entries.contains_key(path) || path.ancestors().skip(1).any(is_link)
    }

    /// Returns a hash of all paths, kinds and contents. Equal keys mean equal versions.
    pub fn key(&self) -> String {
        self.key_of(&|_| true)
    }

    /// Returns a hash of the paths, kinds and contents of some files.
    pub fn key_of(&self, counts: &dyn Fn(&Path) -> bool) -> String {
        let mut listing = Vec::new();
        for (name, value) in &self.variables {
            listing.extend_from_slice(format!("{name}={value}\0").as_bytes());
        }
        for (path, Entry { mode, id, .. }) in self.place_all().entries.iter().filter(|(path, _)| counts(path)) {
            let mut head = String::new();
            let _ = write!(head, "{mode} {id} ");
            listing.extend_from_slice(head.as_bytes());
            listing.extend_from_slice(path.as_os_str().as_bytes());
            listing.push(0);
        }
        blob_id(&listing).to_string()
    }

    /// Returns the sorted paths with another kind or content, or that only one of the two sets has.
    pub fn changed_paths(&self, other: &FileSet) -> Vec<PathBuf> {
        let same = |path: &Path, entry: &Entry, set: &FileSet| {
            set.entries.get(path).is_some_and(|there| (there.mode, there.id) == (entry.mode, entry.id))
        };
        let ours = self.entries.iter().filter(|(path, entry)| !same(path, entry, other));
        let theirs = other.entries.iter().filter(|(path, _)| !self.entries.contains_key(*path));
        let mut paths: Vec<PathBuf> = ours.chain(theirs).map(|(path, _)| path.clone()).collect();
        paths.sort();
        paths
    }
}

impl FileSet {
    /// Renames base's files to their paths in head.
    pub fn relocate(&mut self, moves: Arc<Moves>) {
        if moves.is_empty() {
            return;
        }
        let leaving = moves.pairs().filter_map(|(path, place)| Some((path, self.entries.remove(place)?)));
        let leaving: Vec<_> = leaving.collect();
        self.entries.extend(leaving.into_iter().map(|(path, entry)| (path.clone(), entry)));
        self.moves = Some(moves);
    }

    /// Returns the path of a file in the version itself.
    pub fn place(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.moves.as_ref().map_or_else(|| path.to_owned(), |moves| moves.place(path))
    }

    /// Returns the path under which the stages know a file of the version.
    pub fn name(&self, place: impl AsRef<Path>) -> PathBuf {
        let place = place.as_ref();
        let names = self.moves.iter().flat_map(|moves| moves.names(place));
        // If no candidate exists, keep the path of the version itself.
        names.into_iter().find(|path| self.entries.contains_key(path)).unwrap_or_else(|| place.to_owned())
    }

    /// Returns the files with their paths in the version itself, as they are written to disk.
    pub fn place_all(&self) -> Cow<'_, FileSet> {
        if self.moves.is_none() && self.copies.is_empty() {
            return Cow::Borrowed(self);
        }
        let entries = self.entries.iter().map(|(path, entry)| (self.place(path), entry.clone()));
        let mut placed = FileSet {
            entries: entries.collect(),
            variables: self.variables.clone(),
            warnings: self.warnings.clone(),
            ..FileSet::default()
        };
        for (copy, path) in &self.copies {
            if let Some(entry) = self.entries.get(path) {
                placed.entries.entry(copy.clone()).or_insert_with(|| entry.clone());
            }
        }
        Cow::Owned(placed)
    }

    /// Returns the files with copies at their paths in the other version, so that tests of both find their data.
    pub fn for_both(&self, base: &FileSet) -> Option<FileSet> {
        let moves = base.moves.as_ref()?;
        let is_base = self.moves.is_some();
        let copies = moves.pairs().map(|(path, place)| (if is_base { path } else { place }, path));
        Some(FileSet { copies: copies.map(|(copy, path)| (copy.clone(), path.clone())).collect(), ..self.clone() })
    }
}

/// Returns git's blob hash of this content.
pub(crate) fn blob_id(contents: &[u8]) -> Oid {
    Oid::hash_object(ObjectType::Blob, contents).expect("hashing memory cannot fail")
}

/// Converts a path from git: bytes, with `/` between the components.
pub(super) fn path_from(bytes: &[u8]) -> PathBuf {
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

/// Paths of moved files in base and head.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Moves {
    /// Paths in base, by path in head.
    places: BTreeMap<PathBuf, PathBuf>,
    /// Paths in head, by path in base.
    names: BTreeMap<PathBuf, PathBuf>,
    /// Folders of packages and of targets with a moved root, in head and in base. New files move with them.
    folders: Vec<(PathBuf, PathBuf)>,
    /// Files of base that did not move.
    fixed: BTreeSet<PathBuf>,
}

impl Moves {
    /// Builds the mapping from base's files, their paths in base by path in head, and the folders of packages in head
    /// and in base. Drops a move onto a file of base that stays in place.
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
        // Of two files with the same origin, one is a copy.
        places.retain(|path, place| names.get(place) == Some(path));
        let fixed = base.keys().filter(|path| !names.contains_key(*path)).cloned().collect();
        Self { places, names, folders, fixed }
    }

    /// Returns the paths of moved files, in head and in base.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (&PathBuf, &PathBuf)> {
        self.places.iter()
    }

    /// Checks whether no file moved.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns the path in base of a file that head calls `path`.
    pub(super) fn place(&self, path: &Path) -> PathBuf {
        self.places.get(path).cloned().unwrap_or_else(|| self.follow(path))
    }

    /// Returns possible paths in head of base's file at `place`, the innermost folder's first.
    pub(super) fn names(&self, place: &Path) -> Vec<PathBuf> {
        if let Some(path) = self.names.get(place) {
            return vec![path.clone()];
        }
        let around = self.folders.iter().filter(|(_, base)| place.starts_with(base));
        let mut around: Vec<_> = around.collect();
        around.sort_by_key(|(_, base)| std::cmp::Reverse(base.components().count()));
        around.into_iter().filter_map(|(head, base)| Some(head.join(place.strip_prefix(base).ok()?))).collect()
    }

    /// Maps the path of a file that base does not have, with the innermost folder around it.
    fn follow(&self, path: &Path) -> PathBuf {
        if self.fixed.contains(path) {
            return path.to_owned();
        }
        let around = self.folders.iter().filter(|(from, _)| path.starts_with(from));
        let innermost = around.max_by_key(|(from, _)| from.components().count());
        innermost.and_then(|(from, to)| Some(to.join(path.strip_prefix(from).ok()?))).unwrap_or(path.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(files: &[(&str, &str)]) -> FileSet {
        let entries = files.iter().map(|(path, text)| (PathBuf::from(path), Entry::snapshot(text.as_bytes())));
        FileSet { entries: entries.collect(), ..FileSet::default() }
    }

    #[test]
    fn the_key_depends_on_paths_kinds_and_contents_only() {
        let one = set(&[("a", "1"), ("b", "2")]);
        let mut same = set(&[("b", "2"), ("a", "1")]);
        same.warnings.push(Warning::MissingLfsFiles { files: 1 });
        assert_eq!(one.key(), same.key());
        assert_ne!(one.key(), set(&[("a", "2"), ("b", "1")]).key());
        same.entries.get_mut(Path::new("a")).unwrap().mode = Mode::Executable;
        assert_ne!(one.key(), same.key());
    }

    #[test]
    fn changed_lists_edits_additions_and_removals() {
        let base = set(&[("gone", ""), ("kept", ""), ("edited", "1")]);
        let head = set(&[("kept", ""), ("edited", "2"), ("new", "")]);
        let expected = ["edited", "gone", "new"].map(PathBuf::from);
        assert_eq!(base.changed_paths(&head), expected);
        assert_eq!(head.changed_paths(&base), expected);
    }

    fn files_named(files: &[&str]) -> FileSet {
        let entries = files.iter().map(|path| (PathBuf::from(path), Entry::snapshot(path.as_bytes())));
        FileSet { entries: entries.collect(), ..FileSet::default() }
    }

    fn paths(set: &FileSet) -> Vec<&str> {
        set.entries.keys().filter_map(|path| path.to_str()).collect()
    }

    fn moves(base: &FileSet, places: &[(&str, &str)], folders: &[(&str, &str)]) -> Arc<Moves> {
        let owned = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(head, base)| (PathBuf::from(head), PathBuf::from(base))).collect::<Vec<_>>()
        };
        Arc::new(Moves::new(&base.entries, owned(places).into_iter().collect(), owned(folders)))
    }

    #[test]
    fn files_are_known_by_heads_paths_and_written_to_their_own() {
        let mut base = files_named(&["Cargo.lock", "b/src/lib.rs", "tests/it.rs"]);
        let places = [("crates/b/src/lib.rs", "b/src/lib.rs"), ("tests/it/main.rs", "tests/it.rs")];
        let moves = moves(&base, &places, &[("", ""), ("crates/b", "b")]);
        let before = base.key();
        base.relocate(moves);
        assert_eq!(paths(&base), ["Cargo.lock", "crates/b/src/lib.rs", "tests/it/main.rs"]);
        assert_eq!(paths(&base.place_all()), ["Cargo.lock", "b/src/lib.rs", "tests/it.rs"]);
        assert_eq!(base.key(), before, "the version is the same");
        assert_eq!(base.place("crates/b/src/new.rs"), PathBuf::from("b/src/new.rs"), "a new file follows its package");
        assert_eq!(base.name("b/src/lib.rs"), PathBuf::from("crates/b/src/lib.rs"));
        base.entries.insert(PathBuf::from("crates/b/src/new.rs"), Entry::snapshot(*b""));
        assert_eq!(base.name("b/src/new.rs"), PathBuf::from("crates/b/src/new.rs"));
        assert_eq!(base.name("b/src/none.rs"), PathBuf::from("b/src/none.rs"));
        assert_eq!(base.place("Cargo.lock"), PathBuf::from("Cargo.lock"));
    }

    #[test]
    fn a_file_does_not_move_onto_one_that_stays() {
        let base = files_named(&["a.rs", "b.rs", "c.rs"]);
        assert!(moves(&base, &[("b.rs", "a.rs")], &[]).is_empty());
        let both = moves(&base, &[("b.rs", "a.rs"), ("d.rs", "b.rs")], &[]);
        let mut moved = base.clone();
        moved.relocate(both);
        assert_eq!(paths(&moved), ["b.rs", "c.rs", "d.rs"]);
        assert_eq!(moved.entries[Path::new("b.rs")], base.entries[Path::new("a.rs")]);
    }

    #[test]
    fn both_versions_find_data_at_their_own_path() {
        let mut base = files_named(&["b/data.txt"]);
        let head = files_named(&["crates/b/data.txt"]);
        assert!(head.for_both(&base).is_none());
        base.relocate(moves(&base, &[("crates/b/data.txt", "b/data.txt")], &[]));
        for side in [&base, &head] {
            let data = side.for_both(&base).unwrap();
            assert_eq!(paths(&data.place_all()), ["b/data.txt", "crates/b/data.txt"]);
        }
    }
}
