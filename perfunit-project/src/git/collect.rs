//! Gathers the files of a version: from trees, and for a working tree from what differs on disk.

use super::files::{Entry, FileSet, Mode, Source, blob_id, path_from};
use super::{Repository, Version, disk, lfs, problem, submodule};
use git2::{ObjectType, Oid};
use perfunit_model::Warning;
use perfunit_model::error::Result;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What a tree holds.
#[derive(Default)]
pub(super) struct Listing {
    pub files: BTreeMap<PathBuf, Entry>,
    /// Its submodules and their commits.
    pub submodules: BTreeMap<PathBuf, Oid>,
}

/// How much of a repository counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Commit,
    /// The commit and what differs from it on disk.
    WorkingTree,
}

impl Repository {
    /// All files of a version. Also in it, on purpose:
    ///
    /// - Submodules, each at the commit that the version names (in a working tree: as it is on disk).
    /// - For LFS pointers the file that they stand for, if git-lfs has it or it is checked out unmodified.
    /// - A `Cargo.lock` that lies on disk beside a `Cargo.toml` but is not in the version (often git-ignored): it then
    ///   belongs to both versions, as both must be built with the same dependencies.
    ///
    /// Files of commits are converted as git does on checkout. Changed files of a working tree are taken byte by byte.
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

    /// The content of an entry; `path` is for messages only.
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

    /// Whether the working tree, submodules included, differs from this commit.
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
        let submodules = submodule::staged(repository)?;
        if submodules != listing.submodules || !self.disk_changes(repository, prefix, &listing)?.is_empty() {
            return Ok(true);
        }
        for (path, pinned) in submodules {
            let Some((submodule, checked_out)) = submodule::checked_out(repository, &path) else { continue };
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
        disk::changes(repository, &listing.files, |path| self.is_excluded(&prefix.join(path)))
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
            listing.submodules = submodule::staged(repository)?;
        }
        files.entries.extend(listing.files.into_iter().map(|(path, entry)| (prefix.join(path), entry)));
        for (path, pinned) in listing.submodules {
            let place = prefix.join(&path);
            match submodule_of(repository, &path, pinned, scope) {
                Some((submodule, commit, scope)) if submodule::lend_objects(&submodule, &self.inner) => {
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
            if let Some(entry) = disk::entry(&self.root().join(&lock), None)? {
                files.entries.insert(lock, entry);
            }
        }
        Ok(())
    }
}

/// The submodule at a path, the commit to take from it, and how much of it counts.
fn submodule_of(
    parent: &git2::Repository,
    path: &Path,
    pinned: Oid,
    scope: Scope,
) -> Option<(git2::Repository, Oid, Scope)> {
    match (scope, submodule::checked_out(parent, path)) {
        (Scope::WorkingTree, Some((submodule, commit))) => Some((submodule, commit, Scope::WorkingTree)),
        _ => submodule::with_commit(parent, path, pinned).map(|submodule| (submodule, pinned, Scope::Commit)),
    }
}

/// Lists the tree of a commit, without looking into submodules.
pub(super) fn list(repository: &git2::Repository, commit: Oid) -> Result<Listing> {
    let commit = repository.find_commit(commit).map_err(problem::failed(format!("read commit {commit}")))?;
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
