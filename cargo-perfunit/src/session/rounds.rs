//! Rounds: every test is measured with base's test code on both versions, or else with head's.
//!
//! The second round is only for tests that the first cannot measure, and is not even built where there are none.

use super::build::{self, BuiltSides};
use super::candidates::{self, Candidate, Candidates};
use super::confirm::confirm;
use super::explain::{Answers, Question, explain, explain_outcomes};
use super::measure::{self, Measured};
use super::names::Names;
use super::options::Options;
use super::pairing::Pairing;
use super::partition::{Dealt, deal};
use super::select::Selected;
use super::selection_cache;
use super::setup::Setup;
use super::summary;
use crate::error::Result;
use crate::model::{Outcome, Reason, Selection, Side, Sides, TargetId, TargetKind, TestId, Verdict};
use crate::report::list::Listed;
use crate::select::reach::Files;
use crate::select::source::{ChangeKind, ChangedItem, ItemKind};
use crate::system::interrupt;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A pairing, built, with the tests to measure in it.
struct Round {
    built: BuiltSides,
    candidates: Candidates,
}

impl Round {
    /// The targets of tests that join the second round if they fail on head.
    fn may_move<'a>(&'a self, names: &'a Names<'_>) -> impl Iterator<Item = TargetId> + 'a {
        let tests = self.candidates.chosen.iter().map(|candidate| &candidate.test);
        tests.filter(|test| has_new_code(test, names)).map(|test| test.target.clone())
    }
}

/// True for a test with code of its own that differs, and that is still there in head.
fn has_new_code(test: &TestId, names: &Names<'_>) -> bool {
    names.test(Side::Head, test).is_some() && names.changed_code(test).is_some()
}

pub struct Rounds {
    first: Round,
    second: Option<Second>,
    warnings: BTreeSet<String>,
    selecting: Duration,
    /// All candidates of the run, if it measures one shard of them.
    dealt: Option<Dealt>,
}

/// The round with head's test code.
struct Second {
    round: Round,
    /// Tests that the first round has; in case they fail there.
    spare: Vec<Candidate>,
    /// What is to be said of tests if this round cannot measure them either.
    otherwise: BTreeMap<TestId, Reason>,
}

/// Builds the pairing with base's test code and, if it leaves tests out, the one with head's.
pub fn prepare(
    setup: &mut Setup,
    options: &Options,
    selected: &Selected,
    names: &Names<'_>,
    deadline: Option<Instant>,
) -> Result<Rounds> {
    let pairing = Pairing::new(setup, selected, Side::Base);
    let targets = selected.targets.keys();
    let targets = if pairing.is_plain() {
        targets.cloned().collect()
    } else {
        // A target without a root on base is new: old tests around it may be all that keeps it from compiling.
        let root = |target: &TargetId| selected.root(target).is_some_and(|root| has(&pairing, root));
        targets.filter(|target| root(target)).cloned().collect()
    };
    let built = build::both_sides(setup, options, selected, pairing, targets)?;
    let started = Instant::now();
    let candidates = candidates::find(setup, options, selected, names, &built)?;
    let mut selecting = started.elapsed();
    let mut first = Round { built, candidates };
    let pairing = Pairing::new(setup, selected, Side::Head);
    let mut concerned = concerned(selected, names, &first, &pairing);
    if setup.archive.is_in_use() {
        // What else only a failure would show to be needed cannot be built later.
        concerned.extend(first.may_move(names));
    }
    let mut second = if concerned.is_empty() {
        None
    } else {
        let mut second = Second::prepare(setup, options, selected, names, pairing, concerned)?;
        second.take_over(&mut first.candidates);
        Some(second)
    };
    let mut rounds: Vec<&mut Candidates> = vec![&mut first.candidates];
    rounds.extend(second.as_mut().map(|second| &mut second.round.candidates));
    let dealt = options.partition.map(|partition| deal(partition, &mut rounds));
    let mut warnings = BTreeSet::new();
    let started = Instant::now();
    if let Some(Second { round, .. }) = &mut second {
        warnings.extend(confirm(setup, options, &round.built, &mut round.candidates, deadline)?);
        first.candidates.excluded.append(&mut round.candidates.excluded);
    }
    warnings.extend(confirm(setup, options, &first.built, &mut first.candidates, deadline)?);
    selecting += started.elapsed();
    Ok(Rounds { first, second, warnings, selecting, dealt })
}

