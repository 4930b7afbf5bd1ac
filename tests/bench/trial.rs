//! One null edit from beginning to end: base's version committed, head's left in the working tree, both compared, both
//! taken back.

use super::comparison::{self, Answer};
use super::nulls::Null;
use super::rows::{Part, Row};
use super::sources::Sources;
use super::tool::Tool;
use super::{Result, copy, repository, unrelated, workloads};
use std::fs;
use std::path::Path;
use std::time::Instant;

/// What all edits of a run share.
pub struct Trial<'a> {
    /// The copy.
    pub tree: &'a Path,
    /// The commit that it is set back to.
    pub commit: &'a str,
    /// The tool.
    pub tool: &'a Tool,
    /// The files as they are there.
    pub sources: &'a Sources,
    /// Of the draw.
    pub seed: u64,
    /// Per cent of work more on head.
    pub effect: Option<f64>,
    /// Measure all tests, also those that the edit does not concern.
    pub all_tests: bool,
}

impl Trial<'_> {
    /// Names an edit and what is measured of it.
    pub fn key(&self, null: &Null) -> String {
        self.effect.map_or_else(|| null.key(), |effect| format!("{}, effect {effect}", null.key()))
    }

    /// Makes both versions, compares them, and takes them back.
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
        let answer = comparison::compare(self.tool, self.tree, "HEAD", more)?;
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
        Ok(row)
    }
}
