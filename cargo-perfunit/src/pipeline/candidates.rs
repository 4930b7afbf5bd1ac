//! The tests of both sides, joined: which to measure, in which order, and why not the others.

use super::build::BuiltSides;
use super::id;
use super::options::{Filter, Ignored, Options};
use super::select::Selected;
use super::setup::Setup;
use crate::build::{Found, Harness, SideBuild, TestExecutable, list_tests};
use crate::error::Result;
use crate::fs;
use crate::git::FileSet;
use crate::impact::{self, Files, NameIndex, TestCode, TestSource};
use crate::model::{Capture, Outcome, Reason, Selection, Side, Sides, TargetId, TestId, Verdict, Why};
use crate::report::list::Listed;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A test that can be measured.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Which.
    pub test: TestId,
    /// Why it was selected, in words.
    pub because: String,
    /// What of its machine code differs, where that was compared.
    pub why: Option<Why>,
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
    /// Tests that lead by names to a changed item, whatever became of them.
    by_name: BTreeSet<TestId>,
}

impl Candidates {
    /// Adds what is now known to the summary of the selection.
    pub fn describe(&self, mut selection: Selection, selected: &Selected) -> Selection {
        selection.found = self.chosen.len() + self.excluded.len();
        selection.executed = self.chosen.len();
        for reason in self.excluded.iter().filter_map(|outcome| outcome.reason.as_ref()) {
            *selection.left_out.entry(reason.kind().to_owned()).or_default() += 1;
        }
        let not_executed = Reason::NotExecuted { functions: 0 };
        selection.reachable = selection.executed + selection.left_out.get(not_executed.kind()).copied().unwrap_or(0);
        selection.unmeasured_targets.extend(self.unmeasured_targets.iter().cloned());
        if self.chosen.is_empty() && self.excluded.is_empty() {
            let targets = selected.targets.len();
            selection.nothing_because = Some(format!("the {targets} targets that the change can reach hold no tests"));
        }
        selection
    }

    /// All of them, for `list`.
    pub fn into_listed(self) -> Vec<Listed> {
        let by_name = &self.by_name;
        let chosen = self.chosen.into_iter().map(|Candidate { test, because, why, capture }| Listed {
            by_name: by_name.contains(&test),
            test,
            capture,
            selected_because: Some(because),
            why,
            reason: None,
        });
        let excluded = self.excluded.into_iter().map(|Outcome { test, capture, reason, why, .. }| Listed {
            by_name: by_name.contains(&test),
            test,
            capture,
            selected_because: None,
            why,
            reason,
        });
        chosen.chain(excluded).collect()
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
        why: None,
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
        let same = !options.all_tests && same_program(executables, &built.sides)?;
        candidates.add_target(target, because, &tests, &options.filter, &|test| {
            if same { Some(Reason::SameExecutable) } else { names.changed_code(test, selected) }
        });
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
        unchanged_or_incomparable: &dyn Fn(&TestId) -> Option<Reason>,
    ) {
        let all: BTreeSet<&String> = tests.base.keys().chain(tests.head.keys()).collect();
        for name in all {
            let found = tests.as_ref().map(|tests| tests.get(name));
            let capture = found.head.or(found.base).and_then(|found| found.capture);
            let test = id(target, name);
            match excluded(found, filter).or_else(|| unchanged_or_incomparable(&test)) {
                Some(reason) => self.excluded.push(not_measured(test, reason, capture, because)),
                None => self.chosen.push(Candidate { test, because: because.to_owned(), why: None, capture }),
            }
        }
    }

    /// Direct tests first, each with its own reason where names lead to the change. Of the others only whether names
    /// lead there.
    fn rank(&mut self, names: &Names, selected: &Selected, all_tests: bool) {
        let none = Files::new();
        let files = |test: &TestId| selected.target_files.get(&test.target).map_or(&none, |sides| &sides.head);
        let tests = self.chosen.iter().map(|candidate| &candidate.test);
        let tests: Vec<&TestId> = tests.chain(self.excluded.iter().map(|outcome| &outcome.test)).collect();
        let sources: Vec<_> = tests
            .iter()
            .map(|test| TestSource { name: &test.name, kind: test.target.kind, files: files(test) })
            .collect();
        let ranked = impact::order(&sources, &names.sides.head, &selected.diff);
        let by_name = ranked.iter().filter(|ranked| ranked.rank != impact::Rank::Unknown);
        self.by_name = by_name.map(|ranked| tests[ranked.test].clone()).collect();
        let mut chosen = Vec::with_capacity(self.chosen.len());
        for rank in ranked {
            let Some(mut candidate) = self.chosen.get(rank.test).cloned() else { continue };
            if !all_tests && rank.rank != impact::Rank::Unknown {
                candidate.because = rank.reason;
            }
            chosen.push(candidate);
        }
        self.chosen = chosen;
    }
}

/// True if both versions have the same executable and the same binaries for it to start: with the metadata of both made
/// equal, a change that compiles to nothing leaves no trace.
fn same_program(executables: Sides<Option<&TestExecutable>>, sides: &Sides<SideBuild>) -> Result<bool> {
    let (Some(base), Some(head)) = (executables.base, executables.head) else { return Ok(false) };
    Ok(fs::same_content(&base.path, &head.path)? && same_binaries(sides)?)
}

fn same_binaries(sides: &Sides<SideBuild>) -> Result<bool> {
    let binaries = sides.as_ref().try_map(|_, side| side.binaries())?;
    let names = |paths: &[PathBuf]| {
        paths.iter().filter_map(|path| path.file_name().map(std::ffi::OsStr::to_owned)).collect::<Vec<_>>()
    };
    if names(&binaries.base) != names(&binaries.head) {
        return Ok(false);
    }
    for (base, head) in binaries.base.iter().zip(&binaries.head) {
        if !fs::same_content(base, head)? {
            return Ok(false);
        }
    }
    Ok(true)
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

/// The Rust files of all targets on one side: path, module path, content.
fn sources(
    setup: &Setup,
    selected: &Selected,
    side: Side,
    wanted: &dyn Fn(&str) -> bool,
) -> Vec<(String, String, Vec<u8>)> {
    let set: &FileSet = setup.files.get(side);
    let files: BTreeSet<(&String, &String)> = selected
        .target_files
        .values()
        .flat_map(|sides| sides.get(side))
        .map(|(path, info)| (path, &info.module))
        .collect();
    let read = |(path, module): (&String, &String)| {
        let entry = set.entries.get(Path::new(path))?;
        Some((path.clone(), module.clone(), setup.repository.read(entry, Path::new(path)).ok()?))
    };
    files.into_iter().filter(|(path, _)| wanted(path)).filter_map(read).collect()
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
        let changed = setup.changed_paths();
        let head = impact::index(&sources(setup, selected, Side::Head, &|_| true));
        let base = head.revised(&changed, &sources(setup, selected, Side::Base, &|path| changed.contains(path)));
        Self { sides: Sides { base, head }, identical: false }
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
