//! The two versions to compare, from the command line.

use super::problem::Word;
use super::{Repository, problem};
use git2::{BranchType, Commit, ErrorCode, Oid};
use perfunit_model::error::{Error, Result};
use perfunit_model::format::short_commit;
use perfunit_model::suggest::near;
use perfunit_model::{Sides, VersionName};
use serde::{Deserialize, Serialize};

/// Versions that the user requested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// `[BASE] [--head HEAD]` or `BASE...HEAD`: head against its merge base with `BASE`. Missing parts have defaults.
    Against {
        /// Branch or commit; its merge base with head is the base. `None` selects a default branch.
        base: Option<String>,
        /// Commit to test; the working tree if `None`.
        head: Option<String>,
    },
    /// `BASE..HEAD`: exactly this commit as base.
    Range {
        /// Commit to compare with.
        base: String,
        /// Commit to test; the working tree if `None`.
        head: Option<String>,
    },
}

impl Default for Request {
    /// Returns the request of an empty command line.
    fn default() -> Self {
        Self::Against { base: None, head: None }
    }
}

impl Request {
    /// Checks whether head is the working tree.
    pub fn is_head_live(&self) -> bool {
        matches!(self, Request::Against { head: None, .. } | Request::Range { head: None, .. })
    }

    /// Replaces the base by exactly this commit, and keeps the head.
    #[must_use]
    pub fn since(&self, base: &str) -> Request {
        let (Request::Against { head, .. } | Request::Range { head, .. }) = self;
        Request::Range { base: base.to_owned(), head: head.clone() }
    }

    /// Parses the positional argument and `--head`. As in git, a missing end of a range means `HEAD`.
    pub fn parse(base: Option<&str>, head: Option<&str>) -> Result<Request> {
        let range = base.and_then(|base| {
            let symmetric = base.split_once("...").map(|ends| (ends, true));
            symmetric.or_else(|| base.split_once("..").map(|ends| (ends, false)))
        });
        match (range, head) {
            (_, Some("")) => Err(Error::usage("--head needs a revision")),
            (Some(_), Some(_)) => Err(Error::usage("a range already names both versions")
                .hint("omit --head, or write BASE instead of BASE..HEAD")),
            (Some(((base, head), true)), None) => Ok(Request::Against { base: Some(end(base)), head: Some(end(head)) }),
            (Some(((base, head), false)), None) => Ok(Request::Range { base: end(base), head: Some(end(head)) }),
            (None, _) if base == Some("") => Err(Error::usage("the revision to compare with is empty")),
            (None, _) => Ok(Request::Against { base: base.map(str::to_owned), head: head.map(str::to_owned) }),
        }
    }
}

/// Returns true if default branches usually have this name.
fn is_usual_default(name: &str) -> bool {
    DEFAULT_BRANCHES.iter().any(|branch| branch.rsplit('/').next() == Some(name))
}

fn end(revision: &str) -> String {
    if revision.is_empty() { "HEAD".to_owned() } else { revision.to_owned() }
}

impl Repository {
    /// Finds the commit of a revision in git's notation.
    pub(super) fn commit(&self, name: &str) -> Result<Commit<'_>> {
        self.find_commit(name, Word::Revision)
    }

    /// Finds the commit of a positional argument, which may be a revision or select tests by name.
    pub(super) fn commit_of_positional(&self, word: &str) -> Result<Commit<'_>> {
        self.find_commit(word, Word::RevisionOrTests)
    }

    fn find_commit(&self, name: &str, word: Word) -> Result<Commit<'_>> {
        let object = self.inner.revparse_single(name).map_err(|error| match error.code() {
            ErrorCode::Ambiguous => problem::ambiguous_revision(name),
            _ if self.inner.head().is_err_and(|error| error.code() == ErrorCode::UnbornBranch) => problem::no_commits(),
            _ => problem::unknown_revision(name, word, &self.meant(name), self.inner.is_shallow()),
        })?;
        object.peel_to_commit().map_err(|_| problem::not_a_commit(name))
    }

    /// Checks whether this revision exists.
    pub fn has_commit(&self, name: &str) -> bool {
        self.require_commit(name).is_ok()
    }

    /// Returns an error that names similar revisions if this one does not exist.
    pub fn require_commit(&self, name: &str) -> Result<()> {
        self.commit(name).map(drop)
    }

    /// Checks whether nothing in the repository has this name or a similar one. Returns false in a shallow clone and
    /// for common branch names, because the remote may have them.
    pub fn has_nothing_like(&self, name: &str) -> bool {
        let is_unknown = self.inner.revparse_single(name).is_err_and(|error| error.code() == ErrorCode::NotFound);
        is_unknown && !is_usual_default(name) && !self.inner.is_shallow() && self.near(name).is_empty()
    }

    /// Returns the revisions that an unknown name may mean: similar ones, or the default branch for its usual names.
    fn meant(&self, name: &str) -> Vec<String> {
        let near = self.near(name);
        let default = self.default_branch().filter(|_| near.is_empty() && is_usual_default(name));
        near.into_iter().chain(default.map(|(label, _)| label)).collect()
    }

    /// Returns the commit that is checked out.
    pub(super) fn head_commit(&self) -> Result<Commit<'_>> {
        let head = self.inner.head().map_err(|error| match error.code() {
            ErrorCode::UnbornBranch => problem::no_commits(),
            _ => problem::git_error("read HEAD")(error),
        })?;
        head.peel_to_commit().map_err(problem::git_error("read the commit of HEAD"))
    }

    /// Returns the merge base of two commits, if they have one. If there are several (criss-cross merges), returns
    /// libgit2's first.
    pub(super) fn merge_base(&self, one: Oid, two: Oid) -> Result<Option<Commit<'_>>> {
        match self.inner.merge_base(one, two) {
            Ok(id) => self.inner.find_commit(id).map(Some).map_err(problem::git_error(format!("read commit {id}"))),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(problem::git_error("search the merge base")(error)),
        }
    }

    fn near(&self, name: &str) -> Vec<String> {
        let Ok(references) = self.inner.references() else { return Vec::new() };
        let names: Vec<String> =
            references.flatten().filter_map(|reference| reference.shorthand().ok().map(str::to_owned)).collect();
        near(name, names.iter().map(String::as_str), "/").into_iter().map(str::to_owned).collect()
    }
}

