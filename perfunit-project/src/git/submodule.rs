//! Submodules: repositories inside the repository.

use super::files::path_from;
use super::problem;
use git2::{Oid, Repository};
use perfunit_model::error::Result;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Mode of an index entry that is a commit of another repository.
const GITLINK: u32 = 0o160_000;

/// The submodules of the index and their commits.
pub(super) fn staged(repository: &Repository) -> Result<BTreeMap<PathBuf, Oid>> {
    let index = repository.index().map_err(|error| problem::no_status(&error))?;
    let links = index.iter().filter(|entry| entry.mode == GITLINK);
    Ok(links.map(|entry| (path_from(&entry.path), entry.id)).collect())
}

/// The submodule at `path`, with the commit below its working tree, if it is checked out.
pub(super) fn checked_out(parent: &Repository, path: &Path) -> Option<(Repository, Oid)> {
    let submodule = Repository::open(parent.workdir()?.join(path)).ok()?;
    let commit = submodule.head().ok()?.peel_to_commit().ok()?.id();
    Some((submodule, commit))
}

/// The submodule at `path` if its objects include `commit`: from its working tree, or from where git keeps those
/// that are not checked out now.
pub(super) fn with_commit(parent: &Repository, path: &Path, commit: Oid) -> Option<Repository> {
    let in_tree = parent.workdir().map(|root| root.join(path));
    let kept = [parent.path(), parent.commondir()].map(|folder| folder.join("modules").join(path));
    let mut found = in_tree.into_iter().chain(kept).filter_map(|folder| Repository::open(folder).ok());
    found.find(|submodule| submodule.find_commit(commit).is_ok())
}

/// Makes the objects of `from` readable through `to`, in memory; false if the path of `from` is not UTF-8.
pub(super) fn lend_objects(from: &Repository, to: &Repository) -> bool {
    let objects = from.commondir().join("objects");
    objects.to_str().is_some_and(|objects| to.odb().and_then(|odb| odb.add_disk_alternate(objects)).is_ok())
}
