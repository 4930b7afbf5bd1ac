//! Lists the commits of a range.

use super::{Repository, problem};
use git2::{Commit, DiffOptions, Oid, Patch, Sort};
use perfunit_model as model;
use perfunit_model::error::{Error, Result};
use std::collections::BTreeMap;
use std::path::Path;

/// Number of commits if no tag marks the start.
const WITHOUT_TAG: usize = 20;

/// Commits to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Walk {
    /// `BASE..HEAD`, or `BASE` for all commits since then. `None` means since the last tag.
    pub range: Option<String>,
    /// Limit to this number of most recent commits.
    pub most: Option<usize>,
    /// Include only commits that change something below one of these paths, relative to the repository's root.
    pub paths: Vec<String>,
    /// Without a range: number of tags to skip on the way back to the start.
    pub tags_passed: usize,
    /// Include only commits of this moment or later, in seconds since 1970.
    pub since: Option<i64>,
    pub steps: Steps,
}

/// Commits that count as steps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Steps {
    #[default]
    All,
    /// Merge commits only.
    Merges,
}

/// A line of commits, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Commit before the first one.
    pub base: model::Commit,
    /// Commits, each preceded by its first parent.
    pub commits: Vec<model::Commit>,
    /// Indices of the commits that match the requested paths and steps.
    pub wanted: Vec<usize>,
    /// Explanation of how the range was chosen, if the user did not name one.
    pub note: Option<String>,
}

impl Repository {
    /// Lists the commits from the end of a range along first parents to its start.
    pub fn walk(&self, walk: &Walk) -> Result<Line> {
        let tags = self.tags()?;
        let (base, head, note) = self.ends(walk, &tags)?;
        if !self.descends(head.id(), base.id())? {
            return Err(self.unrelated_error(walk, &base, &head));
        }
        let mut line = self.first_parents(&head, base.id())?;
        let commit = |id: Oid| self.inner.find_commit(id).map_err(problem::git_error(format!("read commit {id}")));
        let mut before = base.id();
        if let Some(since) = walk.since {
            let first = self.last_before(&head, since)?.id();
            if let Some(older) = line.iter().position(|id| *id == first) {
                before = first;
                line.drain(..=older);
            }
        }
        if let Some(most) = walk.most.filter(|most| *most < line.len()) {
            let cut = line.len() - most;
            before = line[cut - 1];
            line.drain(..cut);
        }
        let (mut commits, mut wanted) = (Vec::new(), Vec::new());
        for (index, id) in line.into_iter().enumerate() {
            let commit = commit(id)?;
            let is_step = walk.steps == Steps::All || commit.parent_count() > 1;
            if is_step && (walk.paths.is_empty() || self.touches(&commit, &walk.paths)?) {
                wanted.push(index);
            }
            commits.push(describe_commit(&commit, &tags));
        }
        if wanted.is_empty() {
            return Err(nothing_wanted(walk, commits.len()));
        }
        Ok(Line { base: describe_commit(&commit(before)?, &tags), commits, wanted, note })
    }

    /// Describes a commit with its subject, time and tags.
    pub fn describe(&self, revision: &str) -> Result<model::Commit> {
        Ok(describe_commit(&self.commit(revision)?, &self.tags()?))
    }

    /// Returns the ID of the repository's first commit, which is the same in all clones.
    pub fn beginning(&self) -> Result<String> {
        let mut walk = self.inner.revwalk().map_err(problem::git_error("walk through the commits"))?;
        let head = self.head_commit()?.id();
        let sorted = walk.set_sorting(Sort::TOPOLOGICAL | Sort::REVERSE).and_then(|()| walk.simplify_first_parent());
        sorted.and_then(|()| walk.push(head)).map_err(problem::git_error("walk through the commits"))?;
        let first = walk.next().transpose().map_err(problem::git_error("walk through the commits"))?;
        Ok(first.map(|id| id.to_string()).unwrap_or_default())
    }

