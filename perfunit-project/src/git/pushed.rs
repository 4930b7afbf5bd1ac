//! What a push brings, and what to compare it with: what the remote is known to have.
//!
//! Nothing is asked of the remote. What it has is known from git's word on the pushed ref and from the remote-tracking
//! branches.

use super::{Repository, problem};
use git2::{Commit, ErrorCode, Oid, Reference};
use perfunit_model::error::{Error, Result};
use std::collections::BTreeSet;

/// A line that git writes to a `pre-push` hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pushed {
    /// What is pushed, as typed: `refs/heads/main`, `HEAD~1`, `(delete)`.
    pub local_ref: String,
    /// Its object; all zeros for a deletion.
    pub local: Oid,
    /// The ref that it becomes.
    pub remote_ref: String,
    /// The object that this ref has there now; all zeros if there is no such ref yet.
    pub remote: Oid,
}

/// What a pushed ref means for us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PushedVersions {
    /// Two commits to compare.
    Two(PushedPair),
    /// Nothing to compare, and why.
    Nothing(String),
}

/// What the remote has and what it gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushedPair {
    /// Unambiguous abbreviated id of the base.
    pub base: String,
    /// What the base is, for people: `origin/main (1a2b3c4)`.
    pub base_name: String,
    /// Unambiguous abbreviated id of the head.
    pub head: String,
    /// Whether both have the same files.
    pub same_files: bool,
}

impl Pushed {
    /// Reads a line `<local ref> <local object> <remote ref> <remote object>`.
    pub fn parse(line: &str) -> Result<Pushed> {
        // From the right: a local "ref" may be any expression, `:/fix the parser` too.
        let mut words = line.rsplitn(4, ' ');
        let mut word = || words.next().unwrap_or_default();
        let (remote, remote_ref, local, local_ref) = (word(), word(), word(), word());
        match (Oid::from_str(local), Oid::from_str(remote)) {
            (Ok(local), Ok(remote)) if !local_ref.is_empty() && !remote_ref.is_empty() => {
                Ok(Pushed { local_ref: local_ref.to_owned(), local, remote_ref: remote_ref.to_owned(), remote })
            }
            _ => Err(Error::usage(format!("invalid pushed ref `{line}`")).hint(
                "git writes `<local ref> <local object> <remote ref> <remote object>` to a pre-push hook; \
                 hook managers must pass standard input on, or use `hook run --branch`",
            )),
        }
    }

    /// The name of the branch that it becomes, or the whole ref.
    pub fn name(&self) -> &str {
        self.remote_ref.strip_prefix("refs/heads/").unwrap_or(&self.remote_ref)
    }
}

