//! Selects the versions to compare for a push: the pushed commits and the newest commit that the remote has.
//!
//! The remote is never contacted. Its state is known from the line that git writes about the pushed ref, and from the
//! remote-tracking branches.

use super::{Repository, problem};
use git2::{Commit, ErrorCode, Oid, Reference};
use perfunit_model::error::{Error, Result};
use std::collections::BTreeSet;

/// A line that git writes to a `pre-push` hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushedRef {
    /// Pushed revision as typed: `refs/heads/main`, `HEAD~1`, `(delete)`.
    pub local_ref: String,
    /// Object to push; all zeros for a deletion.
    pub local: Oid,
    /// Ref to update on the remote.
    pub remote_ref: String,
    /// Current object of the remote ref; all zeros if the ref does not exist yet.
    pub remote: Oid,
}

/// Result of looking at a pushed ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PushedVersions {
    /// Two commits to compare.
    Two(PushedPair),
    /// Nothing to compare, with the reason.
    Nothing(String),
}

/// Base and head of a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushedPair {
    /// Unambiguous abbreviated ID of the base.
    pub base: String,
    /// Description of the base: `origin/main (1a2b3c4)`.
    pub base_name: String,
    /// Unambiguous abbreviated ID of the head.
    pub head: String,
    /// True if both commits have the same files.
    pub same_files: bool,
}

impl PushedRef {
    /// Parses a line `<local ref> <local object> <remote ref> <remote object>`.
    pub fn parse(line: &str) -> Result<PushedRef> {
        // Split from the right, because the local "ref" may contain spaces (`:/fix the parser`).
        let mut words = line.rsplitn(4, ' ');
        let mut word = || words.next().unwrap_or_default();
        let (remote, remote_ref, local, local_ref) = (word(), word(), word(), word());
        match (Oid::from_str(local), Oid::from_str(remote)) {
            (Ok(local), Ok(remote)) if !local_ref.is_empty() && !remote_ref.is_empty() => {
                Ok(PushedRef { local_ref: local_ref.to_owned(), local, remote_ref: remote_ref.to_owned(), remote })
            }
            _ => Err(Error::usage(format!("invalid pushed ref `{line}`")).hint(
                "git writes `<local ref> <local object> <remote ref> <remote object>` to a pre-push hook; \
                 make the hook manager pass on standard input, or use `hook run --branch`",
            )),
        }
    }

    /// Returns the name of the remote branch, or the whole ref if it is not a branch.
    pub fn name(&self) -> &str {
        self.remote_ref.strip_prefix("refs/heads/").unwrap_or(&self.remote_ref)
    }
}

impl Repository {
    /// Selects the versions to compare for a pushed ref. Base is the merge base with `base` if given, otherwise the
    /// newest commit that the remote has.
    pub fn select_pushed(&self, pushed: &PushedRef, remote: &str, base: Option<&str>) -> Result<PushedVersions> {
        let nothing = |why: &str| Ok(PushedVersions::Nothing(why.to_owned()));
        if pushed.local.is_zero() {
            return nothing("is deleted");
        }
        if pushed.remote_ref.starts_with("refs/tags/") {
            return nothing("is a tag");
        }
        // Gerrit accepts changes for review under `refs/for`.
        if !["refs/heads/", "refs/for/"].iter().any(|kind| pushed.remote_ref.starts_with(kind)) {
            return nothing("is not a branch");
        }
        let object =
            self.inner.find_object(pushed.local, None).map_err(problem::git_error("read the pushed object"))?;
        let Ok(head) = object.peel_to_commit() else { return nothing("is not a commit") };
        if let Some(revision) = base {
            let tip = self.commit(revision)?;
            let merge_base = self.merge_base(tip.id(), head.id())?;
            let shallow = self.inner.is_shallow();
            let base = merge_base.ok_or_else(|| problem::no_merge_base(revision, pushed.name(), shallow))?;
            let label = (base.id() == tip.id()).then(|| revision.to_owned());
            return pair(&base, label, &head).map(PushedVersions::Two);
        }
        if pushed.remote == head.id() {
            return nothing("is already on the remote");
        }
        let there = self.inner.find_commit(pushed.remote).ok();
        let tracking = self.tracking(remote)?;
        if let Some(there) = &there
            && self.inner.graph_descendant_of(head.id(), there.id()).map_err(problem::git_error("compare commits"))?
        {
            return pair(there, label(there, &tracking, pushed.name()), &head).map(PushedVersions::Two);
        }
        let tips = tracking.iter().map(|(_, tip)| tip.id()).chain(there.iter().map(Commit::id));
        let tips: BTreeSet<Oid> = tips.collect();
        if tips.is_empty() {
            return nothing("is the first branch on the remote");
        }
        match self.newest_on_remote(head.id(), &tips)? {
            OnRemote::All => nothing("has no new commits"),
            OnRemote::Base(base) => pair(&base, label(&base, &tracking, pushed.name()), &head).map(PushedVersions::Two),
            OnRemote::Unrelated if self.inner.is_shallow() => Err(problem::no_merge_base(remote, pushed.name(), true)),
            OnRemote::Unrelated => nothing("shares no commit with the known branches of the remote"),
        }
    }

