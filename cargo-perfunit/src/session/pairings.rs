//! Pairings: every test is measured with base's test code on both versions, or else with head's.
//!
//! The second pairing is only for tests that the first cannot measure, and is not even built where there are none.

use super::measure::{Measured, run_pairing};
use super::news::{has_new_code, may_be_for_old_code};
use super::partition::{Dealt, deal};
use super::shared::Session;
use super::summary;
use crate::build::{Builder, BuiltSides, Inlining, Job, Pairing, Probes, Variant};
use crate::error::Result;
use crate::explain::{Answers, Question, explain};
use crate::model::{Listed, Outcome, Reason, Selection, Side, Sides, TargetId, TargetKind, TestId, Verdict, Warning};
use crate::select::reach::Files;
use crate::select::source::{ChangeKind, ChangedItem, ItemKind};
use crate::select::{Candidate, Candidates, Names, Selected, Unseen, candidates, leave_out_unexecuted, unseen};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A pairing, built, with its tests: those to measure in it and, with their reasons, those that are not measured.
struct Prepared {
    built: BuiltSides,
    candidates: Candidates,
}

/// What is built and which tests are measured in which pairing.
pub struct Plan {
    /// With base's test code.
    first: Prepared,
    second: Option<Second>,
    warnings: Vec<Warning>,
    selecting: Duration,
    /// All candidates of the run, if it measures one shard of them.
    dealt: Option<Dealt>,
}

/// The pairing with head's test code.
struct Second {
    prepared: Prepared,
    /// Tests that the first pairing has; in case they fail there.
    spare: Vec<Candidate>,
    /// What is to be said of tests if this pairing cannot measure them either.
    otherwise: BTreeMap<TestId, Reason>,
}

/// Builds the pairing with base's test code and, if it leaves tests out, the one with head's; settles which of them
/// measures which test.
pub fn prepare(session: &Session<'_>, builder: &mut Builder<'_>) -> Result<Plan> {
    let pairing = session.selected.pairing(session.versions, Side::Base);
    let targets = targets_of_first(session.selected, &pairing);
    let (mut first, mut selecting) = Prepared::new(session, builder, pairing, &targets)?;
    let pairing = session.selected.pairing(session.versions, Side::Head);
    let mut concerned = concerned(session, &first, &pairing);
    if session.archive.is_in_use() {
        // What else only a failure would show to be needed cannot be built later.
        concerned.extend(first.may_move(&session.names));
    }
    let mut second = None;
    if !concerned.is_empty() {
        let (prepared, took) = Prepared::new(session, builder, pairing, &concerned)?;
        selecting += took;
        second = Some(Second::beside(&mut first.candidates, prepared));
    }
    let mut both: Vec<&mut Candidates> = vec![&mut first.candidates];
    both.extend(second.as_mut().map(|second| &mut second.prepared.candidates));
    let dealt = session.options.partition.map(|partition| deal(partition, &mut both));
    let mut warnings = Vec::new();
    let started = Instant::now();
    // The first comes last: its files are in the tree then, where it is measured next.
    for prepared in second.iter_mut().map(|second| &mut second.prepared).chain([&mut first]) {
        let Prepared { built, candidates } = prepared;
        warnings.extend(leave_out_unexecuted(builder, built, candidates, session.tracing())?);
    }
    selecting += started.elapsed();
    Ok(Plan { first, second, warnings, selecting, dealt })
}

/// The targets that base can have.
fn targets_of_first(selected: &Selected, pairing: &Pairing) -> BTreeSet<TargetId> {
    // A target without a root on base is new: old tests around it may be all that keeps it from compiling.
    let has_root = |target: &&TargetId| {
        selected.root(target).is_some_and(|root| pairing.data().entries.contains_key(Path::new(root)))
    };
    selected.targets.keys().filter(|target| pairing.is_plain() || has_root(target)).cloned().collect()
}