impl Repository {
    /// What to compare for a pushed ref: with `base` if one is named (their merge base), else with what the remote has.
    pub fn pushed(&self, pushed: &Pushed, remote: &str, base: Option<&str>) -> Result<PushedVersions> {
        let nothing = |why: &str| Ok(PushedVersions::Nothing(why.to_owned()));
        if pushed.local.is_zero() {
            return nothing("is deleted");
        }
        if pushed.remote_ref.starts_with("refs/tags/") {
            return nothing("is a tag");
        }
        // `refs/for` is where Gerrit takes what is to become part of a branch.
        if !["refs/heads/", "refs/for/"].iter().any(|kind| pushed.remote_ref.starts_with(kind)) {
            return nothing("is not a branch");
        }
        let object = self.inner.find_object(pushed.local, None).map_err(problem::failed("read what is pushed"))?;
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
            return nothing("is there already");
        }
        let there = self.inner.find_commit(pushed.remote).ok();
        let tracking = self.tracking(remote)?;
        if let Some(there) = &there
            && self.inner.graph_descendant_of(head.id(), there.id()).map_err(problem::failed("compare commits"))?
        {
            return pair(there, label(there, &tracking, pushed.name()), &head).map(PushedVersions::Two);
        }
        let tips = tracking.iter().map(|(_, tip)| tip.id()).chain(there.iter().map(Commit::id));
        let tips: BTreeSet<Oid> = tips.collect();
        if tips.is_empty() {
            return nothing("is the first branch there");
        }
        match self.newest_known(head.id(), &tips)? {
            Known::All => nothing("has no commits that the remote does not have"),
            Known::Base(base) => pair(&base, label(&base, &tracking, pushed.name()), &head).map(PushedVersions::Two),
            Known::Unrelated if self.inner.is_shallow() => Err(problem::no_merge_base(remote, pushed.name(), true)),
            Known::Unrelated => nothing("shares no commit with what the remote is known to have"),
        }
    }

    /// What `git push` would push now, as git would tell a hook, and to which remote; `None` if no branch is checked out.
    pub fn next_push(&self) -> Result<Option<(String, Pushed)>> {
        let head = self.inner.head().map_err(|error| match error.code() {
            ErrorCode::UnbornBranch => problem::no_commits(),
            _ => problem::failed("read HEAD")(error),
        })?;
        let (true, Ok(branch)) = (head.is_branch(), head.shorthand()) else { return Ok(None) };
        let config = self.inner.config().map_err(problem::failed("read git's configuration"))?;
        let keys =
            [format!("branch.{branch}.pushRemote"), "remote.pushDefault".into(), format!("branch.{branch}.remote")];
        let remote = keys.iter().find_map(|key| config.get_string(key).ok()).unwrap_or_else(|| "origin".to_owned());
        let tracking = self.inner.refname_to_id(&format!("refs/remotes/{remote}/{branch}"));
        let local = head.peel_to_commit().map_err(problem::failed("read the commit of HEAD"))?.id();
        let name = format!("refs/heads/{branch}");
        let remote_oid = tracking.unwrap_or(Oid::ZERO_SHA1);
        Ok(Some((remote, Pushed { local_ref: name.clone(), local, remote_ref: name, remote: remote_oid })))
    }

    /// The remote-tracking branches of a remote with their commits; of all remotes if it has no name but an address.
    fn tracking(&self, remote: &str) -> Result<Vec<(String, Commit<'_>)>> {
        let known = self.inner.find_remote(remote).is_ok();
        let pattern = if known { format!("refs/remotes/{remote}/*") } else { "refs/remotes/*".to_owned() };
        let references =
            self.inner.references_glob(&pattern).map_err(problem::failed("list the remote-tracking branches"))?;
        let tip = |reference: Reference<'_>| {
            let name = reference.shorthand().ok()?.to_owned();
            let id = reference.resolve().ok()?.target()?;
            // In a partial or damaged clone it may be absent: then nothing is known from it.
            Some((name, self.inner.find_commit(id).ok()?))
        };
        Ok(references.flatten().filter_map(tip).collect())
    }

    /// Of the commits at and below `head`, the newest at or below one of `tips`.
    fn newest_known(&self, head: Oid, tips: &BTreeSet<Oid>) -> Result<Known<'_>> {
        let walked = || -> std::result::Result<Vec<Oid>, git2::Error> {
            let mut walk = self.inner.revwalk()?;
            walk.push(head)?;
            tips.iter().try_for_each(|tip| walk.hide(*tip))?;
            walk.collect()
        };
        let new: BTreeSet<Oid> = walked().map_err(problem::failed("walk the pushed commits"))?.into_iter().collect();
        if new.is_empty() {
            return Ok(Known::All);
        }
        let mut border: Vec<Commit<'_>> = Vec::new();
        for id in &new {
            let commit = self.inner.find_commit(*id).map_err(problem::failed(format!("read commit {id}")))?;
            border.extend(commit.parents().filter(|parent| !new.contains(&parent.id())));
        }
        // Where the remote's branch was merged, it is that one and not the place where the branch was begun.
        let is_below = |one: &Commit<'_>, other: &Commit<'_>| {
            one.id() == other.id() || self.inner.graph_descendant_of(other.id(), one.id()).unwrap_or(false)
        };
        border.sort_by_key(|commit| (commit.time().seconds(), commit.id()));
        let above_all = border.iter().position(|one| border.iter().all(|other| is_below(other, one)));
        let chosen = above_all.or(border.len().checked_sub(1));
        Ok(chosen.map_or(Known::Unrelated, |chosen| Known::Base(border.swap_remove(chosen))))
    }
}

/// What the remote is known to have of a branch.
enum Known<'repo> {
    /// All of its commits.
    All,
    /// This commit and those below it.
    Base(Commit<'repo>),
    /// None of its commits.
    Unrelated,
}

/// A remote-tracking branch that is at the commit: the one of the same name if there is one.
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
    let id = commit.as_object().short_id().map_err(problem::failed("abbreviate a commit id"))?;
    Ok(id.as_str().map_or_else(|_| commit.id().to_string(), str::to_owned))
}
