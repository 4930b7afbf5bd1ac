//! The files of one version.

use crate::model::Warning;
use crate::system::os::unix::ffi::OsStrExt as _;
use git2::{ObjectType, Oid};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The kinds of file that git knows.
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

/// Where the bytes of an entry are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// In the object database of the repository or of one of its submodules.
    ObjectDatabase,
    /// Held here: what the working tree had when the version was taken.
    Snapshot(Arc<[u8]>),
    /// In this file of the working tree, or of the LFS store, too large to hold.
    Disk(PathBuf),
}

/// One file of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub mode: Mode,
    /// Blob hash of its content.
    pub id: Oid,
    /// Where the content is.
    pub source: Source,
}

impl Entry {
    /// A regular file with this content.
    pub fn snapshot(contents: impl Into<Arc<[u8]>>) -> Entry {
        let contents = contents.into();
        Entry { mode: Mode::File, id: blob_id(&contents), source: Source::Snapshot(contents) }
    }

    /// A symbolic link to this target.
    pub fn link(target: &Path) -> Entry {
        Entry { mode: Mode::Symlink, ..Entry::snapshot(target.as_os_str().as_bytes()) }
    }
}

/// All files of a version, by their path relative to the root of the repository.
///
/// Paths are `PathBuf`s because git's need not be UTF-8; folders are implied.
#[derive(Debug, Clone, Default)]
pub struct FileSet {
    /// The files, sorted by path components.
    pub entries: BTreeMap<PathBuf, Entry>,
    /// What is missing or not as the user would expect.
    pub warnings: Vec<Warning>,
}

impl FileSet {
    /// Whether a file is here, or may be: what lies behind a link to a folder is known by another path.
    pub fn may_have(&self, path: &Path) -> bool {
        let is_link = |folder: &Path| self.entries.get(folder).is_some_and(|entry| entry.mode == Mode::Symlink);
        self.entries.contains_key(path) || path.ancestors().skip(1).any(is_link)
    }

    /// A hash of all paths, kinds and contents: equal keys mean equal versions.
    pub fn key(&self) -> String {
        let mut listing = Vec::new();
        for (path, Entry { mode, id, .. }) in &self.entries {
            let mut head = String::new();
            let _ = write!(head, "{mode} {id} ");
            listing.extend_from_slice(head.as_bytes());
            listing.extend_from_slice(path.as_os_str().as_bytes());
            listing.push(0);
        }
        blob_id(&listing).to_string()
    }

    /// The paths whose kind or content differ, or that only one of the two has; sorted.
    pub fn changed(&self, other: &FileSet) -> Vec<PathBuf> {
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

/// The id that git gives to a file with this content.
pub(crate) fn blob_id(contents: &[u8]) -> Oid {
    Oid::hash_object(ObjectType::Blob, contents).expect("hashing memory cannot fail")
}

/// A path as git stores it: bytes, with `/` between the components.
pub(super) fn path_from(bytes: &[u8]) -> PathBuf {
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(files: &[(&str, &str)]) -> FileSet {
        let entries = files.iter().map(|(path, text)| (PathBuf::from(path), Entry::snapshot(text.as_bytes())));
        FileSet { entries: entries.collect(), warnings: Vec::new() }
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
        assert_eq!(base.changed(&head), expected);
        assert_eq!(head.changed(&base), expected);
    }
}
