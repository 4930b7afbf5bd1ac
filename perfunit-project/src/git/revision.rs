//! From names to commits.

use super::default::DEFAULT_BRANCHES;
use super::{Repository, problem};
use git2::{Commit, ErrorCode, Oid};
use perfunit_model::error::Result;
use perfunit_model::suggest::near;

impl Repository {
    /// The commit that a revision names, in git's notation.
    pub(super) fn commit(&self, name: &str) -> Result<Commit<'_>> {
        let object = self.inner.revparse_single(name).map_err(|error| match error.code() {
            ErrorCode::Ambiguous => problem::ambiguous_revision(name),
            _ => problem::unknown_revision(name, &self.near(name), self.inner.is_shallow()),
        })?;
        object.peel_to_commit().map_err(|_| problem::not_a_commit(name))
    }

    /// Whether a revision of this name is here.
    pub fn has_commit(&self, name: &str) -> bool {
        self.commit(name).is_ok()
    }

    /// Whether a name means nothing here, and nothing that is near it; in a shallow clone, and of the usual branches, that is
    /// not known.
    pub fn has_nothing_like(&self, name: &str) -> bool {
        let is_unknown = self.inner.revparse_single(name).is_err_and(|error| error.code() == ErrorCode::NotFound);
        let is_usual = DEFAULT_BRANCHES.iter().any(|branch| branch.rsplit('/').next() == Some(name));
        is_unknown && !is_usual && !self.inner.is_shallow() && self.near(name).is_empty()
    }

    /// The commit below the working tree.
    pub(super) fn head_commit(&self) -> Result<Commit<'_>> {
        let head = self.inner.head().map_err(|error| match error.code() {
            ErrorCode::UnbornBranch => problem::no_commits(),
            _ => problem::failed("read HEAD")(error),
        })?;
        head.peel_to_commit().map_err(problem::failed("read the commit of HEAD"))
    }

    /// The merge base of two commits, if there is one. Of several (criss-cross merges) libgit2's first.
    pub(super) fn merge_base(&self, one: Oid, two: Oid) -> Result<Option<Commit<'_>>> {
        match self.inner.merge_base(one, two) {
            Ok(id) => self.inner.find_commit(id).map(Some).map_err(problem::failed(format!("read commit {id}"))),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(problem::failed("search the merge base")(error)),
        }
    }

    fn near(&self, name: &str) -> Vec<String> {
        let Ok(references) = self.inner.references() else { return Vec::new() };
        let names: Vec<String> =
            references.flatten().filter_map(|reference| reference.shorthand().ok().map(str::to_owned)).collect();
        near(name, names.iter().map(String::as_str), "/").into_iter().map(str::to_owned).collect()
    }
}
