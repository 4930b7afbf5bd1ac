//! Pairings: every test is measured with base's test code on both versions, or else with head's.
//!
//! The second pairing is only for tests that the first cannot measure, and is not even built where there are none.

use super::measure::{Measured, run_pairing};
use super::news::may_be_for_old_code;
use super::partition::{Dealt, deal};
use super::prepared::Prepared;
use super::second_pairing::{Second, concerned, left, not_made, or_of_first, settled, unbuilt};
use super::shared::Session;
use super::summary;
use perfunit_build::{Builder, BuiltSides, Pairing};
use perfunit_explain::{Answers, Question, explain};
use perfunit_model::error::Result;
use perfunit_model::{Listed, Outcome, Reason, Selection, Side, Sides, TargetId, TestCodeItem, TestId, Warning};
use perfunit_select::{Candidates, Names, Selected, Unseen, leave_out_unexecuted, unseen};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

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

/// Builds the pairing with base's test code and, if it leaves tests out, the one with head's; settles which of them
/// measures which test.
pub fn prepare(session: &Session<'_>, builder: &mut Builder<'_>) -> Result<Plan> {
    let pairing = session.selected.pairing(session.versions, Side::Base);
    let targets = targets_of_first(session.selected, &pairing);
    let (mut first, mut selecting) = Prepared::new(session, builder, pairing, &targets)?;
    let pairing = session.selected.pairing(session.versions, Side::Head);
    let mut concerned = concerned(session, &first, &pairing);
    let by_new_code = by_new_code(session, &first);
    concerned.extend(by_new_code.keys().map(|test| test.target.clone()));
    if session.archive.is_in_use() {
        // What else only a failure would show to be needed cannot be built later.
        concerned.extend(first.may_move(&session.names));
    }
    let mut second = None;
    if !concerned.is_empty() {
        let (prepared, took) = Prepared::new(session, builder, pairing, &concerned)?;
        selecting += took;
        second = Some(Second::beside(&mut first.candidates, prepared, &by_new_code));
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

/// The tests that the change cannot have reached with base's code, with the item of theirs that differs, and that lead to
/// changed functions with head's, which no test reaches otherwise.
fn by_new_code(session: &Session<'_>, first: &Prepared) -> BTreeMap<TestId, TestCodeItem> {
    let Session { selected, names, .. } = session;
    if first.candidates.names_of_head.is_none() {
        return BTreeMap::new();
    }
    let leading = unseen(selected, names, &[&first.candidates]).by_new_code;
    let leads = |test: &TestId| {
        let name = |name: &str| TestId { target: test.target.clone(), name: name.to_owned() };
        // A case has the name of its function before its own.
        leading.contains(test) || test.name.rsplit_once("::").is_some_and(|(of, _)| leading.contains(&name(of)))
    };
    let unaffected =
        first.candidates.excluded.iter().filter(|outcome| outcome.reason.as_ref().is_some_and(Reason::is_unaffected));
    let tests = unaffected.map(|outcome| &outcome.test).filter(|test| leads(test));
    tests.filter_map(|test| Some((test.clone(), names.changed_code(test)?))).collect()
}

/// The targets that base can have.
fn targets_of_first(selected: &Selected, pairing: &Pairing) -> BTreeSet<TargetId> {
    // A target without a root on base is new: old tests around it may be all that keeps it from compiling.
    let has_root =
        |target: &&TargetId| selected.root(target).is_some_and(|root| pairing.data().may_have(Path::new(root)));
    selected.targets.keys().filter(|target| pairing.is_plain() || has_root(target)).cloned().collect()
}

impl Plan {
    /// What no test says anything of.
    pub fn unseen(&self, session: &Session<'_>) -> Unseen {
        unseen(session.selected, &session.names, &self.candidates().collect::<Vec<_>>())
    }

    /// Adds what is now known to the summary of the selection.
    pub fn describe(&self, selection: Selection, unseen: &Unseen, session: &Session<'_>) -> Selection {
        let excluded: Vec<&Outcome> = self.candidates().flat_map(|candidates| &candidates.excluded).collect();
        let mut selection = summary::describe(selection, self.chosen(), &excluded, session.selected.targets.len());
        for target in self.candidates().flat_map(|candidates| &candidates.unmeasured_targets) {
            if !selection.unmeasured_targets.contains(target) {
                selection.unmeasured_targets.push(target.clone());
            }
        }
        selection.uncovered = unseen.uncovered_after(excluded.into_iter());
        selection.not_compiled.clone_from(&unseen.not_compiled);
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
    pub fn measure(mut self, session: &Session<'_>, builder: &mut Builder<'_>) -> Result<Measured> {
        let elsewhere = self.elsewhere() + session.options.measuring.others;
        let Candidates { chosen, excluded, .. } = self.first.candidates;
        let in_second = self.second.as_ref().map_or(0, |second| second.prepared.candidates.chosen.len());
        let mut measured = run_pairing(session, builder, &self.first.built, chosen, elsewhere + in_second)?;
        let mut failed = take_failed(&mut measured.outcomes, &session.names);
        measured.outcomes.extend(excluded);
        // Whatever goes wrong from here on, what was measured is not lost.
        let widened = Second::with_targets_of(session, builder, &mut self.second, &failed);
        measured.warnings.extend(widened.as_ref().err().and_then(|error| not_made(session, error)));
        if let Some(second) = &mut self.second {
            second.take_failed(&mut failed, &session.names);
        }
        let built = self.second.as_ref().map(|second| &second.prepared.built.targets);
        let is_built = |outcome: &Outcome| built.is_some_and(|targets| targets.contains(&outcome.test.target));
        let unbuilt =
            |outcome| if is_built(&outcome) { outcome } else { unbuilt(session, outcome, widened.as_ref().err()) };
        let failed: Vec<Outcome> = failed.into_iter().map(unbuilt).collect();
        announce(session, &failed);
        if let Some(second) = self.second {
            let done = measured.outcomes.iter().filter(|outcome| outcome.measured.is_some()).count();
            measure_second(session, builder, second, elsewhere + done, &mut measured);
        }
        measured.outcomes.extend(failed);
        Ok(measured)
    }
}

/// Adds what the second pairing says, or why it says nothing; `others` are the tests that are measured besides its own.
fn measure_second(
    session: &Session<'_>,
    builder: &mut Builder<'_>,
    second: Second,
    others: usize,
    measured: &mut Measured,
) {
    let Second { prepared: Prepared { built, candidates }, otherwise, mut of_first, .. } = second;
    measured.outcomes.extend(candidates.excluded);
    if candidates.chosen.is_empty() {
        return;
    }
    match run_pairing(session, builder, &built, candidates.chosen.clone(), others) {
        Ok(mut more) => {
            let settle = |outcome| or_of_first(settled(outcome, &otherwise), &mut of_first);
            more.outcomes = more.outcomes.into_iter().map(settle).collect();
            announce(session, &more.outcomes);
            measured.add(more);
        }
        Err(error) => {
            measured.warnings.extend(not_made(session, &error));
            let left = |candidate| or_of_first(left(session, candidate, &otherwise), &mut of_first);
            let left: Vec<Outcome> = candidates.chosen.into_iter().map(left).collect();
            announce(session, &left);
            measured.outcomes.extend(left);
        }
    }
}

fn announce(session: &Session<'_>, ended: &[Outcome]) {
    for outcome in ended {
        session.news.announce(outcome);
    }
}

/// Tests for which head's test code may say something else.
fn take_failed(outcomes: &mut Vec<Outcome>, names: &Names<'_>) -> Vec<Outcome> {
    let is_failed = |outcome: &Outcome| may_be_for_old_code(outcome, names);
    let (failed, others) = std::mem::take(outcomes).into_iter().partition(is_failed);
    *outcomes = others;
    failed
}