    fn ends<'a>(&'a self, walk: &Walk, tags: &BTreeMap<Oid, Vec<String>>) -> Result<Ends<'a>> {
        let or_head = |end: &str| if end.is_empty() { "HEAD".to_owned() } else { end.to_owned() };
        if let Some(range) = &walk.range {
            if range.contains("...") {
                return Err(Error::usage(format!("`{range}`: a history needs a range from one commit to a later one"))
                    .hint("use two dots: `BASE..HEAD`"));
            }
            let Some((base, head)) = range.split_once("..") else {
                return Ok((self.commit_of_positional(range)?, self.commit("HEAD")?, None));
            };
            return Ok((self.commit(&or_head(base))?, self.commit(&or_head(head))?, None));
        }
        let head = self.head_commit()?;
        if let Some(since) = walk.since {
            return Ok((self.last_before(&head, since)?, head, None));
        }
        let (mut at, mut passed, mut tagged) = (head.clone(), Vec::new(), Vec::new());
        while let Ok(parent) = at.parent(0)
            && tagged.len() <= walk.tags_passed
        {
            if let Some(tag) = tags.get(&parent.id()).and_then(|names| names.first()) {
                tagged.push((parent.clone(), tag));
            }
            passed.push(parent.id());
            at = parent;
        }
        if let Some((before, tag)) = tagged.pop() {
            let which = if tagged.is_empty() { "the last tag, " } else { "" };
            return Ok((before, head, Some(format!("since {which}{tag}"))));
        }
        let most = walk.most.unwrap_or(WITHOUT_TAG);
        if self.inner.is_shallow() && passed.len() < most {
            return Err(problem::too_shallow());
        }
        passed.truncate(most);
        let note = format!("no tag found: the last {} commits", passed.len());
        let before = match passed.last() {
            Some(id) => self.inner.find_commit(*id).map_err(problem::git_error(format!("read commit {id}")))?,
            None => head.clone(),
        };
        Ok((before, head, Some(note)))
    }

    /// Finds the first older commit on the way back, or the repository's first commit.
    fn last_before<'a>(&'a self, head: &Commit<'a>, moment: i64) -> Result<Commit<'a>> {
        let mut at = head.clone();
        while at.time().seconds() >= moment {
            match at.parent(0) {
                Ok(parent) => at = parent,
                Err(_) if self.inner.is_shallow() => return Err(problem::too_shallow()),
                Err(_) => break,
            }
        }
        Ok(at)
    }

    fn unrelated_error(&self, walk: &Walk, base: &Commit<'_>, head: &Commit<'_>) -> Error {
        let range = walk.range.as_deref().unwrap_or_default();
        let [base, head] = [base, head].map(|commit| commit.id().to_string()[..7].to_owned());
        let error = Error::usage(format!("`{range}`: {base} is not an ancestor of {head}"));
        if self.inner.is_shallow() {
            return error.hint(problem::FETCH_MORE);
        }
        error.hint("a history goes from a commit to a descendant; check the order of the two ends")
    }

    fn descends(&self, later: Oid, earlier: Oid) -> Result<bool> {
        let descends = self.inner.graph_descendant_of(later, earlier);
        Ok(later == earlier || descends.map_err(problem::git_error("compare commits"))?)
    }

    /// Lists the first parents of `head`, the oldest first, after `until` or an ancestor of it.
    fn first_parents(&self, head: &Commit<'_>, until: Oid) -> Result<Vec<Oid>> {
        let mut line = Vec::new();
        let mut at = head.clone();
        // If `until` was merged from another branch, first parents never reach it.
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
        let (before, after) = trees.map_err(problem::git_error("read the files of a commit"))?;
        let mut options = git2::DiffOptions::new();
        for path in paths {
            options.pathspec(path);
        }
        let diff = self.inner.diff_tree_to_tree(before.as_ref(), Some(&after), Some(&mut options));
        Ok(diff.map_err(problem::git_error("compare the files of commits"))?.deltas().len() > 0)
    }

    fn tags(&self) -> Result<BTreeMap<Oid, Vec<String>>> {
        let mut tags: BTreeMap<Oid, Vec<String>> = BTreeMap::new();
        let references = self.inner.references_glob("refs/tags/*").map_err(problem::git_error("read the tags"))?;
        for tag in references.flatten() {
            let (Ok(commit), Ok(name)) = (tag.peel_to_commit(), tag.shorthand()) else { continue };
            tags.entry(commit.id()).or_default().push(name.to_owned());
        }
        Ok(tags)
    }
}

/// Builds an error for a range without matching commits.
fn nothing_wanted(walk: &Walk, passed: usize) -> Error {
    let range = walk.range.as_deref().map_or_else(|| "the range".to_owned(), |range| format!("`{range}`"));
    let error = Error::usage(format!("there are no commits in {range}"));
    match (passed, walk.since) {
        (0, Some(_)) => error.hint("pass an earlier day with --since"),
        (0, None) => error.hint("use an older start, such as `HEAD~20`"),
        _ => {
            let (asked, hint) = match walk.steps {
                Steps::Merges => ("is a merge", "omit --merges"),
                Steps::All => ("changes one of the paths", "give other --paths, or none"),
            };
            Error::usage(format!("none of the {passed} commits in {range} {asked}")).hint(hint)
        }
    }
}

