//! From what was typed to two versions.

use super::default::{Base, Head};
use super::{Repository, Request, problem};
use git2::{Commit, Oid};
use perfunit_model::error::Result;
use perfunit_model::{Sides, VersionName};

/// One of the two versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// How it was named; `name.dirty` tells a working tree from a commit.
    pub name: VersionName,
    /// The commit; for a working tree the one below it.
    pub commit: Oid,
}

/// The two versions, and how they were chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    pub versions: Sides<Version>,
    /// How the base was chosen, if the user named none.
    pub note: Option<String>,
}

impl Repository {
    /// Finds the two versions that a request means.
    ///
    /// Two equal versions are no error: that nothing can have changed is an answer.
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
                let head = match head {
                    Some(revision) => self.named_head(revision)?,
                    None => self.working_tree_head()?,
                };
                let (base, note) = match base {
                    Some(revision) => (self.named_base(revision, &head)?, None),
                    None => self.default_base(&head).map(|(base, note)| (base, Some(note)))?,
                };
                let versions = Sides { base: version(&base.label, &base.commit), head: head_version(&head) };
                Ok(Comparison { versions, note })
            }
        }
    }

    fn named_base<'repo>(&'repo self, revision: &str, head: &Head<'repo>) -> Result<Base<'repo>> {
        let tip = self.commit(revision)?;
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
        let head = self.inner.head().map_err(problem::failed("read HEAD"))?;
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

fn version(label: &str, commit: &Commit<'_>) -> Version {
    let name = VersionName { label: label.to_owned(), commit: commit.id().to_string(), dirty: false };
    Version { name, commit: commit.id() }
}
