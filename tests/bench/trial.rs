//! One null edit: base's version is committed, head's is left in the working tree, both are compared, and both are
//! reverted.

use super::callgrind::{Callgrind, Extent};
use super::comparison::Answer;
use super::nulls::Null;
use super::rows::{Part, Row};
use super::seen::Seen;
use super::sides::Kept;
use super::sources::Sources;
use super::tool::Tool;
use super::{Result, copy, repository, unrelated, workloads};
use perfunit_model::{GENERATED_MODULE, Sides};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Largest relative difference in executed instructions between versions that do the same work. The tool counts
/// differences from 0.1 % of later calls; a short test's first call executes twice as many.
const EQUAL_WORK: f64 = 0.0005;

/// Longest run in callgrind.
const LONGEST: Duration = Duration::from_mins(1);

/// Data shared by all edits of a run.
pub struct Trial<'a> {
    /// Folder of the copy.
    pub tree: &'a Path,
    /// Commit to which the copy is reset.
    pub commit: &'a str,
    /// The tool.
    pub tool: &'a Tool,
    /// Files of the copy.
    pub sources: &'a Sources,
    /// Seed of the draw.
    pub seed: u64,
    /// Additional work of head in percent.
    pub effect: Option<f64>,
    /// True to measure all tests, including those that the edit does not concern.
    pub all_tests: bool,
    /// Function that compares versions.
    pub compare: Compare,
}

/// Type of functions that compare a tree's base with its working tree.
pub type Compare = fn(&Tool, &Path, &str, &[&str]) -> Result<Answer>;

impl Trial<'_> {
    /// Returns a key of an edit and its measurement.
    pub fn key(&self, null: &Null) -> String {
        self.effect.map_or_else(|| null.key(), |effect| format!("{}, effect {effect}", null.key()))
    }

    /// Makes both versions, compares them, and reverts them.
    pub fn row(&self, null: &Null) -> Result<Row> {
        let row = self.compared(null);
        copy::git(self.tree, &["checkout", "--quiet", "--force", "--detach", self.commit])?;
        row
    }

    fn compared(&self, null: &Null) -> Result<Row> {
        let mut versions = null.texts(self.sources.text(&null.path));
        if let Some(percent) = self.effect {
            versions.head = workloads::with_more_work(&versions.head, percent)?;
        }
        let path = self.tree.join(&null.path);
        fs::write(&path, versions.base)?;
        repository::commit(self.tree, "base")?;
        fs::write(&path, versions.head)?;
        let started = Instant::now();
        let more: &[&str] = if self.all_tests { &["--all-tests"] } else { &[] };
        let answer = (self.compare)(self.tool, self.tree, "HEAD", more)?;
        let mut row = Row {
            key: self.key(null),
            seed: self.seed,
            tool: self.tool.key.clone(),
            kind: null.kind,
            place: null.place(),
            refused: None,
            tests: Vec::new(),
            functions: Part::default(),
            loops: Part::default(),
            uncontrolled: None,
            seconds: started.elapsed().as_secs_f64(),
        };
        match answer {
            Answer::Compared(document) => row.fill(&document, |test| !test.contains(unrelated::NAME)),
            Answer::Refused(why) => row.refused = Some(why),
        }
        // `list` keeps no executable with generated workloads.
        let is_listed = row.tests.iter().all(|seen| !seen.name.contains(GENERATED_MODULE));
        if self.effect.is_none() && is_listed && row.tests.iter().any(|seen| seen.flagged_first) {
            self.without_other_work(&mut row)?;
        }
        Ok(row)
    }

    /// Removes flagged tests that execute more or fewer instructions, because the edit changed the compiler's
    /// optimization. If this holds for all flagged tests, the edit is not a null edit.
    fn without_other_work(&self, row: &mut Row) -> Result<()> {
        let kept = self.tool.list(self.tree, "HEAD", &["--all-tests"])?.document.kept;
        let kept = kept.ok_or("the tool kept no executables")?;
        let sides = Sides { base: Kept::load(&kept.base)?, head: Kept::load(&kept.head)? };
        let scratch = tempfile::tempdir()?;
        let callgrind = Callgrind::new(scratch.path().join("callgrind"), LONGEST);
        let (mut refused, mut tests) = (None, Vec::new());
        for seen in std::mem::take(&mut row.tests) {
            match if seen.flagged_first { other_work(&sides, &callgrind, &seen)? } else { None } {
                Some(other) => refused = Some(other),
                None => tests.push(seen),
            }
        }
        row.refused = refused.filter(|_| !tests.iter().any(|seen| seen.flagged_first));
        row.tests = tests;
        Ok(())
    }
}

/// Describes the difference in a test's executed instructions between the sides. `None` if there is none, or if the
/// test did not end in time.
fn other_work(sides: &Sides<Kept>, callgrind: &Callgrind, seen: &Seen) -> Result<Option<String>> {
    let base = executed(&sides.base, callgrind, seen)?;
    let head = executed(&sides.head, callgrind, seen)?;
    Ok(base.zip(head).filter(|(base, head)| base.abs_diff(*head) as f64 > EQUAL_WORK * *base as f64).map(
        |(base, head)| {
            let (test, verdict, change) = (seen.test(), &seen.verdict, 100.0 * seen.estimate);
            format!("other work: {test} {base} to {head} instructions, {verdict} {change:+.2} %")
        },
    ))
}

/// Returns the instructions of one call of a test; `None` if it did not end in time.
fn executed(side: &Kept, callgrind: &Callgrind, seen: &Seen) -> Result<Option<u64>> {
    let (target, name) = (&seen.target, &seen.name);
    let executable = side.executable(target).ok_or_else(|| format!("{target} was not kept"))?;
    let profile = side.profile(callgrind, name, executable, Extent::Test)?;
    Ok(profile.map(|profile| profile.functions.values().sum()).filter(|executed| *executed > 0))
}