/// Start, end, and a note about their choice.
type Ends<'a> = (Commit<'a>, Commit<'a>, Option<String>);

fn describe_commit(commit: &Commit<'_>, tags: &BTreeMap<Oid, Vec<String>>) -> model::Commit {
    model::Commit {
        id: commit.id().to_string(),
        subject: commit.summary().ok().flatten().unwrap_or_default().to_owned(),
        seconds: commit.time().seconds(),
        tags: tags.get(&commit.id()).cloned().unwrap_or_default(),
    }
}

/// Unchanged lines to show around a change.
const CONTEXT: u32 = 3;

/// A line of a unified diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffLine {
    /// Text with its sign.
    pub text: String,
    /// Line number in head; for a removed line, the number of the next line in head.
    pub line: usize,
    /// Line number in base, if the line was removed.
    pub removed: Option<usize>,
}

impl Repository {
    /// Returns the changed lines of a file with context. Returns nothing if the file is not text or does not differ.
    pub fn file_diff(&self, base: &str, head: &str, path: &str) -> Result<Vec<DiffLine>> {
        let failed = || problem::git_error(format!("compare {path}"));
        let trees = (self.commit(base)?.tree(), self.commit(head)?.tree());
        let (base, head) = (trees.0.map_err(failed())?, trees.1.map_err(failed())?);
        let mut options = DiffOptions::new();
        options.pathspec(path).disable_pathspec_match(true).context_lines(CONTEXT);
        let diff = self.inner.diff_tree_to_tree(Some(&base), Some(&head), Some(&mut options)).map_err(failed())?;
        if diff.deltas().len() == 0 {
            return Ok(Vec::new());
        }
        let Some(differences) = Patch::from_diff(&diff, 0).map_err(failed())? else { return Ok(Vec::new()) };
        let mut lines = Vec::new();
        for hunk in 0..differences.num_hunks() {
            let mut next = differences.hunk(hunk).map_err(failed())?.0.new_start() as usize;
            for index in 0..differences.num_lines_in_hunk(hunk).map_err(failed())? {
                let line = differences.line_in_hunk(hunk, index).map_err(failed())?;
                // Other origins are notes about a missing line break at the end.
                let (' ' | '+' | '-') = line.origin() else { continue };
                let at = line.new_lineno().map_or(next, |number| number as usize);
                next = at + usize::from(line.new_lineno().is_some());
                let text = format!("{}{}", line.origin(), String::from_utf8_lossy(line.content()).trim_end());
                let removed = line.old_lineno().filter(|_| line.origin() == '-').map(|number| number as usize);
                lines.push(DiffLine { text, line: at, removed });
            }
        }
        Ok(lines)
    }

    /// Reads the Rust files of a commit that have this identifier.
    pub fn files_with(&self, commit: &str, identifier: &str) -> Result<Vec<String>> {
        let failed = || problem::git_error(format!("search {commit}"));
        let tree = self.commit(commit)?.tree().map_err(failed())?;
        let is_other = |byte: &u8| !(byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80);
        let mut texts = Vec::new();
        let walked = tree.walk(git2::TreeWalkMode::PreOrder, |_, entry| {
            let blob = entry.name_bytes().ends_with(b".rs").then(|| self.inner.find_blob(entry.id()).ok()).flatten();
            if let Some(blob) = blob
                && blob.content().split(is_other).any(|word| word == identifier.as_bytes())
            {
                texts.push(String::from_utf8_lossy(blob.content()).into_owned());
            }
            git2::TreeWalkResult::Ok
        });
        walked.map(|()| texts).map_err(failed())
    }