/// Builds a pairing, or finds it in an archive.
fn build(
    session: &Session<'_>,
    builder: &mut Builder<'_>,
    pairing: Pairing,
    targets: &BTreeSet<TargetId>,
) -> Result<BuiltSides> {
    let Session { selected, options, .. } = session;
    // Of all selected targets, even if fewer are built: a root that changes between pairings is compiled again.
    let roots = selected.injections();
    let variant = Variant { runner: true, probes: Probes::Without, inlining: Inlining::AsBuilt };
    if let Some(recipe) = session.archive.recipe(pairing.tests_of, targets)? {
        return recipe.follow(&session.context.ours, pairing, &roots, variant);
    }
    let Selected { workspace, packages, .. } = selected;
    builder.pairing(
        &Job { options: &options.build, workspace, packages, targets, deadline: None },
        pairing,
        roots,
        variant,
    )
}

impl Prepared {
    /// Builds a pairing and sorts out its tests, with the time that the latter took.
    fn new(
        session: &Session<'_>,
        builder: &mut Builder<'_>,
        pairing: Pairing,
        targets: &BTreeSet<TargetId>,
    ) -> Result<(Self, Duration)> {
        let built = build(session, builder, pairing, targets)?;
        let Session { context, versions, selected, names, .. } = session;
        let started = Instant::now();
        let candidates = candidates(context, versions, selected, names, &built)?;
        Ok((Self { built, candidates }, started.elapsed()))
    }

    /// The targets of tests that join the second pairing if they fail on head.
    fn may_move<'a>(&'a self, names: &'a Names<'_>) -> impl Iterator<Item = TargetId> + 'a {
        let tests = self.candidates.chosen.iter().map(|candidate| &candidate.test);
        tests.filter(|test| has_new_code(test, names)).map(|test| test.target.clone())
    }
}

impl Plan {
    /// Adds what is now known to the summary of the selection.
    pub fn describe(&self, selection: Selection, session: &Session<'_>) -> Selection {
        let Session { selected, names, .. } = session;
        let excluded: Vec<&Outcome> = self.candidates().flat_map(|candidates| &candidates.excluded).collect();
        let mut selection = summary::describe(selection, self.chosen(), &excluded, selected.targets.len());
        for target in self.candidates().flat_map(|candidates| &candidates.unmeasured_targets) {
            if !selection.unmeasured_targets.contains(target) {
                selection.unmeasured_targets.push(target.clone());
            }
        }
        let Unseen { uncovered, not_compiled } = unseen(selected, names, &self.candidates().collect::<Vec<_>>());
        (selection.uncovered, selection.not_compiled) = (uncovered, not_compiled);
        selection
    }

    fn prepared(&self) -> impl Iterator<Item = &Prepared> {
        std::iter::once(&self.first).chain(self.second.iter().map(|second| &second.prepared))
    }

    fn candidates(&self) -> impl Iterator<Item = &Candidates> {
        self.prepared().map(|prepared| &prepared.candidates)
    }

    /// The pairings as they were built, that with base's test code first.
    pub fn built(&self) -> impl Iterator<Item = &BuiltSides> {
        self.prepared().map(|prepared| &prepared.built)
    }

    /// All tests that were found.
    pub fn tests(&self) -> BTreeSet<&TestId> {
        self.candidates().flat_map(Candidates::tests).collect()
    }

    /// What the user should know about the builds, each once.
    pub fn warnings(&self) -> Vec<Warning> {
        let builds = self.built().flat_map(|built| &built.warnings);
        let mut all: Vec<Warning> = Vec::new();
        for warning in builds.chain(&self.warnings).cloned().chain(self.first.candidates.uncompared()) {
            if !all.contains(&warning) {
                all.push(warning);
            }
        }
        all
    }

    /// All candidates of the run, if it measures one shard of them.
    pub fn dealt(&self) -> Option<Dealt> {
        self.dealt.clone()
    }

    /// Tests to measure in both pairings.
    fn chosen(&self) -> usize {
        self.candidates().map(|candidates| candidates.chosen.len()).sum()
    }

    /// Tests for other shards to measure.
    fn elsewhere(&self) -> usize {
        let excluded = self.candidates().flat_map(|candidates| &candidates.excluded);
        excluded.filter(|outcome| outcome.is_of_other_shard()).count()
    }

