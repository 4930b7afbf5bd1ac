//! The pairing with head's test code: which tests it takes from the first one, and what it says about them.

use super::prepared::Prepared;
use super::shared::Session;
use perfunit_build::{Builder, Pairing};
use perfunit_model::error::{Error, Result};
use perfunit_model::{ChangeKind, Outcome, Reason, Side, TargetId, TargetKind, TestCodeItem, TestId, Verdict, Warning};
use perfunit_select::reach::Files;
use perfunit_select::source::{ChangedItem, ItemKind};
use perfunit_select::{Candidate, Candidates, Names, not_measured};
use std::collections::{BTreeMap, BTreeSet};

/// The pairing with head's test code.
pub struct Second {
    pub prepared: Prepared,
    /// Tests that the first pairing has; in case they fail there.
    pub spare: Vec<Candidate>,
    /// What is to be said of tests if this pairing cannot measure them either.
    pub otherwise: BTreeMap<TestId, Reason>,
    /// What the first pairing says of tests that did not end on head, or failed on base: it holds unless this one measures
    /// them.
    pub of_first: BTreeMap<TestId, Outcome>,
}

impl Second {
    /// Divides the tests: takes those that the first pairing cannot measure for want of the same test code, as far as this
    /// one can say more about them, and those that it does not know. So with tests that the change cannot reach but by what
    /// is new in their own code.
    pub fn beside(
        first: &mut Candidates,
        mut prepared: Prepared,
        by_new_code: &BTreeMap<TestId, TestCodeItem>,
    ) -> Self {
        let known: BTreeSet<TestId> = first.tests().cloned().collect();
        let pending = first.excluded.iter().filter(|outcome| is_pending(outcome));
        let mut otherwise: BTreeMap<TestId, Reason> =
            pending.filter_map(|outcome| Some((outcome.test.clone(), outcome.reason.clone()?))).collect();
        let candidates = &mut prepared.candidates;
        let now_reached = candidates.chosen.iter().map(|candidate| &candidate.test);
        otherwise.extend(now_reached.filter_map(|test| {
            let item = by_new_code.get(test)?.clone();
            Some((test.clone(), Reason::TestChanged { item }))
        }));
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
        Self { prepared, spare, otherwise, of_first: BTreeMap::new() }
    }

    /// Gives the second pairing the targets of tests that failed in the first, built for these if it lacks them. If that
    /// fails it stays as it is.
    pub fn with_targets_of(
        session: &Session<'_>,
        builder: &mut Builder<'_>,
        second: &mut Option<Self>,
        failed: &[Outcome],
    ) -> Result<()> {
        let has = second.as_ref().map(|second| second.prepared.built.targets.clone()).unwrap_or_default();
        let of_failed: BTreeSet<TargetId> = failed.iter().map(|outcome| outcome.test.target.clone()).collect();
        if of_failed.is_subset(&has) || session.is_over() {
            return Ok(());
        }
        let pairing = session.selected.pairing(session.versions, Side::Head);
        let (wider, _) = Prepared::new(session, builder, pairing, &has.union(&of_failed).cloned().collect())?;
        let Prepared { built, candidates: found } = wider;
        let (candidates, mut spare, otherwise) = match second.take() {
            Some(Second { prepared, spare, otherwise, .. }) => (prepared.candidates, spare, otherwise),
            None => Default::default(),
        };
        spare.extend(found.chosen.into_iter().filter(|candidate| !has.contains(&candidate.test.target)));
        let prepared = Prepared { built, candidates };
        *second = Some(Self { prepared, spare, otherwise, of_first: BTreeMap::new() });
        Ok(())
    }

    /// Chooses those of the failed tests that this pairing has.
    pub fn take_failed(&mut self, failed: &mut Vec<Outcome>, names: &Names<'_>) {
        for candidate in std::mem::take(&mut self.spare) {
            let Some(position) = failed.iter().position(|outcome| outcome.test == candidate.test) else { continue };
            let outcome = failed.remove(position);
            if holds_by_itself(&outcome) {
                self.of_first.insert(candidate.test.clone(), outcome);
            }
            let item = names.changed_code(&candidate.test);
            self.otherwise.extend(item.map(|item| (candidate.test.clone(), Reason::TestChanged { item })));
            self.prepared.candidates.chosen.push(candidate);
        }
    }
}

fn fails_on_base(outcome: &Outcome) -> bool {
    outcome.reason.as_ref().is_some_and(|reason| reason.fails_on(Side::Base))
}

