//! The tests of both sides, joined: which to measure, in which order, and why not the others.

use super::build::BuiltSides;
use super::id;
use super::options::{Filter, Ignored, Options};
use super::select::Selected;
use super::setup::Setup;
use crate::build::{Found, Harness, TestExecutable, list_tests};
use crate::error::Result;
use crate::git::FileSet;
use crate::impact::{self, Files, NameIndex, TestCode, TestSource};
use crate::model::{Capture, Outcome, Reason, Selection, Side, Sides, TargetId, TestId, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A test that can be measured.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Which.
    pub test: TestId,
    /// Why it was selected, in words.
    pub because: String,
    /// How it was captured.
    pub capture: Option<Capture>,
}

/// All tests of the built targets.
#[derive(Debug, Default)]
pub struct Candidates {
    /// To measure, likeliest first.
    pub chosen: Vec<Candidate>,
    /// Not to measure, each with its reason.
    pub excluded: Vec<Outcome>,
    unmeasured_targets: Vec<String>,
}

impl Candidates {
    /// Adds what is now known to the summary of the selection.
    pub fn describe(&self, mut selection: Selection, selected: &Selected) -> Selection {
        selection.found = self.chosen.len() + self.excluded.len();
        selection.unmeasured_targets.extend(self.unmeasured_targets.iter().cloned());
        if self.chosen.is_empty() && self.excluded.is_empty() {
            let targets = selected.targets.len();
            selection.nothing_because = Some(format!("the {targets} targets that the change can reach hold no tests"));
        }
        selection
    }

    /// The chosen tests: name, reason, capture.
    pub fn measurable(&self) -> impl Iterator<Item = (&TestId, &str, Option<Capture>)> {
        self.chosen.iter().map(|candidate| (&candidate.test, candidate.because.as_str(), candidate.capture))
    }

    /// The others.
    pub fn into_excluded(self) -> Vec<Outcome> {
        self.excluded
    }
}

/// An outcome without figures.
pub fn not_measured(test: TestId, reason: Reason, capture: Option<Capture>, because: &str) -> Outcome {
    Outcome {
        test,
        verdict: Verdict::NotMeasured,
        reason: Some(reason),
        measured: None,
        capture,
        selected_because: because.to_owned(),
        notes: Vec::new(),
    }
}

type Tests = BTreeMap<String, Found>;

/// Lists the tests of both sides and sorts them out.
pub fn find(setup: &Setup, options: &Options, selected: &Selected, built: &BuiltSides) -> Result<Candidates> {
    let mut candidates = Candidates::default();
    let names = Names::index(setup, selected, built);
    for (target, because) in &selected.targets {
        let executables =
            built.sides.as_ref().map(|side| side.executables.iter().find(|executable| executable.target == *target));
        if executables.base.or(executables.head).is_none() {
            candidates.unmeasured_targets.push(format!("{target}: not built with these features"));
            continue;
        }
        if [executables.base, executables.head]
            .into_iter()
            .flatten()
            .any(|executable| executable.harness == Harness::Own)
        {
            candidates.unmeasured_targets.push(format!("{target}: has its own test harness (harness = false)"));
            continue;
        }
        let tests = executables.try_map(|_, executable| tests_of(setup, executable))?;
        candidates.add_target(target, because, &tests, &options.filter, &names, selected);
    }
    candidates.rank(&names, selected, options.all_tests);
    Ok(candidates)
}

fn tests_of(setup: &Setup, executable: Option<&TestExecutable>) -> Result<Tests> {
    let Some(executable) = executable else { return Ok(Tests::new()) };
    let found = list_tests(executable, &setup.ours)?;
    Ok(found.into_iter().map(|test| (test.name.clone(), test)).collect())
}

impl Candidates {
    fn add_target(
        &mut self,
        target: &TargetId,
        because: &str,
        tests: &Sides<Tests>,
        filter: &Filter,
        names: &Names,
        selected: &Selected,
    ) {
        let all: BTreeSet<&String> = tests.base.keys().chain(tests.head.keys()).collect();
        for name in all {
            let found = tests.as_ref().map(|tests| tests.get(name));
            let capture = found.head.or(found.base).and_then(|found| found.capture);
            let test = id(target, name);
            match excluded(found, filter).or_else(|| names.changed_code(&test, selected)) {
                Some(reason) => self.excluded.push(not_measured(test, reason, capture, because)),
                None => self.chosen.push(Candidate { test, because: because.to_owned(), capture }),
            }
        }
    }