    /// Time spent on comparing machine code and on tracing.
    pub fn selecting(&self) -> Duration {
        self.selecting
    }

    /// Folders of the sides built with base's test code.
    pub fn kept(&self) -> Sides<PathBuf> {
        self.first.built.sides.as_ref().map(|side| side.folder.clone())
    }

    /// The library that gives both processes of a pair the same random numbers, if there is one.
    pub fn seeds(&self) -> Option<PathBuf> {
        self.first.built.seeds.clone()
    }

    /// All tests, for `list`.
    pub fn into_listed(self) -> Vec<Listed> {
        let Candidates { mut chosen, mut excluded, mut by_name, .. } = self.first.candidates;
        if let Some(Second { prepared: Prepared { candidates, .. }, .. }) = self.second {
            by_name.extend(candidates.by_name);
            chosen.extend(candidates.chosen);
            excluded.extend(candidates.excluded);
        }
        summary::listed(chosen, excluded, &by_name)
    }

    /// Answers questions about tests of both pairings.
    pub fn explain(&self, session: &Session<'_>, builder: &mut Builder<'_>, questions: &[Question]) -> Result<Answers> {
        let mut all = Answers::default();
        let spare = self.second.iter().flat_map(|second| &second.spare);
        for (prepared, spare) in self.prepared().zip([Vec::new(), spare.collect()]) {
            let tests = prepared.candidates.chosen.iter().chain(spare);
            let tests: BTreeSet<&TestId> = tests.map(|candidate| &candidate.test).collect();
            let is_here =
                |question: &&Question| tests.contains(&question.test) && !all.tests.contains_key(&question.test);
            let here: Vec<Question> = questions.iter().filter(is_here).cloned().collect();
            let answers = explain(builder, &session.inquiry(&prepared.built), &here)?;
            all.tests.extend(answers.tests);
            all.warnings.extend(answers.warnings);
        }
        Ok(all)
    }

    /// Measures both pairings. Tests that fail on head with base's test code, and have code of their own that differs,
    /// join the second.
    pub fn measure(self, session: &Session<'_>, builder: &mut Builder<'_>) -> Result<Measured> {
        let elsewhere = self.elsewhere() + session.options.measuring.others;
        let Candidates { chosen, excluded, .. } = self.first.candidates;
        let in_second = self.second.as_ref().map_or(0, |second| second.prepared.candidates.chosen.len());
        let mut measured = run_pairing(session, builder, &self.first.built, chosen, elsewhere + in_second)?;
        let mut failed = take_failed(&mut measured.outcomes, &session.names);
        measured.outcomes.extend(excluded);
        let mut second = Second::with_targets_of(session, builder, self.second, &failed)?;
        if let Some(second) = &mut second {
            second.take_failed(&mut failed, &session.names);
        }
        for outcome in &failed {
            session.news.announce(outcome);
        }
        if let Some(second) = second {
            let Second { prepared: Prepared { built, candidates }, otherwise, .. } = second;
            measured.outcomes.extend(candidates.excluded);
            if !candidates.chosen.is_empty() {
                let done = measured.outcomes.iter().filter(|outcome| outcome.measured.is_some()).count();
                let mut more = run_pairing(session, builder, &built, candidates.chosen, elsewhere + done)?;
                more.outcomes = more.outcomes.into_iter().map(|outcome| settled(outcome, &otherwise)).collect();
                measured.add(more);
            }
        }
        measured.outcomes.extend(failed);
        Ok(measured)
    }
}

/// Tests for which head's test code may say something else.
fn take_failed(outcomes: &mut Vec<Outcome>, names: &Names<'_>) -> Vec<Outcome> {
    let is_failed = |outcome: &Outcome| may_be_for_old_code(outcome, names);
    let (failed, others) = std::mem::take(outcomes).into_iter().partition(is_failed);
    *outcomes = others;
    failed
}

