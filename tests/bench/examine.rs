//! Examination of one edit: it is made, compiled, given to the tool, checked, and reverted.

use super::callgrind::Callgrind;
use super::coverage::{self, Coverage};
use super::edits::{Edit, Evidence};
use super::settle::Judge;
use super::sides::Kept;
use super::sources::Sources;
use super::tally::{Examined, Record};
use super::tool::{Answer, Tool};
use super::{Result, TestKey, copy, tool};
use perfunit_report::list::ListDocument;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

/// Reasons by which the tool drops a test as unchanged.
const DROPPED: [&str; 3] = ["same-executable", "same-code", "not-executed"];

/// Factor by which more tests are drawn after an edit without evidence from lines.
const BLIND: usize = 4;

/// Examines edits of one crate.
pub struct Examiner<'a> {
    tree: &'a Path,
    tool: &'a Tool,
    coverage: &'a Coverage,
    sources: &'a Sources,
    judge: Judge,
    cargo_options: Vec<String>,
    /// Tests that the tool can select, for edits that reach no target.
    tests: BTreeSet<TestKey>,
    /// Number of dropped tests to check in addition to suspects.
    pub draw: usize,
    /// Parts of names of tests that count as dropped.
    pub assume_dropped: Vec<String>,
}

impl<'a> Examiner<'a> {
    /// Builds the version without edits.
    pub fn new(
        tree: &'a Path,
        tool: &'a Tool,
        coverage: &'a Coverage,
        sources: &'a Sources,
        callgrind: Callgrind,
        cargo_options: Vec<String>,
    ) -> Result<Self> {
        let unedited = tool.list(tree, "HEAD..HEAD", &["--all-tests"])?;
        let listed = unedited.document.tests.iter();
        let tests = listed.filter(|test| test.selected || is_dropped(test.reason.as_ref())).map(key).collect();
        let (draw, assume_dropped) = (0, Vec::new());
        let judge = Judge::new(callgrind);
        Ok(Self { tree, tool, coverage, sources, judge, cargo_options, tests, draw, assume_dropped })
    }

    /// Makes an edit, checks it, and reverts it.
    pub fn examine(&mut self, edit: &Edit, seed: u64) -> Result<Record> {
        let started = Instant::now();
        let path = self.tree.join(&edit.path);
        fs::write(&path, edit.apply(self.sources.text(&edit.path)))?;
        let record = self.edited(edit, seed);
        copy::git(self.tree, &["checkout", "--quiet", "--force", "--", "."])?;
        Ok(Record { seconds: started.elapsed().as_secs_f64(), ..record? })
    }

    fn edited(&mut self, edit: &Edit, seed: u64) -> Result<Record> {
        let mut record = Record {
            key: edit.key(),
            seed,
            tool: self.tool.key.clone(),
            kind: edit.kind,
            place: edit.place,
            diff: copy::git(self.tree, &["diff", "--unified=1"])?,
            compiles: self.compiles()?,
            tests: self.tests.len(),
            selected: 0,
            dropped: 0,
            examined: Vec::new(),
            tool_seconds: 0.0,
            seconds: 0.0,
        };
        if !record.compiles {
            return Ok(record);
        }
        let Answer { document, seconds } = self.tool.list(self.tree, "HEAD", &[])?;
        record.tool_seconds = seconds;
        let dropped = self.dropped(&document);
        record.selected = document.tests.iter().filter(|test| test.selected).count();
        record.dropped = dropped.len();
        let suspects = self.suspects(edit);
        let (suspects, others): (Vec<_>, Vec<_>) = dropped.into_iter().partition(|(test, _)| suspects.contains(test));
        let mut random = fastrand::Rng::with_seed(seed ^ edit.changes[0].0.start as u64);
        // Without evidence from lines, more tests are drawn.
        let blind = matches!(edit.evidence, Evidence::None | Evidence::Generated) && !edit.kind.is_harmless();
        let drawn = random.choose_multiple(others, if blind { BLIND * self.draw } else { self.draw });
        let all = suspects.into_iter().map(|test| (test, true)).chain(drawn.into_iter().map(|test| (test, false)));
        let all: Vec<_> = all.collect();
        if all.is_empty() {
            return Ok(record);
        }
        let (base, head) = self.kept(document)?;
        for ((test, dropped_as), is_suspect) in all {
            let outcome = self.judge.settle(&test, &base, &head)?;
            record.examined.push(Examined { test, dropped_as, is_suspect, outcome });
        }
        self.judge.keep_only(&base);
        Ok(record)
    }