    /// Direct tests first, each with its own reason where names lead to the change.
    fn rank(&mut self, names: &Names, selected: &Selected, all_tests: bool) {
        let none = Files::new();
        let files = |test: &TestId| selected.target_files.get(&test.target).map_or(&none, |sides| &sides.head);
        let sources: Vec<_> = self
            .chosen
            .iter()
            .map(|candidate| TestSource {
                name: &candidate.test.name,
                kind: candidate.test.target.kind,
                files: files(&candidate.test),
            })
            .collect();
        let ranked = impact::order(&sources, &names.sides.head, &selected.diff);
        let mut chosen = Vec::with_capacity(self.chosen.len());
        for rank in ranked {
            let mut candidate = self.chosen[rank.test].clone();
            if !all_tests && rank.rank != impact::Rank::Unknown {
                candidate.because = rank.reason;
            }
            chosen.push(candidate);
        }
        self.chosen = chosen;
    }
}

/// Reasons that lie in the lists alone.
fn excluded(found: Sides<Option<&Found>>, filter: &Filter) -> Option<Reason> {
    let (base, head) = match (found.base, found.head) {
        (Some(base), Some(head)) => (base, head),
        (None, Some(head)) => return Some(if filter.takes(&head.name) { Reason::New } else { Reason::Filtered }),
        (Some(base), None) => return Some(if filter.takes(&base.name) { Reason::Removed } else { Reason::Filtered }),
        (None, None) => return Some(Reason::Removed),
    };
    if !filter.takes(&head.name) {
        return Some(Reason::Filtered);
    }
    let ignored = base.ignored || head.ignored;
    match filter.ignored {
        Ignored::Skip if ignored => return Some(Reason::Ignored),
        Ignored::Only if !ignored => return Some(Reason::Filtered),
        _ => {}
    }
    match (base.capture, head.capture) {
        (None, _) | (_, None) => Some(Reason::NotCaptured {
            detail: "another macro makes this test, and this toolchain or crate does not take our test runner"
                .to_owned(),
        }),
        (Some(base), Some(head)) if base != head => {
            Some(Reason::NotCaptured { detail: "its attribute resolves differently in the two versions".to_owned() })
        }
        _ => None,
    }
}

/// The names of both versions.
struct Names {
    sides: Sides<NameIndex>,
    identical: bool,
}

impl Names {
    fn index(setup: &Setup, selected: &Selected, built: &BuiltSides) -> Self {
        if built.sides.base.folder == built.sides.head.folder {
            // One version: nothing is changed, nothing to rank.
            return Self { sides: Sides::default(), identical: true };
        }
        let index = |side: Side| {
            let set: &FileSet = setup.files.get(side);
            let mut files = BTreeMap::new();
            for (path, info) in selected.target_files.values().flat_map(|sides| sides.get(side)) {
                files.entry((path.clone(), info.module.clone())).or_insert(());
            }
            let read = |(path, module): (String, String)| {
                let entry = set.entries.get(Path::new(&path))?;
                let content = setup.repository.read(entry, Path::new(&path)).ok()?;
                Some((path, module, content))
            };
            impact::index(&files.into_keys().filter_map(read).collect::<Vec<_>>())
        };
        Self { sides: Sides { base: index(Side::Base), head: index(Side::Head) }, identical: false }
    }

    fn changed_code(&self, test: &TestId, selected: &Selected) -> Option<Reason> {
        if self.identical {
            return None;
        }
        let files = selected.target_files.get(&test.target)?;
        let code = Sides {
            base: TestCode { index: &self.sides.base, files: &files.base },
            head: TestCode { index: &self.sides.head, files: &files.head },
        };
        impact::changed_test_code(&test.name, test.target.kind, &code, &selected.diff)
            .map(|item| Reason::TestChanged { item })
    }
}
