//! Results of the soundness benchmark, per edit and in total.

use super::edits::{Kind, Place, label};
use super::settle::Outcome;
use super::{Result, TestKey};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

/// A dropped test that was checked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Examined {
    /// The test.
    pub test: TestKey,
    /// Reason why the tool dropped it, as one word.
    pub dropped_as: String,
    /// True if the lines that it executes contradict dropping it; otherwise it was drawn.
    pub is_suspect: bool,
    /// Result of running it on both sides.
    pub outcome: Outcome,
}

/// One edit.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    /// Key of the edit, unique in the crate.
    pub key: String,
    /// Seed of the draw.
    pub seed: u64,
    /// Version and options of the tool.
    pub tool: String,
    /// Kind of the edit.
    pub kind: Kind,
    /// Relation of the file to the tests.
    pub place: Place,
    /// Output of `git diff`.
    pub diff: String,
    /// False if the edit does not compile, so that it does not count.
    pub compiles: bool,
    /// Number of tests.
    pub tests: usize,
    /// Number of tests that the tool selected.
    pub selected: usize,
    /// Number of tests that it dropped as unchanged.
    pub dropped: usize,
    /// Dropped tests that were checked.
    pub examined: Vec<Examined>,
    /// Wall time of the tool, s.
    pub tool_seconds: f64,
    /// Wall time of everything, s.
    pub seconds: f64,
}

impl Record {
    /// Returns the dropped tests with changed executed code.
    pub fn misses(&self) -> impl Iterator<Item = (&Examined, &str)> {
        self.examined.iter().filter_map(|examined| match &examined.outcome {
            Outcome::Changed(how) => Some((examined, how.as_str())),
            _ => None,
        })
    }

    /// Returns whether an edit without a change of machine code selected a test.
    pub fn is_violation(&self) -> bool {
        self.kind.is_harmless() && self.selected > 0
    }

    /// Returns the suspects of an edit of data that execute the same instructions in different executables; the data
    /// that they read may differ.
    pub fn open(&self) -> impl Iterator<Item = &Examined> {
        let is_data = self.kind.is_data() || self.place == Place::BuildScript;
        let is_open = move |examined: &&Examined| is_data && examined.is_suspect && examined.outcome == Outcome::Same;
        self.examined.iter().filter(is_open)
    }
}

/// The edits so far, stored in a file.
pub struct Tally {
    /// Records in the order of the edits.
    pub records: Vec<Record>,
    path: PathBuf,
}

impl Tally {
    /// Loads the results of an earlier run of this tool with this seed.
    pub fn open(path: PathBuf, seed: u64, tool: &str) -> Result<Self> {
        let mut records = Vec::new();
        if let Ok(file) = File::open(&path) {
            for line in BufReader::new(file).lines() {
                let record: Record = serde_json::from_str(&line?)?;
                records.extend(Some(record).filter(|record| record.seed == seed && record.tool == tool));
            }
        }
        Ok(Self { records, path })
    }

    /// Returns the path of the records.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a record, also to the file.
    pub fn add(&mut self, record: Record) -> Result<()> {
        let mut file = File::options().create(true).append(true).open(&self.path)?;
        writeln!(file, "{}", serde_json::to_string(&record)?)?;
        self.records.push(record);
        Ok(())
    }

    /// Returns the number of edits that count.
    pub fn count(&self, harmless: bool) -> usize {
        self.counted(harmless).count()
    }

    fn counted(&self, harmless: bool) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(move |record| record.compiles && record.kind.is_harmless() == harmless)
    }

    /// Returns the summary.
    pub fn summary(&self) -> String {
        let mut lines = vec![String::new()];
        let heading = ["edits", "selected", "suspects", "drawn", "open", "unsettled", "misses"];
        lines.push(format!("{:<28}{}", "", heading.map(|word| format!("{word:>10}")).concat()));
        let mut kinds: BTreeMap<(bool, String), Vec<&Record>> = BTreeMap::new();
        for record in self.records.iter().filter(|record| record.compiles) {
            let label = label(record.kind, record.place);
            kinds.entry((record.kind.is_harmless(), label)).or_default().push(record);
        }
        lines.extend(kinds.iter().map(|((_, label), records)| row(label, records)));
        for (label, harmless) in [("all that change code", false), ("all that do not", true)] {
            lines.push(row(label, &self.counted(harmless).collect::<Vec<_>>()));
        }
        let thrown = self.records.iter().filter(|record| !record.compiles).count();
        let records: Vec<_> = self.records.iter().filter(|record| record.compiles).collect();
        let mean =
            |of: fn(&Record) -> f64| records.iter().map(|record| of(record)).sum::<f64>() / records.len().max(1) as f64;
        lines.push(format!(
            "\n{thrown} edits did not compile; {:.1} s per edit, {:.1} s of them in the tool",
            mean(|record| record.seconds),
            mean(|record| record.tool_seconds),
        ));
        let misses: usize = records.iter().map(|record| record.misses().count()).sum();
        let violations = records.iter().filter(|record| record.is_violation()).count();
        lines.push(format!("{misses} misses, {violations} selections by edits that change no code"));
        lines.join("\n")
    }
}

fn row(label: &str, records: &[&Record]) -> String {
    let sum = |of: &dyn Fn(&Record) -> usize| records.iter().map(|record| of(record)).sum::<usize>();
    let examined = |counts: &dyn Fn(&Examined) -> bool| {
        sum(&|record| record.examined.iter().filter(|examined| counts(examined)).count())
    };
    let tests = sum(&|record| record.tests);
    let share = 100.0 * sum(&|record| record.selected) as f64 / tests.max(1) as f64;
    let unsettled = examined(&|examined| matches!(examined.outcome, Outcome::Unsettled(_)));
    let figures = [
        records.len().to_string(),
        format!("{share:.1} %"),
        examined(&|examined| examined.is_suspect).to_string(),
        examined(&|examined| !examined.is_suspect).to_string(),
        sum(&|record| record.open().count()).to_string(),
        unsettled.to_string(),
        sum(&|record| record.misses().count()).to_string(),
    ];
    format!("{label:<28}{}", figures.map(|figure| format!("{figure:>10}")).concat())
}