    /// Reads a text file of a commit.
    pub fn text_at(&self, commit: &str, path: &str) -> Result<Option<String>> {
        let tree = self.commit(commit)?.tree().map_err(problem::git_error(format!("read {path}")))?;
        let Ok(entry) = tree.get_path(Path::new(path)) else { return Ok(None) };
        let blob = self.inner.find_blob(entry.id()).ok();
        Ok(blob.and_then(|blob| String::from_utf8(blob.content().to_vec()).ok()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::fixture::Fixture;

    fn walk(range: Option<&str>) -> Walk {
        Walk { range: range.map(str::to_owned), ..Walk::default() }
    }

    fn ids(commits: &Line) -> Vec<String> {
        commits.commits.iter().map(|commit| commit.id.clone()).collect()
    }

    #[test]
    fn identifiers_are_found_in_rust_files() {
        let fixture = Fixture::new(&[("a", "1"), ("src/lib.rs", "fn adds_up() {}"), ("notes", "other")]);
        let commit = fixture.commit(&[("a", "2")]).to_string();
        let files = |identifier: &str| fixture.open().files_with(&commit, identifier).unwrap();
        assert_eq!(files("adds_up"), ["fn adds_up() {}"]);
        assert!(files("adds").is_empty() && files("other").is_empty());
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
        let object = |id| fixture.raw.find_object(id, None).unwrap();
        fixture.raw.tag_lightweight("v1", &object(tagged), false).unwrap();
        let commits = fixture.open().walk(&walk(None)).unwrap();
        assert_eq!(ids(&commits), [last.to_string()]);
        assert_eq!(commits.base.tags, ["v1"]);
        // The distance does not matter: a release is compared with the one before it.
        for number in 0..=WITHOUT_TAG {
            fixture.commit(&[("a", &format!("later {number}"))]);
        }
        assert_eq!(fixture.open().walk(&walk(None)).unwrap().base.tags, ["v1"]);
        let head = fixture.raw.head().unwrap().target().unwrap();
        fixture.raw.tag_lightweight("v2", &object(head), false).unwrap();
        fixture.commit(&[("a", "last")]);
        let before = |tags_passed| fixture.open().walk(&Walk { tags_passed, ..Walk::default() }).unwrap().base.tags;
        assert_eq!([before(0), before(1), before(7)], [["v2"], ["v1"], ["v1"]]);
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
    fn a_day_and_merges_can_be_asked_for() {
        let fixture = Fixture::new(&[("a", "1")]);
        let at = |seconds: i64, parents: &[git2::Oid]| {
            let author = git2::Signature::new("T", "t@example.org", &git2::Time::new(seconds, 0)).unwrap();
            let parents: Vec<_> = parents.iter().map(|id| fixture.raw.find_commit(*id).unwrap()).collect();
            let tree = parents[0].tree().unwrap();
            let parents: Vec<_> = parents.iter().collect();
            fixture.raw.commit(None, &author, &author, "c", &tree, &parents).unwrap()
        };
        let first = fixture.raw.head().unwrap().target().unwrap();
        let old = at(1_000_000_000, &[first]);
        let side = at(1_500_000_000, &[old]);
        let merge = at(2_000_000_000, &[old, side]);
        let young = at(2_100_000_000, &[merge]);
        fixture.raw.reference("refs/heads/main", young, true, "").unwrap();
        let all = fixture.open();
        let since = Walk { since: Some(1_900_000_000), ..Walk::default() };
        for range in [None, Some(first.to_string())] {
            let commits = all.walk(&Walk { range, ..since.clone() }).unwrap();
            assert_eq!(ids(&commits), [merge.to_string(), young.to_string()]);
            assert_eq!(commits.base.id, old.to_string());
        }
        let commits = all.walk(&Walk { steps: Steps::Merges, ..walk(Some(&first.to_string())) }).unwrap();
        assert_eq!((commits.commits.len(), commits.wanted), (3, vec![1]));
        let error = |asked: Walk| all.walk(&asked).unwrap_err().to_string();
        let late = error(Walk { since: Some(2_200_000_000), ..Walk::default() });
        assert!(late.contains("there are no commits") && late.contains("--since"), "{late}");
        let none = error(Walk { steps: Steps::Merges, ..walk(Some("HEAD~1")) });
        assert!(none.contains("none of the 1 commits in `HEAD~1` is a merge"), "{none}");
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

    #[test]
    fn a_file_differs_in_lines_with_their_numbers_in_head() {
        let fixture = Fixture::new(&[("src/a.rs", "1\n2\n3\n4\n5\n6\n7\n8\n"), ("b", "1\n")]);
        let base = fixture.commit(&[("b", "2\n")]).to_string();
        let head = fixture.commit(&[("src/a.rs", "1\n2\n3\n4\nfive\nmore\n7\n8\n")]).to_string();
        let repository = fixture.open();
        let lines = repository.file_diff(&base, &head, "src/a.rs").unwrap();
        let removed: Vec<usize> = lines.iter().filter_map(|line| line.removed).collect();
        assert_eq!(removed, [5, 6]);
        let lines: Vec<(usize, &str)> = lines.iter().map(|line| (line.line, line.text.as_str())).collect();
        let expected =
            [(2, " 2"), (3, " 3"), (4, " 4"), (5, "-5"), (5, "-6"), (5, "+five"), (6, "+more"), (7, " 7"), (8, " 8")];
        assert_eq!(lines, expected);
        assert_eq!(repository.file_diff(&base, &head, "b").unwrap(), []);
        assert_eq!(repository.text_at(&base, "b").unwrap().as_deref(), Some("2\n"));
        assert_eq!(repository.text_at(&base, "c").unwrap(), None);
    }
}
