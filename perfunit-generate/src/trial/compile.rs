//! Builds all candidates into the test executables of both versions. Candidates with errors are dropped until the rest
//! compiles.

use super::candidate::{Candidate, Trials};
use super::counter::insert_counters;
use crate::place::{self, Lines, Placing};
use perfunit_build::shadow::Injections;
use perfunit_build::{Attempt, Both, BuildFailure, Builder, Inlining, Job, Next, Place, Probes, SideBuild, Variant};
use perfunit_model::error::{Error, ExitCode, Result, apart};
use perfunit_model::{ChangeKind, NotGenerated, Side, Sides, TargetId};
use perfunit_project::git::{Entry, FileSet};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The built candidates.
pub struct Compiled {
    pub sides: Sides<SideBuild>,
    /// Reasons why other candidates were dropped.
    pub dropped: BTreeMap<usize, NotGenerated>,
    /// Numbers of the functions that count their calls in head.
    pub counted: BTreeSet<u64>,
}

/// Builds both versions with the candidates. Returns `None` if the time does not suffice.
pub fn compile(builder: &mut Builder<'_>, trials: &Trials<'_>, candidates: &[Candidate]) -> Result<Option<Compiled>> {
    let targets: BTreeSet<TargetId> = candidates.iter().map(|candidate| candidate.target.clone()).collect();
    let mut attempt = Compiling::new(trials, candidates);
    let job = Job {
        options: trials.options,
        workspace: &trials.selected.workspace,
        packages: &trials.selected.packages,
        targets: &targets,
        deadline: trials.deadline,
    };
    match apart(builder.both_sides(&job, &mut attempt))? {
        Ok(Both { sides, .. }) => Ok(Some(Compiled { sides, dropped: attempt.dropped, counted: attempt.counted })),
        Err(failure) if failure.stopped => Ok(None),
        Err(failure) => {
            Err(Error::new(ExitCode::BuildFailed, "the generated workloads do not build").hint(failure.first_error()))
        }
    }
}

struct Compiling<'a> {
    trials: &'a Trials<'a>,
    candidates: &'a [Candidate],
    injections: Injections,
    variant: Variant,
    dropped: BTreeMap<usize, NotGenerated>,
    counted: BTreeSet<u64>,
    /// Head's files with counting functions.
    counting: BTreeMap<String, String>,
    files: Sides<FileSet>,
    lines: Sides<Vec<Lines>>,
}

impl<'a> Compiling<'a> {
    fn new(trials: &'a Trials<'a>, candidates: &'a [Candidate]) -> Self {
        let mut compiling = Self {
            trials,
            candidates,
            injections: trials.selected.injections(),
            variant: Variant { runner: true, probes: Probes::Without, inlining: Inlining::AsBuilt },
            dropped: BTreeMap::new(),
            counted: BTreeSet::new(),
            counting: BTreeMap::new(),
            files: trials.versions.files.clone(),
            lines: Sides::default(),
        };
        compiling.count();
        // A candidate without a place on one side is not placed on the other.
        compiling.lay_out(Side::Base);
        compiling.lay_out(Side::Head);
        compiling.lay_out(Side::Base);
        compiling
    }

    fn text(&self, side: Side, path: &str) -> Option<String> {
        let versions = self.trials.versions;
        String::from_utf8(versions.read_file(versions.files.get(side), path)?).ok()
    }

    fn count(&mut self) {
        let mut by_file: BTreeMap<&str, BTreeMap<usize, u64>> = BTreeMap::new();
        for Candidate { call, number, .. } in self.candidates {
            by_file.entry(&call.function.file).or_default().insert(call.function.line, *number);
        }
        for (file, functions) in by_file {
            let Some(text) = self.text(Side::Head, file) else { continue };
            let (text, numbers) = insert_counters(&text, &functions);
            self.counting.insert(file.to_owned(), text);
            self.counted.extend(numbers);
        }
    }

