//! From names to commits.

use super::Repository;
use super::problem;
use crate::error::Result;
use crate::system::suggest::near;
use git2::{Commit, ErrorCode, Oid};

impl Repository {
    /// The commit that a revision names, in git's notation.
    pub(super) fn commit(&self, name: &str) -> Result<Commit<'_>> {
        let object = self.inner.revparse_single(name).map_err(|error| match error.code() {
            ErrorCode::Ambiguous => problem::ambiguous_revision(name),
            _ => problem::unknown_revision(name, &self.near(name), self.inner.is_shallow()),
        })?;
        object.peel_to_commit().map_err(|_| problem::not_a_commit(name))
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
