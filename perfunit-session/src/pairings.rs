//! The pairings of a comparison: both versions with base's test code, and both with head's.
//!
//! Each test is measured in the first pairing that can measure it. The second pairing is only for tests that the first
//! cannot measure, and is built only if there are any.

use super::attempts::{Fallback, lacks_common_code, new_code, says_more};
use super::measure::{Measured, run_pairing};
use super::partition::{Dealt, deal};
use super::session::Session;
use super::summary;
use perfunit_build::{Builder, BuiltSides, Inlining, Job, Pairing, Place, PreparedVersion, Probes, Variant};
use perfunit_explain::{Answers, Question, explain};
use perfunit_model::error::{Error, Result};
use perfunit_model::{
    ChangeKind, Listed, Outcome, Reason, Selection, Side, Sides, TargetId, TargetKind, TestCodeItem, TestId, Warning,
};
use perfunit_select::reach::Files;
use perfunit_select::source::{ChangedItem, ItemKind};
use perfunit_select::{
    Candidate, Candidates, CoverageGaps, TargetSelection, candidates, find_coverage_gaps, leave_out_unexecuted,
    not_measured,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The built pairings with the tests to measure in each.
pub struct Plan {
    /// The pairing with base's test code.
    first: Prepared,
    /// The pairing with head's test code, if a test may need it.
    second: Option<Prepared>,
    warnings: Vec<Warning>,
    /// Time for comparing machine code and tracing.
    pub selecting: Duration,
    /// All candidates of the run, if it measures one shard of them.
    pub dealt: Option<Dealt>,
}

/// A pairing with its tests.
struct Prepared {
    built: BuiltSides,
    /// Tests to measure, and excluded tests with their reasons. In the second pairing, these are the tests without a
    /// final outcome after the attempt with base's test code.
    candidates: Candidates,
    /// Tests that the first pairing measures. They are measured here if they fail there.
    spare: Vec<Candidate>,
    /// Fallbacks of tests to measure here after another attempt.
    fallbacks: BTreeMap<TestId, Fallback>,
}

/// Builds the pairing with base's test code and, if it excludes tests, the one with head's. Decides which of them
/// measures each test.
pub fn prepare(session: &Session<'_>, builder: &mut Builder<'_>) -> Result<Plan> {
    let pairing = session.selected.pairing(session.versions, Side::Base);
    let targets = targets_of_first(session.selected, &pairing);
    let (mut first, mut selecting) = Prepared::new(session, builder, pairing, &targets)?;
    let pairing = session.selected.pairing(session.versions, Side::Head);
    let mut concerned = targets_of_second(session, &first, &pairing);
    let by_new_code = by_new_code(session, &first);
    concerned.extend(by_new_code.keys().map(|test| test.target.clone()));
    if session.archive.is_in_use() {
        // Tests that fail with base's test code need head's, which cannot be built later.
        let tests = first.candidates.chosen.iter().map(|candidate| &candidate.test);
        let may_fail = tests.filter(|test| new_code(test, &session.names).is_some());
        concerned.extend(may_fail.map(|test| test.target.clone()));
    }
    let mut second = None;
    if !concerned.is_empty() {
        let (mut prepared, took) = Prepared::new(session, builder, pairing, &concerned)?;
        selecting += took;
        prepared.take_open(&mut first.candidates, &by_new_code);
        second = Some(prepared);
    }
    let mut both: Vec<&mut Prepared> = [&mut first].into_iter().chain(&mut second).collect();
    let mut candidates: Vec<&mut Candidates> = both.iter_mut().map(|prepared| &mut prepared.candidates).collect();
    let dealt = session.options.partition.map(|partition| deal(partition, &mut candidates));
    let mut warnings = Vec::new();
    let started = Instant::now();
    // The first pairing comes last, so that its files are in the tree when it is measured next.
    for Prepared { built, candidates, .. } in both.into_iter().rev() {
        warnings.extend(before_tests(session, builder, built, &candidates.chosen)?);
        warnings.extend(leave_out_unexecuted(builder, built, session.selected, candidates, session.tracing())?);
    }
    selecting += started.elapsed();
    Ok(Plan { first, second, warnings, selecting, dealt })
}

/// Runs the steps that these tests need, with the data files of the pairing in the tree.
fn before_tests(
    session: &Session<'_>,
    builder: &mut Builder<'_>,
    built: &mut BuiltSides,
    tests: &[Candidate],
) -> Result<Vec<Warning>> {
    let mut warnings = Vec::new();
    let tests: Vec<_> = tests.iter().map(|candidate| &candidate.test).collect();
    for (step, targets) in session.selected.rules.steps_for(&tests) {
        let files = built.pairing.data()?.into_owned();
        let version = PreparedVersion { side: built.pairing.tests_of, files: &files, injections: &built.injections };
        let (result, warning) = builder.step(step, version)?;
        warnings.extend(warning);
        for target in targets {
            built.export(target, &result.variables);
        }
        built.pairing.add_step(result);
    }
    Ok(warnings)
}

/// Returns the tests that the change cannot reach with base's test code but that reach otherwise unreached changed
/// functions with head's, with the changed item of their own code.
fn by_new_code(session: &Session<'_>, first: &Prepared) -> BTreeMap<TestId, TestCodeItem> {
    let Session { selected, names, .. } = session;
    if first.candidates.names_of_head.is_none() {
        return BTreeMap::new();
    }
    let leading = find_coverage_gaps(selected, names, &[&first.candidates]).by_new_code;
    let leads = |test: &TestId| {
        let name = |name: &str| TestId { target: test.target.clone(), name: name.to_owned() };
        // A case is named by its function and its own name.
        leading.contains(test) || test.name.rsplit_once("::").is_some_and(|(of, _)| leading.contains(&name(of)))
    };
    let unaffected =
        first.candidates.excluded.iter().filter(|outcome| outcome.reason.as_ref().is_some_and(Reason::is_unaffected));
    let tests = unaffected.map(|outcome| &outcome.test).filter(|test| leads(test));
    tests.filter_map(|test| Some((test.clone(), names.changed_code(test)?))).collect()
}

/// Returns the targets that base can have.
fn targets_of_first(selected: &TargetSelection, pairing: &Pairing) -> BTreeSet<TargetId> {
    let files = pairing.files.get(pairing.tests_of);
    // A target without a root in base is new; outdated tests in it may be all that prevents it from compiling.
    let has_root = |target: &&TargetId| selected.root(target).is_some_and(|root| files.may_have(Path::new(root)));
    selected.targets.keys().filter(|target| pairing.is_plain() || has_root(target)).cloned().collect()
}

impl Plan {
    /// Returns the functions that no test reveals anything about.
    pub fn find_coverage_gaps(&self, session: &Session<'_>) -> CoverageGaps {
        find_coverage_gaps(session.selected, &session.names, &self.candidates().collect::<Vec<_>>())
    }

    /// Adds the results of both pairings to the summary of the selection.
    pub fn describe(&self, mut selection: Selection, unseen: &CoverageGaps, session: &Session<'_>) -> Selection {
        for target in self.candidates().flat_map(|candidates| &candidates.unmeasured_targets) {
            if !selection.unmeasured_targets.contains(target) {
                selection.unmeasured_targets.push(target.clone());
            }
        }
        let excluded: Vec<&Outcome> = self.candidates().flat_map(|candidates| &candidates.excluded).collect();
        let targets = session.selected.targets.len();
        let mut selection = summary::describe(selection, self.tests_to_measure(), &excluded, targets);
        unseen.describe(&mut selection);
        selection.uncovered = unseen.uncovered_after(excluded.into_iter());
        selection
    }

    /// Returns how many tests are to be measured.
    pub fn tests_to_measure(&self) -> usize {
        self.candidates().map(|candidates| candidates.chosen.len()).sum()
    }

    fn all_prepared(&self) -> impl Iterator<Item = &Prepared> {
        std::iter::once(&self.first).chain(&self.second)
    }

    fn candidates(&self) -> impl Iterator<Item = &Candidates> {
        self.all_prepared().map(|prepared| &prepared.candidates)
    }

    /// Returns the built pairings, the one with base's test code first.
    pub fn built(&self) -> impl Iterator<Item = &BuiltSides> {
        self.all_prepared().map(|prepared| &prepared.built)
    }

    /// Returns all tests found.
    pub fn tests(&self) -> BTreeSet<&TestId> {
        self.candidates().flat_map(Candidates::tests).collect()
    }

    /// Returns the warnings about the builds, each once.
    pub fn warnings(&self) -> Vec<Warning> {
        let builds = self.built().flat_map(|built| &built.warnings);
        let mut all: Vec<Warning> = Vec::new();
        for warning in builds.chain(&self.warnings).cloned().chain(self.first.candidates.warn_uncompared()) {
            if !all.contains(&warning) {
                all.push(warning);
            }
        }
        all
    }

    /// Returns the folders of the sides built with base's test code.
    pub fn side_folders(&self) -> Sides<PathBuf> {
        self.first.built.sides.as_ref().map(|side| side.folder.clone())
    }

    /// Returns the library that gives both processes of a pair the same random numbers, if there is one.
    pub fn seeds(&self) -> Option<PathBuf> {
        self.first.built.seeds.clone()
    }

    /// Returns all tests for `list`.
    pub fn into_listed(self) -> Vec<Listed> {
        let Candidates { mut chosen, mut excluded, mut by_name, .. } = self.first.candidates;
        if let Some(Prepared { candidates, .. }) = self.second {
            by_name.extend(candidates.by_name);
            chosen.extend(candidates.chosen);
            excluded.extend(candidates.excluded);
        }
        summary::list_tests(chosen, excluded, &by_name)
    }

    /// Answers questions about tests of both pairings.
    pub fn explain(&self, session: &Session<'_>, builder: &mut Builder<'_>, questions: &[Question]) -> Result<Answers> {
        let mut all = Answers::default();
        for Prepared { built, candidates, spare, .. } in self.all_prepared() {
            let tests: BTreeSet<&TestId> = candidates.chosen.iter().chain(spare).map(|test| &test.test).collect();
            let is_here =
                |question: &&Question| tests.contains(&question.test) && !all.tests.contains_key(&question.test);
            let here: Vec<Question> = questions.iter().filter(is_here).cloned().collect();
            let answers = explain(builder, &session.inquiry(built), &here)?;
            all.tests.extend(answers.tests);
            all.warnings.extend(answers.warnings);
        }
        Ok(all)
    }

    /// Measures both pairings. A test without a final outcome after the first pairing joins the second.
    pub fn measure(self, session: &Session<'_>, builder: &mut Builder<'_>) -> Result<Measured> {
        let Self { first: Prepared { built, candidates, .. }, mut second, .. } = self;
        let of_second = second.as_ref().map(|second| &second.candidates);
        let excluded = candidates.excluded.iter().chain(of_second.iter().flat_map(|second| &second.excluded));
        let of_other_shards = excluded.filter(|outcome| outcome.is_of_other_shard()).count();
        let others = of_other_shards + session.options.measuring.others;
        let in_second = of_second.map_or(0, |second| second.chosen.len());
        let mut measured = run_pairing(session, builder, &built, candidates.chosen, others + in_second)?;
        let mut open = Vec::new();
        for outcome in std::mem::take(&mut measured.outcomes) {
            match Fallback::after(&outcome, || new_code(&outcome.test, &session.names)) {
                Some(fallback) => open.push((outcome, fallback)),
                None => measured.outcomes.push(outcome),
            }
        }
        measured.outcomes.extend(candidates.excluded);
        // Errors from here on do not discard the measured results.
        let error = widen(session, builder, &mut second, &open, &mut measured).err();
        measured.warnings.extend(error.as_ref().and_then(|error| not_made(session, error)));
        if let Some(second) = &mut second {
            second.take_failed(&mut open);
        }
        let built = second.as_ref().map(|second| second.built.targets.clone()).unwrap_or_default();
        let without_turn = open.into_iter().map(|(outcome, fallback)| {
            let is_built = built.contains(&outcome.test.target);
            if is_built { outcome } else { unbuilt(session, outcome, fallback, error.as_ref()) }
        });
        let without_turn: Vec<Outcome> = without_turn.collect();
        announce(session, &without_turn);
        if let Some(second) = second {
            let done = measured.outcomes.iter().filter(|outcome| outcome.measured.is_some()).count();
            second.measure_open(session, builder, others + done, &mut measured);
        }
        measured.outcomes.extend(without_turn);
        Ok(measured)
    }
}

impl Prepared {
    /// Builds a pairing or takes it from an archive, and selects its tests. Returns the time for selecting too.
    fn new(
        session: &Session<'_>,
        builder: &mut Builder<'_>,
        pairing: Pairing,
        targets: &BTreeSet<TargetId>,
    ) -> Result<(Self, Duration)> {
        let Session { context, versions, selected, options, names, .. } = session;
        let TargetSelection { workspace, packages, .. } = selected;
        // Covers all selected targets, even if fewer are built, because a root that changes between pairings is
        // compiled again.
        let roots = selected.injections();
        let variant = Variant { runner: true, probes: Probes::Without, inlining: Inlining::AsBuilt };
        let job = Job { options: &options.build, workspace, packages, targets, deadline: None };
        let built = match session.archive.recipe(pairing.tests_of, targets)? {
            Some(recipe) => recipe.follow(&context.ours, workspace, pairing, &roots, variant)?,
            None => builder.pairing(&job, pairing, roots, variant)?,
        };
        if built.pairing.moves() {
            // Tests are listed in their own folders, which a moved version has elsewhere.
            builder.checkout(Place::Measured, &*built.pairing.data()?, &built.injections)?;
        }
        let started = Instant::now();
        let candidates = candidates(context, versions, selected, names, &built)?;
        Ok((Self { built, candidates, spare: Vec::new(), fallbacks: BTreeMap::new() }, started.elapsed()))
    }

    /// Takes the tests without a final outcome from the first pairing, if this pairing has a more specific one, and the
    /// tests that only head has.
    fn take_open(&mut self, first: &mut Candidates, by_new_code: &BTreeMap<TestId, TestCodeItem>) {
        let Candidates { chosen, excluded, .. } = &mut self.candidates;
        let in_first: BTreeSet<&TestId> = first.chosen.iter().map(|candidate| &candidate.test).collect();
        let without: BTreeMap<&TestId, &Outcome> =
            first.excluded.iter().map(|outcome| (&outcome.test, outcome)).collect();
        for candidate in std::mem::take(chosen) {
            let fallback = match without.get(&candidate.test) {
                Some(outcome) => Fallback::after(outcome, || by_new_code.get(&candidate.test).cloned()),
                None => (!in_first.contains(&candidate.test)).then_some(Fallback::OF_NEW_TEST),
            };
            match fallback {
                Some(fallback) => {
                    self.fallbacks.insert(candidate.test.clone(), fallback);
                    chosen.push(candidate);
                }
                None => self.spare.push(candidate),
            }
        }
        excluded.retain(|outcome| match without.get(&outcome.test) {
            Some(first) => says_more(first, outcome),
            None => !in_first.contains(&outcome.test),
        });
        let taken: BTreeSet<&TestId> = self.candidates.tests().collect();
        first.excluded.retain(|outcome| !taken.contains(&outcome.test));
    }

    /// Takes the tests that failed in the first pairing and that this one can measure.
    fn take_failed(&mut self, failed: &mut Vec<(Outcome, Fallback)>) {
        for candidate in std::mem::take(&mut self.spare) {
            let Some(position) = failed.iter().position(|(outcome, _)| outcome.test == candidate.test) else {
                continue;
            };
            let (_, fallback) = failed.remove(position);
            self.fallbacks.insert(candidate.test.clone(), fallback);
            self.candidates.chosen.push(candidate);
        }
    }

    /// Measures the second pairing and adds its outcomes. `others` is the number of other tests that the run measures.
    fn measure_open(self, session: &Session<'_>, builder: &mut Builder<'_>, others: usize, measured: &mut Measured) {
        let Self { built, candidates: Candidates { chosen, excluded, .. }, mut fallbacks, .. } = self;
        measured.outcomes.extend(excluded);
        if chosen.is_empty() {
            return;
        }
        let mut fallback = |test: &TestId| fallbacks.remove(test).unwrap_or(Fallback::OF_NEW_TEST);
        match run_pairing(session, builder, &built, chosen.clone(), others) {
            Ok(mut more) => {
                more.outcomes =
                    more.outcomes.into_iter().map(|outcome| fallback(&outcome.test).decide(outcome)).collect();
                announce(session, &more.outcomes);
                measured.add(more);
            }
            Err(error) => {
                measured.warnings.extend(not_made(session, &error));
                let left = chosen.into_iter().map(|Candidate { test, capture, because, .. }| {
                    let fallback = fallback(&test);
                    let reason = if session.is_over() { Session::stop_reason() } else { fallback.reason.clone() };
                    fallback.decide(not_measured(test, reason, capture, Some(because)))
                });
                let left: Vec<Outcome> = left.collect();
                announce(session, &left);
                measured.outcomes.extend(left);
            }
        }
    }
}

/// Builds the second pairing with the targets of these tests, if it lacks any. If that fails, the pairing stays
/// unchanged. Adds the time to `measured`.
fn widen(
    session: &Session<'_>,
    builder: &mut Builder<'_>,
    second: &mut Option<Prepared>,
    failed: &[(Outcome, Fallback)],
    measured: &mut Measured,
) -> Result<()> {
    let has = second.as_ref().map(|second| second.built.targets.clone()).unwrap_or_default();
    let needed: BTreeSet<TargetId> = failed.iter().map(|(outcome, _)| outcome.test.target.clone()).collect();
    if needed.is_subset(&has) || session.is_over() {
        return Ok(());
    }
    let pairing = session.selected.pairing(session.versions, Side::Head);
    let started = Instant::now();
    let prepared = Prepared::new(session, builder, pairing, &has.union(&needed).cloned().collect());
    measured.selecting = prepared.as_ref().map_or(Duration::ZERO, |(_, selecting)| *selecting);
    measured.building = started.elapsed().saturating_sub(measured.selecting);
    let (mut wider, _) = prepared?;
    let candidates = std::mem::take(&mut wider.candidates);
    measured.warnings.extend(before_tests(session, builder, &mut wider.built, &candidates.chosen)?);
    wider.spare.extend(candidates.chosen.into_iter().filter(|candidate| !has.contains(&candidate.test.target)));
    if let Some(Prepared { candidates, mut spare, fallbacks, .. }) = second.take() {
        spare.append(&mut wider.spare);
        (wider.candidates, wider.spare, wider.fallbacks) = (candidates, spare, fallbacks);
    }
    *second = Some(wider);
    Ok(())
}

fn announce(session: &Session<'_>, ended: &[Outcome]) {
    for outcome in ended {
        session.news.announce(outcome);
    }
}

/// Returns the outcome of a test whose target could not be built with head's test code because of this error, or is not
/// built.
fn unbuilt(session: &Session<'_>, outcome: Outcome, fallback: Fallback, error: Option<&Error>) -> Outcome {
    let is_base_broken = error.and_then(Error::as_broken).is_some_and(|broken| broken.side == Side::Base);
    let reason = match is_base_broken {
        // The test may pass with its own code, so the failure may not be head's.
        _ if session.is_over() => Session::stop_reason(),
        true => fallback.reason.clone(),
        false => return outcome,
    };
    fallback.decide(not_measured(outcome.test, reason, outcome.capture, outcome.selected_because))
}

/// Returns the warning that the second pairing failed, unless the run was stopped.
fn not_made(session: &Session<'_>, error: &Error) -> Option<Warning> {
    let said = || match error.as_broken() {
        Some(broken) => format!("{}: {}", error.message(), broken.first_error()),
        None => error.message().to_owned(),
    };
    (!session.is_over()).then(|| Warning::NoSecondPairing { why: said() })
}

/// Returns the targets for the second pairing: new targets, targets with tests that the first pairing excluded, and
/// targets with tests in their source that the first does not know.
fn targets_of_second(session: &Session<'_>, first: &Prepared, second: &Pairing) -> BTreeSet<TargetId> {
    let Session { selected, names, .. } = session;
    let touched = |path: &str| second.overlay().contains(path);
    let may_help = |outcome: &Outcome| match &outcome.reason {
        Some(Reason::TestChanged { .. }) => true,
        // A file that base lacks cannot be added to base.
        Some(Reason::New) => names.test(Side::Head, &outcome.test).is_none_or(|test| touched(&test.path)),
        _ => false,
    };
    let is_concerned = |target: &&TargetId| {
        let mut excluded = first.candidates.excluded.iter().filter(|outcome| outcome.test.target == **target);
        let files = selected.target_files.get(*target).map(|sides| &sides.head);
        let touched_files = || files.filter(|files| files.keys().any(|path| touched(path)));
        let is_new_test = |files: &Files| {
            let known = first.candidates.names_in(target);
            let mut items = selected.diff.items.iter().filter(|item| touched(&item.path));
            items.any(|item| may_be_new_test(item, target.kind, files, &|name| is_known(&known, name)))
        };
        match target.kind {
            _ if !first.built.targets.contains(*target) => true,
            TargetKind::Doctest => excluded.any(|outcome| outcome.reason.as_ref().is_some_and(lacks_common_code)),
            // Benchmarks are not in the source by name, so all may be new.
            TargetKind::Bench => touched_files().is_some(),
            _ => touched_files().is_some_and(|files| excluded.any(may_help) || is_new_test(files)),
        }
    };
    selected.targets.keys().filter(is_concerned).cloned().collect()
}

/// Returns true for an unknown test, and for macros that may define tests.
fn may_be_new_test(item: &ChangedItem, kind: TargetKind, files: &Files, is_known: &dyn Fn(&str) -> bool) -> bool {
    let Some(file) = files.get(&item.path).filter(|_| item.change != ChangeKind::Removed) else { return false };
    if item.is_test {
        let name = if file.module.is_empty() { item.name.clone() } else { format!("{}::{}", file.module, item.name) };
        return !is_known(&name);
    }
    let is_test_code = item.test_only || file.test_only || !kind.holds_code();
    is_test_code && matches!(item.kind, ItemKind::Macro | ItemKind::MacroCall)
}

/// Returns true for the name of a known test, or of the function of known cases (`name::case_1`).
fn is_known(known: &BTreeSet<&str>, name: &str) -> bool {
    let cases = format!("{name}::");
    known.contains(name) || known.range(cases.as_str()..).next().is_some_and(|next| next.starts_with(&cases))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_known_by_its_name_or_by_its_cases() {
        let known = ["a::b", "a::c2", "a::c::case_1"].into();
        assert!(is_known(&known, "a::b") && is_known(&known, "a::c"));
        assert!(!is_known(&known, "a::d") && !is_known(&known, "a::"));
    }
}