    /// Returns what `git push` would push now, as git would tell a hook, and the remote. Returns `None` if no branch is
    /// checked out.
    pub fn next_push(&self) -> Result<Option<(String, PushedRef)>> {
        let head = self.inner.head().map_err(|error| match error.code() {
            ErrorCode::UnbornBranch => problem::no_commits(),
            _ => problem::git_error("read HEAD")(error),
        })?;
        let (true, Ok(branch)) = (head.is_branch(), head.shorthand()) else { return Ok(None) };
        let config = self.inner.config().map_err(problem::git_error("read git's configuration"))?;
        let keys =
            [format!("branch.{branch}.pushRemote"), "remote.pushDefault".into(), format!("branch.{branch}.remote")];
        let remote = keys.iter().find_map(|key| config.get_string(key).ok()).unwrap_or_else(|| "origin".to_owned());
        let tracking = self.inner.refname_to_id(&format!("refs/remotes/{remote}/{branch}"));
        let local = head.peel_to_commit().map_err(problem::git_error("read the commit of HEAD"))?.id();
        let name = format!("refs/heads/{branch}");
        let remote_oid = tracking.unwrap_or(Oid::ZERO_SHA1);
        Ok(Some((remote, PushedRef { local_ref: name.clone(), local, remote_ref: name, remote: remote_oid })))
    }

    /// Returns the remote-tracking branches of a remote with their commits. If `remote` is a URL, returns those of all
    /// remotes.
    fn tracking(&self, remote: &str) -> Result<Vec<(String, Commit<'_>)>> {
        let known = self.inner.find_remote(remote).is_ok();
        let pattern = if known { format!("refs/remotes/{remote}/*") } else { "refs/remotes/*".to_owned() };
        let references =
            self.inner.references_glob(&pattern).map_err(problem::git_error("list the remote-tracking branches"))?;
        let tip = |reference: Reference<'_>| {
            let name = reference.shorthand().ok()?.to_owned();
            let id = reference.resolve().ok()?.target()?;
            // In a partial or damaged clone the commit may be missing.
            Some((name, self.inner.find_commit(id).ok()?))
        };
        Ok(references.flatten().filter_map(tip).collect())
    }

    /// Finds the newest ancestor of `head`, or `head` itself, that is reachable from one of `tips`.
    fn newest_on_remote(&self, head: Oid, tips: &BTreeSet<Oid>) -> Result<OnRemote<'_>> {
        let walked = || -> std::result::Result<Vec<Oid>, git2::Error> {
            let mut walk = self.inner.revwalk()?;
            walk.push(head)?;
            tips.iter().try_for_each(|tip| walk.hide(*tip))?;
            walk.collect()
        };
        let new: BTreeSet<Oid> = walked().map_err(problem::git_error("walk the pushed commits"))?.into_iter().collect();
        if new.is_empty() {
            return Ok(OnRemote::All);
        }
        let mut border: Vec<Commit<'_>> = Vec::new();
        for id in &new {
            let commit = self.inner.find_commit(*id).map_err(problem::git_error(format!("read commit {id}")))?;
            border.extend(commit.parents().filter(|parent| !new.contains(&parent.id())));
        }
        // If the remote's branch was merged, prefer the merged commit to the branch point.
        let is_below = |one: &Commit<'_>, other: &Commit<'_>| {
            one.id() == other.id() || self.inner.graph_descendant_of(other.id(), one.id()).unwrap_or(false)
        };
        border.sort_by_key(|commit| (commit.time().seconds(), commit.id()));
        let above_all = border.iter().position(|one| border.iter().all(|other| is_below(other, one)));
        let chosen = above_all.or(border.len().checked_sub(1));
        Ok(chosen.map_or(OnRemote::Unrelated, |chosen| OnRemote::Base(border.swap_remove(chosen))))
    }
}

/// Part of a branch that the remote has.
enum OnRemote<'repo> {
    /// Every commit.
    All,
    /// This commit and its ancestors.
    Base(Commit<'repo>),
    /// None of the commits.
    Unrelated,
}

/// Returns the name of a remote-tracking branch at the commit, preferably of the same name as `branch`.
fn label(commit: &Commit<'_>, tracking: &[(String, Commit<'_>)], branch: &str) -> Option<String> {
    let mut names: Vec<&String> =
        tracking.iter().filter(|(_, tip)| tip.id() == commit.id()).map(|(name, _)| name).collect();
    let rank = |name: &str| {
        let short = name.split_once('/').map_or(name, |(_, short)| short);
        (short != branch, !["main", "master"].contains(&short), short == "HEAD")
    };
    names.sort_by_key(|name| rank(name));
    names.first().map(|name| (*name).clone())
}

fn pair(base: &Commit<'_>, label: Option<String>, head: &Commit<'_>) -> Result<PushedPair> {
    let (base_id, head_id) = (short(base)?, short(head)?);
    let base_name = label.map_or_else(|| base_id.clone(), |label| format!("{label} ({base_id})"));
    Ok(PushedPair { base_name, base: base_id, head: head_id, same_files: base.tree_id() == head.tree_id() })
}

fn short(commit: &Commit<'_>) -> Result<String> {
    let id = commit.as_object().short_id().map_err(problem::git_error("abbreviate a commit id"))?;
    Ok(id.as_str().map_or_else(|_| commit.id().to_string(), str::to_owned))
}
