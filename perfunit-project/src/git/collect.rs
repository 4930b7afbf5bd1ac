//! Collects the files of a version, from git trees and, for a working tree, from the changes on disk.

use super::files::{Entry, FileSet, Mode, Source, blob_id, path_from};
use super::{Repository, Version, lfs, problem};
use git2::{IndexEntryExtendedFlag, ObjectType, Oid, Status, StatusOptions};
use perfunit_model::Warning;
use perfunit_model::error::{Error, Result};
use perfunit_system::os::unix::fs::PermissionsExt as _;
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Content of a git tree.
#[derive(Default)]
pub(super) struct Listing {
    pub files: BTreeMap<PathBuf, Entry>,
    /// Submodules and their commits.
    pub submodules: BTreeMap<PathBuf, Oid>,
}

/// Part of a repository that belongs to a version.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Commit,
    /// The commit and the uncommitted changes on disk.
    WorkingTree,
}

impl Repository {
    /// Returns all files of a version. These include:
    ///
    /// - Submodules, each at the commit that the version pins (in a working tree: as on disk).
    /// - The target of each LFS pointer, if git-lfs has stored it or it is checked out unmodified.
    /// - A `Cargo.lock` on disk next to a `Cargo.toml` that the version does not have (often git-ignored). It belongs
    ///   to both versions, because both must be built with the same dependencies.
    ///
    /// Files of commits are converted as git does on checkout. Changed files of a working tree are read byte by byte.
    pub fn files(&self, version: &Version) -> Result<FileSet> {
        let scope = if version.name.dirty { Scope::WorkingTree } else { Scope::Commit };
        let mut files = FileSet::default();
        self.add_version(&self.inner, version.commit, Path::new(""), scope, &mut files)?;
        files.entries.retain(|path, _| !self.is_excluded(path));
        lfs::replace_pointers(self, &mut files)?;
        self.add_lock_files(&mut files)?;
        files.warnings.extend(self.filters.warnings());
        Ok(files)
    }

    /// Reads the content of an entry. Error messages mention `path`.
    pub fn read(&self, entry: &Entry, path: &Path) -> Result<Vec<u8>> {
        let contents = match &entry.source {
            Source::ObjectDatabase => return self.read_blob(entry.id, path),
            Source::Snapshot(contents) => return Ok(contents.to_vec()),
            Source::Disk(file) => perfunit_system::fs::read(file)?,
        };
        if blob_id(&contents) == entry.id { Ok(contents) } else { Err(problem::changed_meanwhile(path)) }
    }

    fn read_blob(&self, id: Oid, path: &Path) -> Result<Vec<u8>> {
        let what = || format!("{} (blob {id})", path.display());
        let blob = self.inner.find_blob(id).map_err(|error| problem::missing_object(&what(), &error))?;
        Ok(blob.content().to_vec())
    }

    /// Checks whether the working tree, including submodules, differs from this commit.
    pub(super) fn is_dirty(&self, commit: &git2::Commit<'_>) -> Result<bool> {
        self.differs(&self.inner, commit.id(), Path::new(""))
    }

    /// Lists a commit with its files as git checks them out.
    fn checked_out(&self, repository: &git2::Repository, commit: Oid) -> Result<Listing> {
        let mut listing = list(repository, commit)?;
        self.filters.convert(repository, commit, &mut listing.files)?;
        Ok(listing)
    }

