//! What runs of `diff` leave for later questions: what was compared, how, and what came out. One file each below
//! `runs`, named by its time.

use super::explain::Question;
use super::options::{Goal, Options};
use super::setup::Setup;
use crate::cache;
use crate::error::{Error, Result};
use crate::fs;
use crate::git::FileSet;
use crate::model::{Explanation, Outcome, Run, Sides, Strategy, TestId, Verdict, VersionName};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Changes with the format; a record of another one is as good as none.
const FORMAT: u32 = 2;
/// Runs kept.
const KEPT: usize = 20;

/// A finished run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    format: u32,
    /// What was asked for.
    pub options: Options,
    /// The versions' names.
    pub versions: Sides<VersionName>,
    /// Keys of the versions' contents.
    pub contents: Sides<String>,
    /// The tests, measured or not.
    pub tests: Vec<RecordedTest>,
}

/// A test of a finished run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RecordedTest {
    /// Which test.
    pub test: TestId,
    /// The verdict.
    pub verdict: Verdict,
    /// The figures to explain, where there are such.
    pub question: Option<Question>,
    /// Why it was not measured, in words.
    pub reason: Option<String>,
    /// What was found out; absent too where nobody asked.
    explanation: Option<serde_json::Value>,
    /// Where the time goes, all functions timed at once; absent too where nobody asked.
    profile: Option<serde_json::Value>,
}

impl RecordedTest {
    fn new(outcome: &Outcome) -> Self {
        Self {
            reason: outcome.reason.as_ref().map(ToString::to_string),
            explanation: outcome.explanation.as_ref().and_then(|found| serde_json::to_value(found).ok()),
            ..Self::of(outcome.test.clone(), outcome.verdict, Question::about(outcome))
        }
    }

    /// With nothing found out yet.
    pub(super) fn of(test: TestId, verdict: Verdict, question: Option<Question>) -> Self {
        Self { test, verdict, question, reason: None, explanation: None, profile: None }
    }

    /// The explanation that was found.
    pub fn explanation(&self) -> Option<Explanation> {
        serde_json::from_value(self.explanation.clone()?).ok()
    }

    /// Where the time goes, with all functions timed.
    pub fn profile(&self) -> Option<Explanation> {
        let known = self.profile.clone().and_then(|kept| serde_json::from_value(kept).ok());
        known.or_else(|| self.explanation().filter(|found| found.strategy == Strategy::Complete))
    }

    /// Keeps what was found out.
    pub fn keep(&mut self, goal: Goal, explanation: &Explanation) {
        let kept = serde_json::to_value(explanation).ok();
        match goal {
            Goal::Blame => self.explanation = kept,
            Goal::Profile => self.profile = kept,
        }
    }
}

#[cfg(test)]
impl Record {
    /// Of these tests.
    pub(super) fn of(tests: Vec<RecordedTest>) -> Self {
        let version = |label: &str| VersionName { label: label.to_owned(), commit: String::new(), dirty: false };
        Self {
            format: FORMAT,
            options: Options::default(),
            versions: Sides { base: version("main"), head: version("HEAD") },
            contents: Sides { base: "1".to_owned(), head: "2".to_owned() },
            tests,
        }
    }
}

/// The keys by which versions are known again.
pub fn contents(setup: &Setup) -> Sides<String> {
    setup.files.as_ref().map(FileSet::key)
}

/// Writes a run down.
pub fn record(ours: &Path, options: &Options, contents: Sides<String>, run: &Run) -> Result<()> {
    let record = Record {
        format: FORMAT,
        options: options.clone(),
        versions: Sides { base: run.base.clone(), head: run.head.clone() },
        contents,
        tests: run.outcomes.iter().map(RecordedTest::new).collect(),
    };
    let folder = folder(ours);
    fs::create_dir_all(&folder)?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    save(&folder.join(format!("{:020}.json", now.as_millis())), &record)?;
    cache::prune(&folder, KEPT, Duration::ZERO)
}

/// Writes a record, or what became known later.
pub fn save(path: &Path, record: &Record) -> Result<()> {
    let text = serde_json::to_vec(record).map_err(|error| Error::setup(format!("cannot keep the run: {error}")))?;
    fs::write_atomically(path, text)
}

/// The last run and its file.
pub fn last(ours: &Path) -> Result<(PathBuf, Record)> {
    let folder = folder(ours);
    let mut paths = if folder.is_dir() { fs::list_dir(&folder)? } else { Vec::new() };
    paths.sort();
    let none = || {
        Error::usage("there is no recorded run of this workspace")
            .hint("`cargo perfunit diff BASE` makes one; `explain` explains the tests of the last run")
    };
    let path = paths.pop().ok_or_else(none)?;
    let record = serde_json::from_slice::<Record>(&fs::read(&path)?).ok().filter(|record| record.format == FORMAT);
    let record = record.ok_or_else(|| {
        Error::usage(format!("{} is damaged or of another version of the tool", path.display()))
            .hint("run `cargo perfunit diff` again")
    })?;
    Ok((path, record))
}

fn folder(ours: &Path) -> PathBuf {
    ours.join("runs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_run_is_found_again() {
        let ours = tempfile::tempdir().unwrap();
        let folder = folder(ours.path());
        std::fs::create_dir(&folder).unwrap();
        save(
            &folder.join("00000000000000000001.json"),
            &Record { contents: Sides::default(), ..Record::of(Vec::new()) },
        )
        .unwrap();
        save(&folder.join("00000000000000000002.json"), &Record::of(Vec::new())).unwrap();
        let (path, found) = last(ours.path()).unwrap();
        assert!(path.ends_with("00000000000000000002.json"));
        assert_eq!((found.contents.head, found.versions.base.label), ("2".to_owned(), "main".to_owned()));
    }

    #[test]
    fn without_a_run_or_with_a_damaged_one_the_error_says_what_to_do() {
        let ours = tempfile::tempdir().unwrap();
        assert!(last(ours.path()).unwrap_err().to_string().contains("no recorded run"));
        std::fs::create_dir(folder(ours.path())).unwrap();
        std::fs::write(folder(ours.path()).join("1.json"), "{").unwrap();
        assert!(last(ours.path()).unwrap_err().to_string().contains("damaged"));
    }
}
