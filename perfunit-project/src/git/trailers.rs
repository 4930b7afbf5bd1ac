//! Trailers of the commits between two versions.

use super::{Repository, problem};
use git2::{Commit, Oid, Revwalk, Sort};
use perfunit_model::error::Result;
use std::collections::BTreeSet;

/// A trailer of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trailer {
    /// Commit id in full.
    pub commit: String,
    /// The number of first parents between head and the commit that brought this one into head's history: 0 for head and for
    /// what head merges.
    pub step: usize,
    pub value: String,
}

/// The trailers with one key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trailers {
    /// The youngest first.
    pub found: Vec<Trailer>,
    /// Commits that have such a line outside of their last paragraph, where git reads no trailers.
    pub misplaced: Vec<String>,
    /// True if the clone is shallow and does not have all of the commits.
    pub is_cut: bool,
}

impl Repository {
    /// Returns the trailers with this key of the commits that are reachable from head and not from base.
    pub fn trailers(&self, key: &str, base: Oid, head: Oid) -> Result<Trailers> {
        let mut trailers = Trailers::default();
        let mut line = None;
        for id in self.between(base, head)? {
            // Objects beyond the end of a shallow clone are not here.
            let Some(commit) = id.ok().and_then(|id| self.inner.find_commit(id).ok()) else {
                trailers.is_cut = true;
                break;
            };
            trailers.is_cut |= commit.parent_count() == 0 && self.inner.is_shallow();
            let (values, is_misplaced) = of_commit(&commit, key);
            if is_misplaced {
                trailers.misplaced.push(commit.id().to_string());
            }
            if values.is_empty() {
                continue;
            }
            if line.is_none() {
                line = Some(self.first_parents_between(base, head)?);
            }
            let step = self.step(line.as_deref().unwrap_or_default(), commit.id());
            let trailer = |value| Trailer { commit: commit.id().to_string(), step, value };
            trailers.found.extend(values.into_iter().map(trailer));
        }
        Ok(trailers)
    }

    fn between(&self, base: Oid, head: Oid) -> Result<Revwalk<'_>> {
        let walk = || -> std::result::Result<Revwalk<'_>, git2::Error> {
            let mut walk = self.inner.revwalk()?;
            walk.set_sorting(Sort::TOPOLOGICAL)?;
            walk.push(head)?;
            walk.hide(base)?;
            Ok(walk)
        };
        walk().map_err(problem::git_error("walk the commits of the change"))
    }

    /// Returns head and its first parents that base does not have, the youngest first.
    fn first_parents_between(&self, base: Oid, head: Oid) -> Result<Vec<Oid>> {
        let new: BTreeSet<Oid> = self.between(base, head)?.flatten().collect();
        let parent = |id: &Oid| self.inner.find_commit(*id).ok()?.parent_id(0).ok();
        let line = std::iter::successors(Some(head), parent);
        Ok(line.take_while(|id| new.contains(id)).collect())
    }

    /// Returns the index of the oldest commit of a line that is a commit or descends from it.
    fn step(&self, line: &[Oid], commit: Oid) -> usize {
        let has = |id: &Oid| *id == commit || self.inner.graph_descendant_of(*id, commit).unwrap_or(false);
        line.partition_point(has).saturating_sub(1)
    }
}