    fn differs(&self, repository: &git2::Repository, commit: Oid, prefix: &Path) -> Result<bool> {
        let listing = self.checked_out(repository, commit)?;
        let submodules = staged_submodules(repository)?;
        if submodules != listing.submodules || !self.disk_changes(repository, prefix, &listing)?.is_empty() {
            return Ok(true);
        }
        for (path, pinned) in submodules {
            let Some((submodule, checked_out)) = checked_out(repository, &path) else { continue };
            if checked_out != pinned || self.differs(&submodule, pinned, &prefix.join(path))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn disk_changes(
        &self,
        repository: &git2::Repository,
        prefix: &Path,
        listing: &Listing,
    ) -> Result<Vec<(PathBuf, Option<Entry>)>> {
        changes(repository, &listing.files, |path| self.is_excluded(&prefix.join(path)))
    }

    fn add_version(
        &self,
        repository: &git2::Repository,
        commit: Oid,
        prefix: &Path,
        scope: Scope,
        files: &mut FileSet,
    ) -> Result<()> {
        let mut listing = self.checked_out(repository, commit)?;
        if scope == Scope::WorkingTree {
            for (path, entry) in self.disk_changes(repository, prefix, &listing)? {
                match entry {
                    Some(entry) => listing.files.insert(path, entry),
                    None => listing.files.remove(&path),
                };
            }
            listing.submodules = staged_submodules(repository)?;
        }
        files.entries.extend(listing.files.into_iter().map(|(path, entry)| (prefix.join(path), entry)));
        for (path, pinned) in listing.submodules {
            let place = prefix.join(&path);
            match submodule_of(repository, &path, pinned, scope) {
                Some((submodule, commit, scope)) if lend_objects(&submodule, &self.inner) => {
                    self.add_version(&submodule, commit, &place, scope, files)?;
                }
                _ => files.warnings.push(Warning::MissingSubmodule { path: place, commit: pinned.to_string() }),
            }
        }
        Ok(())
    }

    fn add_lock_files(&self, files: &mut FileSet) -> Result<()> {
        let manifests = files.entries.keys().filter(|path| path.ends_with("Cargo.toml"));
        let locks: Vec<PathBuf> = manifests.map(|path| path.with_file_name("Cargo.lock")).collect();
        for lock in locks {
            if files.entries.contains_key(&lock) || self.is_excluded(&lock) {
                continue;
            }
            if let Some(entry) = entry(&self.root().join(&lock), None)? {
                files.entries.insert(lock, entry);
            }
        }
        Ok(())
    }
}

/// Finds the submodule at a path, the commit to read, and which part of it belongs to the version.
fn submodule_of(
    parent: &git2::Repository,
    path: &Path,
    pinned: Oid,
    scope: Scope,
) -> Option<(git2::Repository, Oid, Scope)> {
    match (scope, checked_out(parent, path)) {
        (Scope::WorkingTree, Some((submodule, commit))) => Some((submodule, commit, Scope::WorkingTree)),
        _ => with_commit(parent, path, pinned).map(|submodule| (submodule, pinned, Scope::Commit)),
    }
}

/// Lists the tree of a commit, without descending into submodules.
pub(super) fn list(repository: &git2::Repository, commit: Oid) -> Result<Listing> {
    let commit = repository.find_commit(commit).map_err(problem::git_error(format!("read commit {commit}")))?;
    let tree =
        commit.tree().map_err(|error| problem::missing_object(&format!("the tree of {}", commit.id()), &error))?;
    let mut listing = Listing::default();
    add_tree(repository, &tree, Path::new(""), &mut listing)?;
    Ok(listing)
}

fn add_tree(repository: &git2::Repository, tree: &git2::Tree<'_>, prefix: &Path, listing: &mut Listing) -> Result<()> {
    for item in tree {
        let name = item.name_bytes();
        if matches!(name, b"" | b"." | b"..") || name.eq_ignore_ascii_case(b".git") || name.contains(&b'/') {
            return Err(problem::hostile_name(&path_from(name)));
        }
        let path = prefix.join(path_from(name));
        match item.kind() {
            Some(ObjectType::Tree) => {
                let folder = repository
                    .find_tree(item.id())
                    .map_err(|error| problem::missing_object(&format!("folder {}", path.display()), &error))?;
                add_tree(repository, &folder, &path, listing)?;
            }
            Some(ObjectType::Commit) => {
                listing.submodules.insert(path, item.id());
            }
            _ => {
                let mode = match item.filemode() {
                    0o120_000 => Mode::Symlink,
                    0o100_755 => Mode::Executable,
                    _ => Mode::File,
                };
                listing.files.insert(path, Entry { mode, id: item.id(), source: Source::ObjectDatabase });
            }
        }
    }
    Ok(())
}

/// Larger files (untracked data, LFS content) are not held in memory but read again when needed.
const HOLD_LIMIT: u64 = 1 << 20;

/// Returns the difference between the commit's files and the working tree's: tracked changes, staged or not, and
/// untracked files that are not ignored. `None` marks a removed file.
pub(super) fn changes(
    repository: &git2::Repository,
    committed: &BTreeMap<PathBuf, Entry>,
    is_excluded: impl Fn(&Path) -> bool,
) -> Result<Vec<(PathBuf, Option<Entry>)>> {
    let Some(root) = repository.workdir() else { return Ok(Vec::new()) };
    let mut changes = Vec::new();
    for (path, status) in status(repository)? {
        if is_excluded(&path) || is_sparse(repository, &path, status) {
            continue;
        }
        let before = committed.get(&path);
        let now = if is_gone(status) { None } else { entry(&root.join(&path), kept_mode(repository, before))? };
        let same = match (before, &now) {
            (None, None) => true,
            (Some(before), Some(now)) => {
                (before.mode, before.id) == (now.mode, now.id)
                    || lfs::is_checked_out(repository, before.id, &root.join(&path))
            }
            _ => false,
        };
        if !same {
            changes.push((path, now));
        }
    }
    Ok(changes)
}

/// Reads a file from disk. Returns `None` if it does not exist or git cannot store it. `mode` overrides the executable
/// bit.
pub(super) fn entry(path: &Path, mode: Option<Mode>) -> Result<Option<Entry>> {
    match read_entry(path, mode) {
        Ok(entry) => Ok(entry),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => {
            Err(Error::setup(format!("cannot read {}: {error}", path.display()))
                .hint("list unneeded files in .gitignore"))
        }
    }
}

fn read_entry(path: &Path, mode: Option<Mode>) -> std::io::Result<Option<Entry>> {
    let metadata = path.symlink_metadata()?;
    if metadata.is_symlink() {
        return Ok(Some(Entry::link(&path.read_link()?)));
    }
    if !metadata.is_file() {
        return Ok(None);
    }
    let mode = mode.unwrap_or_else(|| mode_of(&metadata));
    if metadata.len() <= HOLD_LIMIT {
        return Ok(Some(Entry { mode, ..Entry::snapshot(std::fs::read(path)?) }));
    }
    let id = Oid::hash_file(ObjectType::Blob, path).map_err(std::io::Error::other)?;
    Ok(Some(Entry { mode, id, source: Source::Disk(path.to_owned()) }))
}

fn mode_of(metadata: &Metadata) -> Mode {
    if metadata.permissions().mode() & 0o100 == 0 { Mode::File } else { Mode::Executable }
}

fn status(repository: &git2::Repository) -> Result<Vec<(PathBuf, Status)>> {
    let mut options = StatusOptions::new();
    options.include_untracked(true).recurse_untracked_dirs(true).include_ignored(false);
    options.exclude_submodules(true).update_index(false);
    let statuses = repository.statuses(Some(&mut options)).map_err(|error| problem::no_status(&error))?;
    let files = statuses.iter().filter(|entry| {
        // A trailing slash marks a repository inside this one (a linked worktree or a clone), which is not ours.
        !entry.path_bytes().ends_with(b"/")
    });
    Ok(files.map(|entry| (path_from(entry.path_bytes()), entry.status())).collect())
}

/// Checks whether a file is deleted, or ignored and no longer tracked. Uses only the status, because on disk a parent
/// may have become a symbolic link.
fn is_gone(status: Status) -> bool {
    status.is_wt_deleted() || status.is_index_deleted() && !status.is_wt_new()
}

/// Checks whether a sparse checkout leaves out the file. libgit2 does not support sparse checkouts and reports such
/// files as deleted.
fn is_sparse(repository: &git2::Repository, path: &Path, status: Status) -> bool {
    status.is_wt_deleted()
        && repository.index().ok().and_then(|index| index.get_path(path, 0)).is_some_and(|entry| {
            IndexEntryExtendedFlag::from_bits_truncate(entry.flags_extended)
                .contains(IndexEntryExtendedFlag::SKIP_WORKTREE)
        })
}

/// Returns the committed mode if the file system has no executable bit.
fn kept_mode(repository: &git2::Repository, before: Option<&Entry>) -> Option<Mode> {
    let has_bit = repository.config().and_then(|config| config.get_bool("core.filemode")).unwrap_or(true);
    before.map(|entry| entry.mode).filter(|mode| !has_bit && *mode != Mode::Symlink)
}

/// Mode of an index entry for a submodule.
const GITLINK: u32 = 0o160_000;

/// Returns the submodules of the index and their commits.
pub(super) fn staged_submodules(repository: &git2::Repository) -> Result<BTreeMap<PathBuf, Oid>> {
    let index = repository.index().map_err(|error| problem::no_status(&error))?;
    let links = index.iter().filter(|entry| entry.mode == GITLINK);
    Ok(links.map(|entry| (path_from(&entry.path), entry.id)).collect())
}

/// Opens the submodule at `path`, if it is checked out, and returns its current commit.
pub(super) fn checked_out(parent: &git2::Repository, path: &Path) -> Option<(git2::Repository, Oid)> {
    let submodule = git2::Repository::open(parent.workdir()?.join(path)).ok()?;
    let commit = submodule.head().ok()?.peel_to_commit().ok()?.id();
    Some((submodule, commit))
}

/// Opens a repository of the submodule at `path` that contains `commit`: its working tree, or the place where git keeps
/// submodules that are not checked out.
pub(super) fn with_commit(parent: &git2::Repository, path: &Path, commit: Oid) -> Option<git2::Repository> {
    let in_tree = parent.workdir().map(|root| root.join(path));
    let kept = [parent.path(), parent.commondir()].map(|folder| folder.join("modules").join(path));
    let mut found = in_tree.into_iter().chain(kept).filter_map(|folder| git2::Repository::open(folder).ok());
    found.find(|submodule| submodule.find_commit(commit).is_ok())
}

/// Makes the objects of `from` readable through `to`, in memory. Returns false if the path of `from` is not UTF-8.
pub(super) fn lend_objects(from: &git2::Repository, to: &git2::Repository) -> bool {
    let objects = from.commondir().join("objects");
    objects.to_str().is_some_and(|objects| to.odb().and_then(|odb| odb.add_disk_alternate(objects)).is_ok())
}

#[cfg(test)]
mod tests {
    use super::super::files::blob_id;
    use super::*;

    #[test]
    fn an_entry_has_the_hash_of_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file"), "text").unwrap();
        std::os::unix::fs::symlink("file", folder.path().join("link")).unwrap();
        let read = |name| entry(&folder.path().join(name), None).unwrap();
        assert_eq!(read("file").unwrap().id, blob_id(b"text"));
        assert_eq!(read("link").unwrap(), Entry::link(Path::new("file")));
        assert_eq!(read("absent"), None);
        assert_eq!(read("file/below"), None);
        assert_eq!(read(""), None);
    }

    #[test]
    fn large_files_stay_on_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        let contents = vec![7; 1 + usize::try_from(HOLD_LIMIT).unwrap()];
        std::fs::write(&path, &contents).unwrap();
        let entry = entry(&path, None).unwrap().unwrap();
        assert_eq!((entry.id, entry.source), (blob_id(&contents), Source::Disk(path)));
    }
}