fn has(pairing: &Pairing, root: &str) -> bool {
    pairing.files.get(pairing.tests_of).entries.contains_key(Path::new(root))
}

impl Rounds {
    /// Adds what is now known to the summary of the selection.
    pub fn describe(&self, selection: Selection, selected: &Selected) -> Selection {
        let Candidates { excluded, unmeasured_targets, .. } = &self.first.candidates;
        let mut selection = summary::describe(selection, self.chosen(), excluded, selected.targets.len());
        selection.unmeasured_targets.extend(unmeasured_targets.iter().cloned());
        selection
    }

    /// All tests that were found.
    pub fn tests(&self) -> BTreeSet<&TestId> {
        let rounds = std::iter::once(&self.first).chain(self.second.iter().map(|second| &second.round));
        let candidates = rounds.map(|round| &round.candidates);
        candidates.flat_map(Candidates::tests).collect()
    }

    /// What the user should know about the builds.
    pub fn warnings(&self) -> BTreeSet<String> {
        let second = self.second.iter().flat_map(|second| &second.round.built.warnings);
        let uncompared = self.first.candidates.uncompared();
        self.first.built.warnings.iter().chain(second).chain(&self.warnings).cloned().chain(uncompared).collect()
    }

    /// All candidates of the run, if it measures one shard of them.
    pub fn dealt(&self) -> Option<Dealt> {
        self.dealt.clone()
    }

    /// Tests to measure in both rounds.
    fn chosen(&self) -> usize {
        let second = self.second.as_ref().map_or(0, |second| second.round.candidates.chosen.len());
        self.first.candidates.chosen.len() + second
    }