/// Returns the values of a commit's trailers with a key, and whether there is such a line elsewhere in its message.
fn of_commit(commit: &Commit<'_>, key: &str) -> (Vec<String>, bool) {
    let message = String::from_utf8_lossy(commit.message_bytes());
    let is_key = |found: &str| found.trim().eq_ignore_ascii_case(key);
    let is_line = |line: &&str| line.split_once(':').is_some_and(|(found, _)| found == found.trim() && is_key(found));
    let lines = message.lines().filter(is_line).count();
    if lines == 0 {
        return (Vec::new(), false);
    }
    let Ok(trailers) = git2::message_trailers_strs(&message) else { return (Vec::new(), true) };
    let values = trailers.iter().filter(|(found, _)| is_key(found)).map(|(_, value)| value.to_owned());
    let values: Vec<String> = values.collect();
    let is_misplaced = values.len() < lines;
    (values, is_misplaced)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Fixture;
    use super::*;
    use git2::{Signature, Time};

    const KEY: &str = "Perfunit-Accept";

    /// Commits onto these parents, without a branch.
    fn commit(fixture: &Fixture, parents: &[Oid], message: &str) -> Oid {
        let parents: Vec<Commit<'_>> = parents.iter().map(|id| fixture.raw.find_commit(*id).unwrap()).collect();
        let tree = parents[0].tree().unwrap();
        let author = Signature::new("a", "a@example.org", &Time::new(1_000_000_000, 0)).unwrap();
        fixture.raw.commit(None, &author, &author, message, &tree, &parents.iter().collect::<Vec<_>>()).unwrap()
    }

    fn of(fixture: &Fixture, base: Oid, head: Oid) -> Trailers {
        fixture.open().trailers(KEY, base, head).unwrap()
    }

    fn values(trailers: &Trailers) -> BTreeSet<&str> {
        trailers.found.iter().map(|trailer| trailer.value.as_str()).collect()
    }

    #[test]
    fn trailers_are_those_of_commits_that_head_has_and_base_has_not() {
        let fixture = Fixture::new(&[("a", "1")]);
        let root = fixture.raw.head().unwrap().target().unwrap();
        let accept = |parents: &[Oid], value: &str| commit(&fixture, parents, &format!("s\n\n{KEY}: {value}\n"));
        let base = accept(&[root], "base");
        // Others worked on the base's branch meanwhile, and that was merged.
        let others = accept(&[root], "others");
        let one = accept(&[base], "one");
        let two = accept(&[one, others], "two");
        assert_eq!(values(&of(&fixture, base, two)), ["one", "others", "two"].into());
        assert_eq!(values(&of(&fixture, others, two)), ["base", "one", "two"].into());
        assert_eq!(values(&of(&fixture, two, base)), BTreeSet::new());
        assert!(!of(&fixture, root, two).is_cut);
    }

    #[test]
    fn what_a_merge_brings_is_one_step() {
        let fixture = Fixture::new(&[("a", "1")]);
        let root = fixture.raw.head().unwrap().target().unwrap();
        let accept = |parents: &[Oid], value: &str| commit(&fixture, parents, &format!("s\n\n{KEY}: {value}\n"));
        let (topic, other) = (accept(&[root], "a"), accept(&[root], "c"));
        let topic = accept(&[topic], "b");
        let merge = commit(&fixture, &[root, topic], "merge topic");
        let direct = accept(&[merge], "d");
        let head = accept(&[direct, other], "e");
        let trailers = of(&fixture, root, head);
        let mut steps: Vec<(usize, &str)> = trailers.found.iter().map(|found| (found.step, &*found.value)).collect();
        steps.sort_unstable();
        assert_eq!(steps, [(0, "c"), (0, "e"), (1, "d"), (2, "a"), (2, "b")]);
    }

    #[test]
    fn only_the_last_paragraph_has_trailers() {
        let fixture = Fixture::new(&[("a", "1")]);
        let root = fixture.raw.head().unwrap().target().unwrap();
        let read = |message: &str| {
            let head = commit(&fixture, &[root], message);
            let Trailers { found, misplaced, .. } = of(&fixture, root, head);
            (found.into_iter().map(|trailer| trailer.value).collect::<Vec<_>>(), misplaced.len())
        };
        assert_eq!(read("s\n\nbody\n\nSigned-off-by: a\nperfunit-accept: x\nPerfunit-Accept: y\n").0, ["x", "y"]);
        assert_eq!(read("s\n\nPerfunit-Accept: a <= 5%\n  because x\n").0, ["a <= 5%\n  because x"]);
        assert_eq!(read("s\n\nPerfunit-Accept: x\n\nmore\n\nSigned-off-by: a\n"), (Vec::new(), 1));
        assert_eq!(read("s\n\nthe line\n\"Perfunit-Accept: x\" is one\n"), (Vec::new(), 0));
        assert_eq!(read("Perfunit-Accept: is a subject"), (Vec::new(), 1));
        assert_eq!(read("s\n\nOther: x\n"), (Vec::new(), 0));
    }
}