    /// Sets the files of a side, with the remaining candidates.
    fn lay_out(&mut self, side: Side) {
        let left: Vec<usize> = (0..self.candidates.len()).filter(|index| !self.dropped.contains_key(index)).collect();
        let calls: Vec<Placing<'_>> = left
            .iter()
            .map(|index| &self.candidates[*index])
            .map(|Candidate { call, name, .. }| Placing { call, name, n: None })
            .collect();
        let counting = |path: &str| self.counting.get(path).filter(|_| side == Side::Head).cloned();
        let mut placed = place::place(&calls, &|path| counting(path).or_else(|| self.text(side, path)));
        let mut files = self.trials.versions.files.get(side).clone();
        if side == Side::Head {
            placed.files = self.counting.clone().into_iter().chain(placed.files).collect();
        }
        for (path, text) in placed.files {
            let path = PathBuf::from(path);
            let mode = files.entries.get(&path).map(|entry| entry.mode);
            let entry = Entry::snapshot(text.into_bytes());
            let entry = Entry { mode: mode.unwrap_or(entry.mode), ..entry };
            files.entries.insert(path, entry);
        }
        *self.files.get_mut(side) = files;
        for lines in &mut placed.lines {
            lines.index = left[lines.index];
        }
        *self.lines.get_mut(side) = placed.lines;
        let why = match side {
            Side::Base => NotGenerated::NotOnBase,
            Side::Head => NotGenerated::NoTarget,
        };
        self.dropped.extend(placed.homeless.into_iter().map(|index| (left[index], why.clone())));
    }

    /// Returns whether the function is missing in base.
    fn is_new(&self, index: usize) -> bool {
        let function = &self.candidates[index].call.function;
        let mut items = self.trials.selected.diff.items.iter();
        items.any(|item| item.change == ChangeKind::Added && item.path == function.file && item.line == function.line)
    }

    /// Drops the candidates with errors. Returns false if there are none.
    fn drop_failed(&mut self, side: Side, failure: &BuildFailure, tree: &Path) -> bool {
        let mut failed = BTreeMap::new();
        for place in &failure.places {
            let Some(file) = place.file.strip_prefix(tree).ok().and_then(Path::to_str) else { continue };
            let is_there = |lines: &&Lines| lines.file == file && (lines.first..=lines.last).contains(&place.line);
            if let Some(Lines { index, .. }) = self.lines.get(side).iter().find(is_there) {
                let why = if side == Side::Base && self.is_new(*index) {
                    NotGenerated::NotOnBase
                } else {
                    NotGenerated::DoesNotCompile { error: place.message.clone() }
                };
                failed.entry(*index).or_insert(why);
            }
        }
        let any = !failed.is_empty();
        self.dropped.extend(failed);
        any
    }
}

impl Attempt for Compiling<'_> {
    fn place(&self) -> Place {
        Place::Measured
    }

    fn variant(&self) -> Variant {
        self.variant
    }

    fn order(&self) -> [Side; 2] {
        Side::BOTH
    }

    fn files(&self, side: Side) -> &FileSet {
        self.files.get(side)
    }

    fn injections(&self) -> &Injections {
        &self.injections
    }

    fn is_left_out(&self, _: &TargetId) -> bool {
        false
    }

    fn after(&mut self, side: Side, failure: &BuildFailure, tree: &Path) -> Result<Next> {
        if failure.stopped {
            return Ok(Next::Stop);
        }
        if self.drop_failed(side, failure, tree) {
            // A candidate that fails on one side stays harmless on the other.
            self.lay_out(side);
            return Ok(Next::SameSide);
        }
        // Only head has counters.
        if side == Side::Head && !self.counting.is_empty() {
            self.counting.clear();
            self.counted.clear();
            self.lay_out(Side::Head);
            return Ok(Next::SameSide);
        }
        if failure.only_tests && self.variant.runner {
            self.variant.runner = false;
            return Ok(Next::BothSides);
        }
        Ok(Next::Stop)
    }
}