    /// Tests for other shards to measure.
    fn elsewhere(&self) -> usize {
        let rounds = [Some(&self.first), self.second.as_ref().map(|second| &second.round)];
        let excluded = rounds.into_iter().flatten().flat_map(|round| &round.candidates.excluded);
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

    /// The library that counts what the allocator is asked for, behind that of [`Rounds::seeds`].
    pub fn libraries(&self) -> [Option<PathBuf>; 2] {
        [self.seeds(), self.first.built.meter.clone()]
    }

    /// The files with what is known about the built sides.
    pub fn remembered<'a>(&'a self, ours: &'a Path) -> impl Iterator<Item = Result<PathBuf>> + 'a {
        let rounds = [Some(&self.first), self.second.as_ref().map(|second| &second.round)];
        rounds.into_iter().flatten().map(|round| selection_cache::file(ours, &round.built.sides))
    }

    /// All tests, for `list`.
    pub fn into_listed(self) -> Vec<Listed> {
        let Candidates { mut chosen, excluded, mut by_name, .. } = self.first.candidates;
        if let Some(Second { round, .. }) = self.second {
            by_name.extend(round.candidates.by_name);
            chosen.extend(round.candidates.chosen);
        }
        summary::listed(chosen, excluded, &by_name)
    }

    /// Answers questions about tests of both rounds.
    pub fn explain(
        &self,
        setup: &mut Setup,
        options: &Options,
        selected: &Selected,
        questions: &[Question],
        deadline: Option<Instant>,
    ) -> Result<Answers> {
        let mut all = Answers::default();
        let spare = self.second.iter().flat_map(|second| &second.spare);
        let second = self.second.iter().map(|second| (&second.round, spare.clone().collect::<Vec<_>>()));
        for (round, spare) in std::iter::once((&self.first, Vec::new())).chain(second) {
            let tests = round.candidates.chosen.iter().chain(spare);
            let tests: BTreeSet<&TestId> = tests.map(|candidate| &candidate.test).collect();
            let is_here =
                |question: &&Question| tests.contains(&question.test) && !all.tests.contains_key(&question.test);
            let here: Vec<Question> = questions.iter().filter(is_here).cloned().collect();
            let answers = explain(setup, options, selected, &round.built, &here, deadline)?;
            all.tests.extend(answers.tests);
            all.warnings.extend(answers.warnings);
        }
        Ok(all)
    }

    /// Measures both rounds. Tests that fail on head with base's test code, and have code of their own that differs,
    /// join the second.
    pub fn measure(
        self,
        setup: &mut Setup,
        options: &Options,
        selected: &Selected,
        names: &Names<'_>,
        deadline: Option<Instant>,
    ) -> Result<Measured> {
        let elsewhere = self.elsewhere() + options.measuring.others;
        let others = elsewhere + self.chosen() - self.first.candidates.chosen.len();
        let Self { first: Round { built, candidates }, second, .. } = self;
        let mut measured = measure::measure(setup, options, &built, candidates, others, deadline)?;
        explained(setup, options, selected, &built, &mut measured, deadline);
        let failed = take_failed(&mut measured.outcomes, names);
        let is_over = interrupt::requested() || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let missing: BTreeSet<TargetId> = failed
            .iter()
            .map(|outcome| &outcome.test.target)
            .filter(|target| !second.as_ref().is_some_and(|second| second.round.built.targets.contains(target)))
            .cloned()
            .collect();
        let mut rounds: Vec<Second> = second.into_iter().collect();
        if !missing.is_empty() && !is_over {
            let pairing = Pairing::new(setup, selected, Side::Head);
            rounds.push(Second::prepare(setup, options, selected, names, pairing, missing)?);
        }
        let mut failed = failed;
        for mut second in rounds {
            second.rescue(&mut failed, names);
            let Second { round: Round { built, candidates }, otherwise, .. } = second;
            if candidates.chosen.is_empty() {
                continue;
            }
            let done = measured.outcomes.iter().filter(|outcome| outcome.measured.is_some()).count();
            let mut more = measure::measure(setup, options, &built, candidates, elsewhere + done, deadline)?;
            explained(setup, options, selected, &built, &mut more, deadline);
            measured.explaining += more.explaining;
            measured.outcomes.extend(more.outcomes.into_iter().map(|outcome| settled(outcome, &otherwise)));
            measured.warnings.extend(more.warnings);
            measured.environment.layouts.extend(more.environment.layouts);
        }
        measured.outcomes.extend(failed);
        Ok(measured)
    }
}

/// Explains what was measured, as far as that was asked for.
fn explained(
    setup: &mut Setup,
    options: &Options,
    selected: &Selected,
    built: &BuiltSides,
    measured: &mut Measured,
    deadline: Option<Instant>,
) {
    let started = Instant::now();
    let warnings = explain_outcomes(setup, options, selected, built, &mut measured.outcomes, deadline);
    measured.warnings.extend(warnings);
    measured.explaining = started.elapsed();
}

/// Tests that fail on head alone or do not end there, with code of their own that differs: that may be for old expectations.
fn take_failed(outcomes: &mut Vec<Outcome>, names: &Names<'_>) -> Vec<Outcome> {
    let does_not_end = |outcome: &Outcome| {
        let bound = outcome.measured.as_ref().and_then(|measured| measured.bound.as_ref());
        outcome.verdict == Verdict::Slower && bound.is_some_and(|bound| bound.limit_ns.is_some())
    };
    let fails = |outcome: &Outcome| {
        let failing = outcome.reason.as_ref().and_then(Reason::failing_side);
        let is_lost = outcome.verdict == Verdict::NotMeasured && failing == Some(Side::Head);
        (is_lost || does_not_end(outcome)) && has_new_code(&outcome.test, names)
    };
    let (failed, others) = std::mem::take(outcomes).into_iter().partition(fails);
    *outcomes = others;
    failed
}

/// An outcome of the second round: a test that does not pass on base has no base, whatever kept it from passing.
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
    /// Builds the pairing and lists its tests; none is chosen yet.
    fn prepare(
        setup: &mut Setup,
        options: &Options,
        selected: &Selected,
        names: &Names<'_>,
        pairing: Pairing,
        targets: BTreeSet<TargetId>,
    ) -> Result<Self> {
        let built = build::both_sides(setup, options, selected, pairing, targets)?;
        let mut candidates = candidates::find(setup, options, selected, names, &built)?;
        let spare = std::mem::take(&mut candidates.chosen);
        Ok(Self { round: Round { built, candidates }, spare, otherwise: BTreeMap::new() })
    }