/// An outcome of the second pairing: a test that does not pass on base has no base, whatever kept it from passing.
fn settled(mut outcome: Outcome, otherwise: &BTreeMap<TestId, Reason>) -> Outcome {
    let failed = match &outcome.reason {
        Some(Reason::TimedOut { side, .. }) => side.includes(Side::Base),
        Some(reason) => reason.fails_on(Side::Base),
        None => false,
    };
    if let Some(reason) = otherwise.get(&outcome.test).filter(|_| failed && outcome.verdict == Verdict::NotMeasured) {
        outcome.reason = Some(reason.clone());
    }
    outcome
}

impl Second {
    /// Divides the tests: takes those that the first pairing cannot measure for want of the same test code, as far as this
    /// one can say more about them, and those that it does not know.
    fn beside(first: &mut Candidates, mut prepared: Prepared) -> Self {
        let known: BTreeSet<TestId> = first.tests().cloned().collect();
        let pending = first.excluded.iter().filter(|outcome| is_pending(outcome));
        let mut otherwise: BTreeMap<TestId, Reason> =
            pending.filter_map(|outcome| Some((outcome.test.clone(), outcome.reason.clone()?))).collect();
        let candidates = &mut prepared.candidates;
        let is_wanted = |test: &TestId| otherwise.contains_key(test) || !known.contains(test);
        let (chosen, spare) =
            std::mem::take(&mut candidates.chosen).into_iter().partition(|candidate| is_wanted(&candidate.test));
        candidates.chosen = chosen;
        candidates.excluded.retain(|outcome| {
            let can_be_told = !is_pending(outcome) && outcome.reason != Some(Reason::Removed);
            is_wanted(&outcome.test) && (can_be_told || !known.contains(&outcome.test))
        });
        let taken: BTreeSet<&TestId> = candidates.tests().collect();
        first.excluded.retain(|outcome| !taken.contains(&outcome.test));
        for candidate in &candidates.chosen {
            otherwise.entry(candidate.test.clone()).or_insert(Reason::New);
        }
        Self { prepared, spare, otherwise }
    }

    /// The second pairing with the targets of tests that failed in the first, built for these if it lacks them.
    fn with_targets_of(
        session: &Session<'_>,
        builder: &mut Builder<'_>,
        second: Option<Self>,
        failed: &[Outcome],
    ) -> Result<Option<Self>> {
        let has = second.as_ref().map(|second| second.prepared.built.targets.clone()).unwrap_or_default();
        let of_failed: BTreeSet<TargetId> = failed.iter().map(|outcome| outcome.test.target.clone()).collect();
        if of_failed.is_subset(&has) || session.is_over() {
            return Ok(second);
        }
        let pairing = session.selected.pairing(session.versions, Side::Head);
        let (wider, _) = Prepared::new(session, builder, pairing, &has.union(&of_failed).cloned().collect())?;
        let Prepared { built, candidates: found } = wider;
        let (candidates, mut spare, otherwise) = match second {
            Some(Second { prepared, spare, otherwise }) => (prepared.candidates, spare, otherwise),
            None => Default::default(),
        };
        spare.extend(found.chosen.into_iter().filter(|candidate| !has.contains(&candidate.test.target)));
        Ok(Some(Self { prepared: Prepared { built, candidates }, spare, otherwise }))
    }

    /// Chooses those of the failed tests that this pairing has.
    fn take_failed(&mut self, failed: &mut Vec<Outcome>, names: &Names<'_>) {
        for candidate in std::mem::take(&mut self.spare) {
            let Some(position) = failed.iter().position(|outcome| outcome.test == candidate.test) else { continue };
            failed.remove(position);
            let item = names.changed_code(&candidate.test).unwrap_or_default();
            self.otherwise.insert(candidate.test.clone(), Reason::TestChanged { item });
            self.prepared.candidates.chosen.push(candidate);
        }
    }
}

/// True for tests that other test code might make measurable.
fn is_pending(outcome: &Outcome) -> bool {
    matches!(outcome.reason, Some(Reason::New | Reason::TestChanged { .. }))
}

