//! The working tree: where it differs from the commit below it.

use super::files::{Entry, Mode, Source, path_from};
use super::{lfs, problem};
use git2::{IndexEntryExtendedFlag, ObjectType, Oid, Status, StatusOptions};
use perfunit_model::error::{Error, Result};
use perfunit_system::os::unix::fs::PermissionsExt as _;
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Larger files (untracked data, LFS content) are not held in memory but read again when needed.
const HOLD_LIMIT: u64 = 1 << 20;

/// What must be put into (or with `None` taken out of) the commit's files to get the working tree's:
/// tracked changes, staged or not, and untracked files that are not ignored. Empty if there is no difference.
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

/// A file as it is on disk; `None` if there is none or it is nothing that git could store.
/// `mode` overrules the executable bit.
pub(super) fn entry(path: &Path, mode: Option<Mode>) -> Result<Option<Entry>> {
    match read_entry(path, mode) {
        Ok(entry) => Ok(entry),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(Error::setup(format!("cannot read {}: {error}", path.display()))
            .hint("files that are in the way can be listed in .gitignore")),
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
        // A final slash is a repository inside this one (a linked worktree, a clone): not ours.
        !entry.path_bytes().ends_with(b"/")
    });
    Ok(files.map(|entry| (path_from(entry.path_bytes()), entry.status())).collect())
}

/// Deleted, or no longer tracked and ignored. The disk is not asked: a parent may have become a symbolic link.
fn is_gone(status: Status) -> bool {
    status.is_wt_deleted() || status.is_index_deleted() && !status.is_wt_new()
}

/// libgit2 knows nothing of sparse checkouts and takes what they leave out for deleted.
fn is_sparse(repository: &git2::Repository, path: &Path, status: Status) -> bool {
    status.is_wt_deleted()
        && repository.index().ok().and_then(|index| index.get_path(path, 0)).is_some_and(|entry| {
            IndexEntryExtendedFlag::from_bits_truncate(entry.flags_extended)
                .contains(IndexEntryExtendedFlag::SKIP_WORKTREE)
        })
}

/// The committed mode where the file system has no executable bit.
fn kept_mode(repository: &git2::Repository, before: Option<&Entry>) -> Option<Mode> {
    let has_bit = repository.config().and_then(|config| config.get_bool("core.filemode")).unwrap_or(true);
    before.map(|entry| entry.mode).filter(|mode| !has_bit && *mode != Mode::Symlink)
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