/// Whether what the first pairing says of a test holds as long as this one has not measured it.
fn holds_by_itself(outcome: &Outcome) -> bool {
    outcome.measured.is_some() || fails_on_base(outcome)
}

/// An outcome of the second pairing: a test that does not pass on base has no base, whatever kept it from passing.
pub fn settled(mut outcome: Outcome, otherwise: &BTreeMap<TestId, Reason>) -> Outcome {
    let failed = fails_on_base(&outcome);
    if let Some(reason) = otherwise.get(&outcome.test).filter(|_| failed && outcome.verdict == Verdict::NotMeasured) {
        outcome.reason = Some(reason.clone());
    }
    outcome
}

/// What holds of a test: what this pairing has measured, or else what the first says.
pub fn or_of_first(outcome: Outcome, of_first: &mut BTreeMap<TestId, Outcome>) -> Outcome {
    let known = of_first.remove(&outcome.test).filter(|_| outcome.measured.is_none());
    known.unwrap_or(outcome)
}

/// A failed test that was to join this pairing, in a target that is not built for it.
pub fn unbuilt(session: &Session<'_>, outcome: Outcome, error: Option<&Error>) -> Outcome {
    if holds_by_itself(&outcome) {
        return outcome;
    }
    let is_of_base = error.and_then(Error::as_broken).is_some_and(|broken| broken.side == Side::Base);
    let reason = match session.names.changed_code(&outcome.test) {
        // It may pass with its own code: that it fails is not known.
        _ if session.is_over() => Session::stopped(),
        Some(item) if is_of_base => Reason::TestChanged { item },
        _ => return outcome,
    };
    not_measured(outcome.test, reason, outcome.capture, outcome.selected_because)
}

/// A test of this pairing if it was not measured.
pub fn left(session: &Session<'_>, candidate: Candidate, otherwise: &BTreeMap<TestId, Reason>) -> Outcome {
    let reason = match otherwise.get(&candidate.test) {
        Some(reason) if !session.is_over() => reason.clone(),
        _ => Session::stopped(),
    };
    not_measured(candidate.test, reason, candidate.capture, Some(candidate.because))
}

/// That this pairing ended with an error; whoever stopped the run knows why.
pub fn not_made(session: &Session<'_>, error: &Error) -> Option<Warning> {
    let said = || match error.as_broken() {
        Some(broken) => format!("{}: {}", error.message(), broken.first_error()),
        None => error.message().to_owned(),
    };
    (!session.is_over()).then(|| Warning::NoSecondPairing { why: said() })
}

/// True for tests that other test code might make measurable.
fn is_pending(outcome: &Outcome) -> bool {
    matches!(outcome.reason, Some(Reason::New | Reason::TestChanged { .. }))
}

/// The targets with tests for the second pairing: new ones, those with tests that the first had to leave out, and those
/// in which the source has tests that the first does not know.
pub fn concerned(session: &Session<'_>, first: &Prepared, second: &Pairing) -> BTreeSet<TargetId> {
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
    use perfunit_model::{FailedOn, Failure, samples};

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
        let outcome = settled(not_measured(test, second, None, None), &otherwise);
        assert_eq!(outcome.reason.as_ref(), Some(expected));
    }

    #[test]
    fn a_test_that_did_not_end_on_head_stays_slower_unless_its_new_code_is_measured() {
        let slower = samples::outcome("t", Verdict::Slower, Some(samples::measured(1e3, 9.0)));
        let mut of_first = BTreeMap::from([(slower.test.clone(), slower.clone())]);
        let same = samples::outcome("t", Verdict::Same, Some(samples::measured(1e3, 0.0)));
        assert_eq!(or_of_first(same, &mut of_first.clone()).verdict, Verdict::Same);
        let unmeasured = not_measured(slower.test, Reason::New, None, None);
        assert_eq!(or_of_first(unmeasured.clone(), &mut of_first).verdict, Verdict::Slower);
        assert_eq!(or_of_first(unmeasured, &mut of_first).verdict, Verdict::NotMeasured);
    }

    #[test]
    fn a_new_test_that_fails_on_base_is_new_and_no_failure_of_base() {
        let fails = |side| Reason::Fails { side, how: Failure::Said(String::new()), intermittent: false };
        check(fails(FailedOn::Base), &Reason::New);
        check(fails(FailedOn::Both), &Reason::New);
        check(fails(FailedOn::Head), &fails(FailedOn::Head));
        check(Reason::Ignored, &Reason::Ignored);
    }
}
