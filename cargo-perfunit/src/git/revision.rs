//! From names to commits.

use super::Repository;
use super::problem;
use crate::error::Result;
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

    /// Names that the user may have meant: the same on a remote, or up to two typing errors away.
    fn near(&self, name: &str) -> Vec<String> {
        let Ok(references) = self.inner.references() else { return Vec::new() };
        let names = references.flatten().filter_map(|reference| reference.shorthand().ok().map(str::to_owned));
        let mut near: Vec<(usize, String)> = names
            .filter_map(|known| {
                let on_remote = known.split_once('/').is_some_and(|(_, branch)| branch == name);
                let distance = if on_remote { 0 } else { distance(name, &known) };
                (distance <= 2 && distance < name.chars().count()).then_some((distance, known))
            })
            .collect();
        near.sort();
        near.dedup();
        near.into_iter().take(3).map(|(_, known)| known).collect()
    }
}

/// Levenshtein's distance.
fn distance(one: &str, two: &str) -> usize {
    let two: Vec<char> = two.chars().collect();
    let mut row: Vec<usize> = (0..=two.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in two.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[two.len()]
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn distance_counts_typing_errors() {
        assert_eq!(distance("main", "main"), 0);
        assert_eq!(distance("mian", "main"), 2);
        assert_eq!(distance("main", "mains"), 1);
        assert_eq!(distance("", "abc"), 3);
    }
}
