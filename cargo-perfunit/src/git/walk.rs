//! The commits of a range.

use super::{Repository, problem};
use crate::error::{Error, Result};
use crate::model;
use git2::{Commit, Oid, Sort};
use std::collections::BTreeMap;

/// Commits taken where there is no tag to begin at.
const WITHOUT_TAG: usize = 20;

/// Which commits to walk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Walk {
    /// `BASE..HEAD`, or `BASE` for all since then; none: since the last tag.
    pub range: Option<String>,
    /// The youngest so many.
    pub most: Option<usize>,
    /// Only commits that change something below one of these, relative to the repository's root.
    pub paths: Vec<String>,
}

/// Commits in a row, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commits {
    /// The one before the first.
    pub base: model::Commit,
    /// Each with its first parent before it.
    pub commits: Vec<model::Commit>,
    /// Indices of those that change something below the paths that were named; all, if none were.
    pub wanted: Vec<usize>,
    /// How the range was chosen, if none was named.
    pub note: Option<String>,
}

impl Repository {
    /// Walks from the end of a range along first parents to its beginning.
    pub fn walk(&self, walk: &Walk) -> Result<Commits> {
        let tags = self.tags()?;
        let (base, head, note) = self.ends(walk, &tags)?;
        if !self.descends(head.id(), base.id())? {
            return Err(self.unrelated(walk, &base, &head));
        }
        let mut line = self.first_parents(&head, base.id())?;
        let commit = |id: Oid| self.inner.find_commit(id).map_err(problem::failed(format!("read commit {id}")));
        let mut before = base.id();
        if let Some(most) = walk.most.filter(|most| *most < line.len()) {
            let cut = line.len() - most;
            before = line[cut - 1];
            line.drain(..cut);
        }
        let (mut commits, mut wanted) = (Vec::new(), Vec::new());
        for (index, id) in line.into_iter().enumerate() {
            let commit = commit(id)?;
            if walk.paths.is_empty() || self.touches(&commit, &walk.paths)? {
                wanted.push(index);
            }
            commits.push(described(&commit, &tags));
        }
        if wanted.is_empty() {
            let range = walk.range.as_deref().map_or_else(|| "the range".to_owned(), |range| format!("`{range}`"));
            return Err(Error::usage(format!("there are no commits in {range}"))
                .hint("name an older beginning, such as `HEAD~20`"));
        }
        Ok(Commits { base: described(&commit(before)?, &tags), commits, wanted, note })
    }

    /// A commit, as people know it.
    pub fn describe(&self, revision: &str) -> Result<model::Commit> {
        Ok(described(&self.commit(revision)?, &self.tags()?))
    }

    /// The commit in which the repository began: names it among clones.
    pub fn beginning(&self) -> Result<String> {
        let mut walk = self.inner.revwalk().map_err(problem::failed("walk through the commits"))?;
        let head = self.head_commit()?.id();
        let sorted = walk.set_sorting(Sort::TOPOLOGICAL | Sort::REVERSE).and_then(|()| walk.simplify_first_parent());
        sorted.and_then(|()| walk.push(head)).map_err(problem::failed("walk through the commits"))?;
        let first = walk.next().transpose().map_err(problem::failed("walk through the commits"))?;
        Ok(first.map(|id| id.to_string()).unwrap_or_default())
    }

    fn ends<'a>(&'a self, walk: &Walk, tags: &BTreeMap<Oid, Vec<String>>) -> Result<Ends<'a>> {
        let or_head = |end: &str| if end.is_empty() { "HEAD".to_owned() } else { end.to_owned() };
        if let Some(range) = &walk.range {
            if range.contains("...") {
                return Err(Error::usage(format!("`{range}`: a history goes from one commit to a later one"))
                    .hint("write two dots: `BASE..HEAD`"));
            }
            let (base, head) = range.split_once("..").unwrap_or((range, "HEAD"));
            return Ok((self.commit(&or_head(base))?, self.commit(&or_head(head))?, None));
        }
        let head = self.head_commit()?;
        let mut before = head.clone();
        let mut passed = 0;
        while let Ok(parent) = before.parent(0) {
            passed += 1;
            before = parent;
            if let Some(tag) = tags.get(&before.id()).and_then(|names| names.first()) {
                return Ok((before, head, Some(format!("since the last tag, {tag}"))));
            }
            if passed == walk.most.unwrap_or(WITHOUT_TAG) {
                break;
            }
        }
        if self.inner.is_shallow() && passed < WITHOUT_TAG && walk.most.is_none() {
            return Err(problem::too_shallow());
        }
        let note = format!("no tag was found: the last {passed} commits");
        Ok((before, head, Some(note)))
    }

    fn unrelated(&self, walk: &Walk, base: &Commit<'_>, head: &Commit<'_>) -> Error {
        let range = walk.range.as_deref().unwrap_or_default();
        let [base, head] = [base, head].map(|commit| commit.id().to_string()[..7].to_owned());
        let error = Error::usage(format!("`{range}`: {base} is not an ancestor of {head}"));
        if self.inner.is_shallow() {
            return error.hint(problem::FETCH_MORE);
        }
        error.hint("a history goes from a commit to one of its descendants; are the ends in the right order?")
    }

    fn descends(&self, later: Oid, earlier: Oid) -> Result<bool> {
        let descends = self.inner.graph_descendant_of(later, earlier);
        Ok(later == earlier || descends.map_err(problem::failed("compare commits"))?)
    }

    /// From the first parent's child of `until`, or of an ancestor of it, to `head`.
    fn first_parents(&self, head: &Commit<'_>, until: Oid) -> Result<Vec<Oid>> {
        let mut line = Vec::new();
        let mut at = head.clone();
        // Where the beginning was merged from elsewhere, the line passes it by.
        while at.id() != until && !self.descends(until, at.id())? {
            line.push(at.id());
            let Ok(parent) = at.parent(0) else {
                if self.inner.is_shallow() {
                    return Err(problem::too_shallow());
                }
                break;
            };
            at = parent;
        }
        line.reverse();
        Ok(line)
    }

    fn touches(&self, commit: &Commit<'_>, paths: &[String]) -> Result<bool> {
        let before = commit.parent(0).ok().map(|parent| parent.tree()).transpose();
        let trees = before.and_then(|before| Ok((before, commit.tree()?)));
        let (before, after) = trees.map_err(problem::failed("read the files of a commit"))?;
        let mut options = git2::DiffOptions::new();
        for path in paths {
            options.pathspec(path);
        }
        let diff = self.inner.diff_tree_to_tree(before.as_ref(), Some(&after), Some(&mut options));
        Ok(diff.map_err(problem::failed("compare the files of commits"))?.deltas().len() > 0)
    }

    fn tags(&self) -> Result<BTreeMap<Oid, Vec<String>>> {
        let mut tags: BTreeMap<Oid, Vec<String>> = BTreeMap::new();
        let references = self.inner.references_glob("refs/tags/*").map_err(problem::failed("read the tags"))?;
        for tag in references.flatten() {
            let (Ok(commit), Ok(name)) = (tag.peel_to_commit(), tag.shorthand()) else { continue };
            tags.entry(commit.id()).or_default().push(name.to_owned());
        }
        Ok(tags)
    }
}

