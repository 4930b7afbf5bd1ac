//! The base when the user names none.
//!
//! On a branch: the merge base with its upstream, else with the default branch; the first of them that gives a
//! non-empty comparison. On the default branch, detached, or when all of that is merged: `HEAD` if the working tree
//! differs from it, else the parent commit.

use super::{Repository, problem};
use git2::{BranchType, Commit};
use perfunit_model::error::Result;

/// The default branch of the remote, then the usual names.
pub(super) const DEFAULT_BRANCHES: [&str; 5] = [
    "refs/remotes/origin/HEAD",
    "refs/remotes/origin/main",
    "refs/remotes/origin/master",
    "refs/heads/main",
    "refs/heads/master",
];

/// The head for which a base is wanted.
pub(super) struct Head<'repo> {
    pub commit: Commit<'repo>,
    /// How people call it.
    pub label: String,
    /// The local branch that it is, without `refs/heads/`.
    pub branch: Option<String>,
    /// Whether the working tree is the head and differs from the commit.
    pub dirty: bool,
}

/// A base before it becomes a version.
pub(super) struct Base<'repo> {
    pub label: String,
    pub commit: Commit<'repo>,
}

impl<'repo> Base<'repo> {
    /// Labels the merge base with a branch: the branch itself if head is ahead of its tip.
    pub(super) fn merge_base(label: &str, tip: &Commit<'_>, commit: Commit<'repo>) -> Base<'repo> {
        let label = if commit.id() == tip.id() { label.to_owned() } else { format!("merge base of {label}") };
        Base { label, commit }
    }
}

/// A branch that may be the base.
struct Candidate<'repo> {
    label: String,
    tip: Commit<'repo>,
    because: String,
}

impl Repository {
    /// Chooses the base for `head`, with a note that says how.
    pub(super) fn default_base<'repo>(&'repo self, head: &Head<'repo>) -> Result<(Base<'repo>, String)> {
        for Candidate { label, tip, because } in self.candidates(head) {
            match self.merge_base(tip.id(), head.commit.id())? {
                Some(commit) if commit.id() != head.commit.id() || head.dirty => {
                    let note = format!("comparing with `{label}`, {because}");
                    return Ok((Base::merge_base(&label, &tip, commit), note));
                }
                None if self.inner.is_shallow() => return Err(problem::no_merge_base(&label, &head.label, true)),
                _ => {}
            }
        }
        self.own_base(head)
    }

    /// Upstream and default branch, unless `head` is the default branch or no branch at all.
    fn candidates(&self, head: &Head<'_>) -> Vec<Candidate<'_>> {
        let Some(branch) = &head.branch else { return Vec::new() };
        let default = self.default_branch();
        if default.as_ref().is_some_and(|(name, _)| name == branch || name.strip_prefix("origin/") == Some(branch)) {
            return Vec::new();
        }
        let upstream = self.upstream(branch).map(|(label, tip)| {
            let because = format!("the upstream of `{branch}`");
            Candidate { label, tip, because }
        });
        let default = default.map(|(label, tip)| Candidate { label, tip, because: "the default branch".to_owned() });
        upstream.into_iter().chain(default).collect()
    }

    fn upstream(&self, branch: &str) -> Option<(String, Commit<'_>)> {
        let upstream = self.inner.find_branch(branch, BranchType::Local).ok()?.upstream().ok()?;
        let label = upstream.name().ok()??.to_owned();
        Some((label, upstream.get().peel_to_commit().ok()?))
    }

    /// Its name, without that of the remote.
    pub fn default_branch_name(&self) -> Option<String> {
        let (label, _) = self.default_branch()?;
        Some(label.strip_prefix("origin/").map_or(label.clone(), str::to_owned))
    }

    fn default_branch(&self) -> Option<(String, Commit<'_>)> {
        DEFAULT_BRANCHES.iter().find_map(|name| {
            let reference = self.inner.find_reference(name).ok()?.resolve().ok()?;
            let label = reference.shorthand().ok()?.to_owned();
            Some((label, reference.peel_to_commit().ok()?))
        })
    }

    /// What a version is compared with that has only itself: the commit below it.
    fn own_base<'repo>(&'repo self, head: &Head<'repo>) -> Result<(Base<'repo>, String)> {
        let Head { commit, label, branch, dirty } = head;
        let place = branch.as_ref().map_or_else(|| format!("`{label}`"), |branch| format!("`{branch}`"));
        if *dirty {
            let note = format!("comparing the uncommitted changes with `{label}`, the last commit of {place}");
            return Ok((Base { label: label.clone(), commit: commit.clone() }, note));
        }
        if commit.parent_count() == 0 {
            return Err(problem::no_parent(label, self.inner.is_shallow()));
        }
        let parent = commit.parent(0).map_err(|_| problem::no_parent(label, self.inner.is_shallow()))?;
        let note = format!("comparing `{label}` with its parent commit: {place} has no other base");
        Ok((Base { label: format!("{label}~1"), commit: parent }, note))
    }
}