    /// Returns whether the edit compiles, which is cheaper than running the tool.
    fn compiles(&self) -> Result<bool> {
        let mut command = tool::clean("cargo", self.tree);
        command.args(["check", "--quiet", "--profile", "test"]).args(&self.cargo_options);
        command.env("RUSTFLAGS", "--cap-lints=allow");
        if !coverage::has_target(&self.cargo_options) {
            command.arg("--tests");
        }
        let compiles = command.stdout(Stdio::null()).stderr(Stdio::null()).status()?.success();
        // Cargo may have updated the lock file, which is a change too. Not every clone has one.
        let _ = copy::git(self.tree, &["checkout", "--quiet", "--", "Cargo.lock"]);
        Ok(compiles)
    }

    /// Returns the tests that the tool takes for unchanged, with its reason.
    fn dropped(&self, document: &ListDocument) -> BTreeMap<TestKey, String> {
        if document.selection.found == 0 {
            return self.tests.iter().map(|test| (test.clone(), "not-reached".to_owned())).collect();
        }
        let mut dropped: BTreeMap<TestKey, String> = BTreeMap::new();
        for test in &document.tests {
            let assumed = self.assume_dropped.iter().any(|part| test.test.name.contains(part));
            match &test.reason {
                reason if is_dropped(reason.as_ref()) => {
                    dropped.insert(key(test), reason.as_ref().map_or_else(String::new, |reason| reason.kind.clone()));
                }
                _ if test.selected && assumed => {
                    dropped.insert(key(test), "assumed".to_owned());
                }
                _ => {}
            }
        }
        // The tool does not list tests of targets that the edit does not reach.
        let listed: BTreeSet<&str> = document.tests.iter().map(|test| test.test.target.as_str()).collect();
        let unreached = self.tests.iter().filter(|test| !listed.contains(test.target.as_str()));
        dropped.extend(unreached.map(|test| (test.clone(), "not-reached".to_owned())));
        dropped
    }

    /// Returns the tests with lines that contradict dropping them.
    fn suspects(&self, edit: &Edit) -> BTreeSet<TestKey> {
        match &edit.evidence {
            Evidence::Lines(lines) => self.coverage.executing(&edit.path, lines),
            Evidence::Naming(name) => {
                self.coverage.executing_any(&self.sources.naming(&BTreeSet::from([name.clone()])))
            }
            Evidence::Generated => self.coverage.executing_any(&self.sources.naming(&self.coverage.generated)),
            Evidence::None => BTreeSet::new(),
        }
    }

    /// Returns the executables of both versions. Targets that the edit does not reach were not built with it.
    fn kept(&self, document: ListDocument) -> Result<(Kept, Kept)> {
        let is_all = document.selection.targets_reached == document.selection.targets;
        let kept = match document.kept {
            Some(kept) if is_all => kept,
            _ => {
                let answer = self.tool.list(self.tree, "HEAD", &["--all-tests"])?;
                answer.document.kept.ok_or("the tool kept no executables")?
            }
        };
        Ok((Kept::load(&kept.base)?, Kept::load(&kept.head)?))
    }
}

fn is_dropped(reason: Option<&perfunit_report::wire::Reason>) -> bool {
    reason.is_some_and(|reason| DROPPED.contains(&reason.kind.as_str()))
}

fn key(test: &perfunit_report::list::ListedTest) -> TestKey {
    TestKey { target: test.test.target.clone(), name: test.test.name.clone() }
}