/// One of the two versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Name of the version; `name.dirty` distinguishes a working tree from a commit.
    pub name: VersionName,
    /// Commit of the version; for a working tree the one it is based on.
    pub commit: Oid,
}

/// The two versions, and a note about their choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    pub versions: Sides<Version>,
    /// Explanation of how the base was chosen, if the user did not name it.
    pub note: Option<String>,
}

impl Repository {
    /// Finds the two versions of a request.
    ///
    /// Two equal versions are not an error: "nothing changed" is a valid answer.
    pub fn resolve(&self, request: &Request) -> Result<Comparison> {
        match request {
            Request::Range { base, head } => {
                let head = match head {
                    Some(head) => version(head, &self.commit(head)?),
                    None => head_version(&self.working_tree_head()?),
                };
                let versions = Sides { base: version(base, &self.commit(base)?), head };
                Ok(Comparison { versions, note: None })
            }
            Request::Against { base, head } => {
                // A word next to `--head` or in `BASE...HEAD` is more likely a revision.
                let word = if head.is_some() { Word::Revision } else { Word::RevisionOrTests };
                let head = match head {
                    Some(revision) => self.named_head(revision)?,
                    None => self.working_tree_head()?,
                };
                let (base, note) = match base {
                    Some(revision) => (self.named_base(revision, word, &head)?, None),
                    None => self.default_base(&head).map(|(base, note)| (base, Some(note)))?,
                };
                let versions = Sides { base: version(&base.label, &base.commit), head: head_version(&head) };
                Ok(Comparison { versions, note })
            }
        }
    }

    fn named_base<'repo>(&'repo self, revision: &str, word: Word, head: &Head<'repo>) -> Result<Base<'repo>> {
        let tip = self.find_commit(revision, word)?;
        let shallow = self.inner.is_shallow();
        let commit = self
            .merge_base(tip.id(), head.commit.id())?
            .ok_or_else(|| problem::no_merge_base(revision, &head.label, shallow))?;
        Ok(Base::merge_base(revision, &tip, commit))
    }

    fn named_head(&self, revision: &str) -> Result<Head<'_>> {
        let branch = self.inner.find_branch(revision, git2::BranchType::Local).is_ok().then(|| revision.to_owned());
        Ok(Head { commit: self.commit(revision)?, label: revision.to_owned(), branch, dirty: false })
    }

    fn working_tree_head(&self) -> Result<Head<'_>> {
        let commit = self.head_commit()?;
        let head = self.inner.head().map_err(problem::git_error("read HEAD"))?;
        let branch = if head.is_branch() { head.shorthand().ok().map(str::to_owned) } else { None };
        let dirty = self.is_dirty(&commit)?;
        Ok(Head { commit, label: "HEAD".to_owned(), branch, dirty })
    }
}

fn head_version(head: &Head<'_>) -> Version {
    let mut version = version(if head.dirty { "working tree" } else { &head.label }, &head.commit);
    version.name.dirty = head.dirty;
    version
}

/// Names a version; a full commit id is shortened.
fn version(label: &str, commit: &Commit<'_>) -> Version {
    let id = commit.id().to_string();
    let label = if label == id { short_commit(&id) } else { label };
    let name = VersionName { label: label.to_owned(), commit: id, dirty: false };
    Version { name, commit: commit.id() }
}

/// Default branch of the remote, then the common names.
pub(super) const DEFAULT_BRANCHES: [&str; 5] = [
    "refs/remotes/origin/HEAD",
    "refs/remotes/origin/main",
    "refs/remotes/origin/master",
    "refs/heads/main",
    "refs/heads/master",
];

/// Head for which to choose a base.
pub(super) struct Head<'repo> {
    pub commit: Commit<'repo>,
    /// Name for messages.
    pub label: String,
    /// Local branch of the head, without `refs/heads/`.
    pub branch: Option<String>,
    /// True if the head is a working tree with uncommitted changes.
    pub dirty: bool,
}