/// The targets with tests for the second pairing: new ones, those with tests that the first had to leave out, and those
/// in which the source has tests that the first does not know.
fn concerned(session: &Session<'_>, first: &Prepared, second: &Pairing) -> BTreeSet<TargetId> {
    let Session { selected, names, .. } = session;
    let touched = |path: &str| second.overlay().contains(path);
    let may_help = |outcome: &Outcome| match &outcome.reason {
        Some(Reason::TestChanged { .. }) => true,
        // In a file that base lacks as well nothing can be put into base.
        Some(Reason::New) => names.test(Side::Head, &outcome.test).is_none_or(|test| touched(&test.path)),
        _ => false,
    };
    let is_concerned = |target: &&TargetId| {
        if !first.built.targets.contains(*target) {
            return true;
        }
        let is_touched = |files: &Files| files.keys().any(|path| touched(path));
        if target.kind == TargetKind::Bench {
            // Its benchmarks are not in the source by their names: any may be new.
            return selected.target_files.get(*target).is_some_and(|sides| is_touched(&sides.head));
        }
        if target.kind == TargetKind::Doctest {
            let mut excluded = first.candidates.excluded.iter().filter(|outcome| outcome.test.target == **target);
            return excluded.any(is_pending);
        }
        let Some(files) = selected.target_files.get(*target).map(|sides| &sides.head) else { return false };
        let known = first.candidates.names_in(target);
        is_touched(files)
            && (first.candidates.excluded.iter().any(|outcome| outcome.test.target == **target && may_help(outcome))
                || selected.diff.items.iter().any(|item| {
                    touched(&item.path) && may_be_new_test(item, target.kind, files, &|name| is_known(&known, name))
                }))
    };
    selected.targets.keys().filter(is_concerned).cloned().collect()
}

/// True for a test that is not known, and for macros that may make tests.
fn may_be_new_test(item: &ChangedItem, kind: TargetKind, files: &Files, is_known: &dyn Fn(&str) -> bool) -> bool {
    let Some(file) = files.get(&item.path).filter(|_| item.change != ChangeKind::Removed) else { return false };
    if item.is_test {
        let name = if file.module.is_empty() { item.name.clone() } else { format!("{}::{}", file.module, item.name) };
        return !is_known(&name);
    }
    let is_test_code = item.test_only || file.test_only || !kind.holds_code();
    is_test_code && matches!(item.kind, ItemKind::Macro | ItemKind::MacroCall)
}

/// True for the name of a test or of the function that cases (`name::case_1`) are made from.
fn is_known(known: &BTreeSet<&str>, name: &str) -> bool {
    let cases = format!("{name}::");
    known.contains(name) || known.range(cases.as_str()..).next().is_some_and(|next| next.starts_with(&cases))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{FailedOn, TestId};
    use crate::select::not_measured;

    #[test]
    fn a_test_is_known_by_its_name_or_by_its_cases() {
        let known = ["a::b", "a::c2", "a::c::case_1"].into();
        assert!(is_known(&known, "a::b") && is_known(&known, "a::c"));
        assert!(!is_known(&known, "a::d") && !is_known(&known, "a::"));
    }

    #[track_caller]
    fn check(second: Reason, expected: &Reason) {
        let target = TargetId { package: "demo".to_owned(), kind: TargetKind::Lib, name: "demo".to_owned() };
        let test = TestId { target, name: "t".to_owned() };
        let otherwise = BTreeMap::from([(test.clone(), Reason::New)]);
        let outcome = settled(not_measured(test, second, None, ""), &otherwise);
        assert_eq!(outcome.reason.as_ref(), Some(expected));
    }

    #[test]
    fn a_new_test_that_fails_on_base_is_new_and_no_failure_of_base() {
        let fails = |side| Reason::Fails { side, detail: String::new(), intermittent: false };
        check(fails(FailedOn::Base), &Reason::New);
        check(fails(FailedOn::Both), &Reason::New);
        check(fails(FailedOn::Head), &fails(FailedOn::Head));
        check(Reason::Ignored, &Reason::Ignored);
    }
}