/// Beginning, end, and how they were chosen.
type Ends<'a> = (Commit<'a>, Commit<'a>, Option<String>);

fn described(commit: &Commit<'_>, tags: &BTreeMap<Oid, Vec<String>>) -> model::Commit {
    model::Commit {
        id: commit.id().to_string(),
        subject: commit.summary().ok().flatten().unwrap_or_default().to_owned(),
        seconds: commit.time().seconds(),
        tags: tags.get(&commit.id()).cloned().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::fixture::Fixture;

    fn walk(range: Option<&str>) -> Walk {
        Walk { range: range.map(str::to_owned), ..Walk::default() }
    }

    fn ids(commits: &Commits) -> Vec<String> {
        commits.commits.iter().map(|commit| commit.id.clone()).collect()
    }

    #[test]
    fn a_range_is_walked_from_its_beginning_to_its_end() {
        let fixture = Fixture::new(&[("a", "1")]);
        let made: Vec<String> = ["2", "3", "4"].iter().map(|text| fixture.commit(&[("a", text)]).to_string()).collect();
        let commits = fixture.open().walk(&walk(Some("HEAD~2..HEAD"))).unwrap();
        assert_eq!(ids(&commits), made[1..]);
        assert_eq!(commits.base.id, made[0]);
        assert_eq!(commits.note, None);
    }

    #[test]
    fn without_a_range_the_last_tag_is_the_beginning_else_some_commits() {
        let fixture = Fixture::new(&[("a", "1")]);
        let tagged = fixture.commit(&[("a", "2")]);
        let last = fixture.commit(&[("a", "3")]);
        let commits = fixture.open().walk(&walk(None)).unwrap();
        assert_eq!(commits.commits.len(), 2);
        assert!(commits.note.unwrap().contains("the last 2 commits"));
        let object = fixture.raw.find_object(tagged, None).unwrap();
        fixture.raw.tag_lightweight("v1", &object, false).unwrap();
        let commits = fixture.open().walk(&walk(None)).unwrap();
        assert_eq!(ids(&commits), [last.to_string()]);
        assert_eq!(commits.base.tags, ["v1"]);
    }

    #[test]
    fn the_youngest_and_those_of_a_path_can_be_asked_for() {
        let fixture = Fixture::new(&[("a", "1")]);
        let of_b = fixture.commit(&[("b/c", "1")]);
        fixture.commit(&[("a", "2")]);
        let all = fixture.open();
        let commits = all.walk(&Walk { paths: vec!["b".to_owned()], ..walk(Some("HEAD~2")) }).unwrap();
        assert_eq!((ids(&commits)[0].clone(), commits.wanted), (of_b.to_string(), vec![0]));
        let commits = all.walk(&Walk { most: Some(1), ..walk(Some("HEAD~2")) }).unwrap();
        assert_eq!((commits.commits.len(), commits.base.id), (1, of_b.to_string()));
    }

    #[test]
    fn what_is_no_history_is_refused() {
        let fixture = Fixture::new(&[("a", "1")]);
        fixture.commit(&[("a", "2")]);
        let repository = fixture.open();
        let error = |range| repository.walk(&walk(Some(range))).unwrap_err().to_string();
        assert!(error("HEAD..HEAD~1").contains("is not an ancestor of"), "{}", error("HEAD..HEAD~1"));
        assert!(error("HEAD..HEAD").contains("there are no commits"), "{}", error("HEAD..HEAD"));
        assert!(error("HEAD~1...HEAD").contains("two dots"), "{}", error("HEAD~1...HEAD"));
        assert!(error("nonsense").contains("unknown revision"), "{}", error("nonsense"));
    }
}