/// A base that was chosen.
pub(super) struct Base<'repo> {
    pub label: String,
    pub commit: Commit<'repo>,
}

impl<'repo> Base<'repo> {
    /// Labels the merge base: with the name of the branch if the merge base is the branch's tip.
    pub(super) fn merge_base(label: &str, tip: &Commit<'_>, commit: Commit<'repo>) -> Base<'repo> {
        let label = if commit.id() == tip.id() { label.to_owned() } else { format!("merge base of {label}") };
        Base { label, commit }
    }
}

/// A branch to consider as base.
struct Candidate<'repo> {
    label: String,
    tip: Commit<'repo>,
    because: String,
}

impl Repository {
    /// Chooses the base for `head`, and returns a note that explains the choice.
    pub(super) fn default_base<'repo>(&'repo self, head: &Head<'repo>) -> Result<(Base<'repo>, String)> {
        let mut merged_into = None;
        for Candidate { label, tip, because } in self.candidates(head) {
            match self.merge_base(tip.id(), head.commit.id())? {
                Some(commit) if commit.id() != head.commit.id() || head.dirty => {
                    let note = format!("comparing with `{label}`, {because}");
                    return Ok((Base::merge_base(&label, &tip, commit), note));
                }
                Some(_) => merged_into = merged_into.or(Some(label)),
                None if self.inner.is_shallow() => return Err(problem::no_merge_base(&label, &head.label, true)),
                None => {}
            }
        }
        self.own_base(head, merged_into.as_deref())
    }

    /// Returns the upstream and the default branch, or nothing if `head` is the default branch or not a branch. An upstream of
    /// the same name comes last: it has what was pushed of this branch, not what the branch started from.
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
        let remote = self.inner.branch_upstream_remote(&format!("refs/heads/{branch}")).ok();
        let pushed = remote.and_then(|remote| Some(format!("{}/{branch}", remote.as_str().ok()?)));
        let is_same_branch = |upstream: &Candidate<'_>| Some(&upstream.label) == pushed.as_ref();
        let mut candidates: Vec<Candidate<'_>> = upstream.into_iter().chain(default).collect();
        candidates.sort_by_key(is_same_branch);
        candidates
    }

    fn upstream(&self, branch: &str) -> Option<(String, Commit<'_>)> {
        let upstream = self.inner.find_branch(branch, BranchType::Local).ok()?.upstream().ok()?;
        let label = upstream.name().ok()??.to_owned();
        Some((label, upstream.get().peel_to_commit().ok()?))
    }

    /// Returns the name of the default branch, without the remote.
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

    /// Returns the base of a head without commits that another branch lacks: its own last commit or its parent.
    /// `merged_into` is a branch that has all commits of head.
    fn own_base<'repo>(&'repo self, head: &Head<'repo>, merged_into: Option<&str>) -> Result<(Base<'repo>, String)> {
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
        let because = match merged_into {
            Some(branch) => format!("{place} has no commits that `{branch}` does not have"),
            None => format!("{place} has no other branch to compare with"),
        };
        let note = format!("comparing `{label}` with its parent commit: {because}");
        Ok((Base { label: format!("{label}~1"), commit: parent }, note))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(base: Option<&str>, head: Option<&str>, expected: &str) {
        let shown = match Request::parse(base, head) {
            Ok(Request::Against { base, head }) => format!("{} against {}", show(head), show(base)),
            Ok(Request::Range { base, head }) => format!("exactly {base} to {}", show(head)),
            Err(error) => error.message().to_owned(),
        };
        assert_eq!(shown, expected);
    }

    fn show(revision: Option<String>) -> String {
        revision.unwrap_or_else(|| "?".to_owned())
    }

    #[test]
    fn absent_parts_are_left_to_the_choice() {
        check(None, None, "? against ?");
        check(Some("main"), None, "? against main");
        check(None, Some("v2"), "v2 against ?");
        check(Some("main"), Some("v2"), "v2 against main");
    }

    #[test]
    fn two_dots_are_exact_and_three_mean_the_merge_base() {
        check(Some("a..b"), None, "exactly a to b");
        check(Some("a...b"), None, "b against a");
    }

    #[test]
    fn another_base_has_the_same_head() {
        let since = |request: Request| request.since("c");
        let live = since(Request::default());
        assert!(live.is_head_live() && live == Request::Range { base: "c".to_owned(), head: None });
        let commit = since(Request::parse(Some("a..b"), None).unwrap());
        assert!(
            !commit.is_head_live() && commit == Request::Range { base: "c".to_owned(), head: Some("b".to_owned()) }
        );
    }

    #[test]
    fn an_open_end_is_head() {
        check(Some("a.."), None, "exactly a to HEAD");
        check(Some("...b"), None, "b against HEAD");
    }

    #[test]
    fn contradictions_are_usage_errors() {
        check(Some("a..b"), Some("c"), "a range already names both versions");
        check(Some(""), None, "the revision to compare with is empty");
        check(None, Some(""), "--head needs a revision");
    }
}