    /// Takes from the first round the tests that it cannot measure for want of the same test code, as far as this one can
    /// say more about them, and adds to it those that it does not know.
    fn take_over(&mut self, first: &mut Candidates) {
        let chosen = first.chosen.iter().map(|candidate| &candidate.test);
        let known: BTreeSet<TestId> =
            chosen.chain(first.excluded.iter().map(|outcome| &outcome.test)).cloned().collect();
        for outcome in first.excluded.iter().filter(|outcome| is_pending(outcome)) {
            self.otherwise.extend(Some(outcome.test.clone()).zip(outcome.reason.clone()));
        }
        let candidates = &mut self.round.candidates;
        let (chosen, spare) = std::mem::take(&mut self.spare)
            .into_iter()
            .partition(|candidate| self.otherwise.contains_key(&candidate.test) || !known.contains(&candidate.test));
        (candidates.chosen, self.spare) = (chosen, spare);
        let says_more = |outcome: &Outcome| {
            let can_be_told = !is_pending(outcome) && outcome.reason != Some(Reason::Removed);
            !known.contains(&outcome.test) || (can_be_told && self.otherwise.contains_key(&outcome.test))
        };
        let mut excluded = std::mem::take(&mut candidates.excluded);
        excluded.retain(says_more);
        let taken: BTreeSet<&TestId> =
            candidates.chosen.iter().map(|c| &c.test).chain(excluded.iter().map(|o| &o.test)).collect();
        first.excluded.retain(|outcome| !taken.contains(&outcome.test));
        for candidate in &candidates.chosen {
            self.otherwise.entry(candidate.test.clone()).or_insert(Reason::New);
        }
        first.excluded.extend(excluded);
        first.merge_unmeasured_targets(candidates);
    }

    /// Chooses those of the failed tests that this round has.
    fn rescue(&mut self, failed: &mut Vec<Outcome>, names: &Names<'_>) {
        for candidate in std::mem::take(&mut self.spare) {
            let Some(position) = failed.iter().position(|outcome| outcome.test == candidate.test) else { continue };
            failed.remove(position);
            let item = names.changed_code(&candidate.test).unwrap_or_default();
            self.otherwise.insert(candidate.test.clone(), Reason::TestChanged { item });
            self.round.candidates.chosen.push(candidate);
        }
    }
}

/// True for tests that other test code might make measurable.
fn is_pending(outcome: &Outcome) -> bool {
    matches!(outcome.reason, Some(Reason::New | Reason::TestChanged { .. }))
}

/// The targets with tests for the second round: new ones, those with tests that the first had to leave out, and those
/// in which the source has tests that the first does not know.
fn concerned(selected: &Selected, names: &Names<'_>, first: &Round, second: &Pairing) -> BTreeSet<TargetId> {
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
        let Some(files) = selected.target_files.get(*target).map(|sides| &sides.head) else { return false };
        let known = first.candidates.names_in(target);
        files.keys().any(|path| touched(path))
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
    let is_test_code = item.test_only || file.test_only || !matches!(kind, TargetKind::Lib | TargetKind::Bin);
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
    use crate::session::candidates::not_measured;

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
