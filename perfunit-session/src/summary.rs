//! Summarizes the selection.

use perfunit_model::{
    ChangedPart, Effect, Listed, NothingBecause, Outcome, Reason, Selection, TestId, UnmeasuredTarget, variant_name,
};
use perfunit_select::Candidate;
use std::collections::BTreeSet;

/// Adds the results of the built targets to the summary; `targets` is their number.
pub fn describe(mut selection: Selection, chosen: usize, excluded: &[&Outcome], targets: usize) -> Selection {
    selection.found = chosen + excluded.len();
    selection.executed = chosen;
    for reason in excluded.iter().filter_map(|outcome| outcome.reason.as_ref()) {
        *selection.left_out.entry(variant_name(reason.kind())).or_default() += 1;
    }
    let not_executed = Reason::NotExecuted { functions: 0, programs: Vec::new() };
    selection.reachable = chosen + selection.left_out.get(&variant_name(not_executed.kind())).copied().unwrap_or(0);
    if chosen == 0 {
        let because = nothing_because(&selection, targets);
        let effect = |change: &ChangedPart| match because {
            Some(because) => Effect::NoTest { change: change.clone(), because },
            None => Effect::LeftOut(change.clone()),
        };
        selection.effects.extend(selection.changes.iter().map(effect));
        selection.nothing_because = selection.nothing_because.or(because);
    }
    selection
}

/// Returns the reason if no test of the built targets can have changed, apart from ignored tests, which do not run; `None` if some
/// can but were excluded.
fn nothing_because(selection: &Selection, targets: usize) -> Option<NothingBecause> {
    let count = |kind: &Reason| selection.left_out.get(&variant_name(kind.kind())).copied().unwrap_or(0);
    let of_all = selection.found - count(&Reason::Ignored);
    let all = |kinds: &[Reason]| of_all > 0 && kinds.iter().map(count).sum::<usize>() == of_all;
    let not_executed = Reason::NotExecuted { functions: 0, programs: Vec::new() };
    // Such a target may have tests, which are unknown.
    let is_target = |target: &UnmeasuredTarget| matches!(target, UnmeasuredTarget::Target { .. });
    Some(match selection.found {
        0 if targets == 0 || selection.unmeasured_targets.iter().any(is_target) => return None,
        0 => NothingBecause::NoTests { targets },
        _ if all(&[Reason::SameExecutable]) => NothingBecause::SameExecutables,
        _ if all(&[Reason::SameExecutable, Reason::SameCode]) => NothingBecause::SameCode,
        _ if all(&[Reason::SameExecutable, Reason::SameCode, not_executed]) => {
            NothingBecause::NotExecuted { reachable: selection.reachable }
        }
        _ => return None,
    })
}

/// Returns all tests for `list`.
pub fn list_tests(chosen: Vec<Candidate>, excluded: Vec<Outcome>, by_name: &BTreeSet<TestId>) -> Vec<Listed> {
    let chosen = chosen.into_iter().map(|Candidate { test, because, why, capture, .. }| Listed {
        by_name: by_name.contains(&test),
        test,
        capture,
        selected_because: Some(because),
        why,
        reason: None,
    });
    let excluded = excluded.into_iter().map(|Outcome { test, capture, reason, why, .. }| Listed {
        by_name: by_name.contains(&test),
        test,
        capture,
        selected_because: None,
        why,
        reason,
    });
    chosen.chain(excluded).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::{NoTests, samples};

    #[test]
    fn ignored_tests_do_not_count_as_tests_that_can_have_changed() {
        let because = |reasons: &[Reason]| {
            let excluded: Vec<Outcome> =
                reasons.iter().map(|reason| samples::unmeasured("a", Some(reason.clone()))).collect();
            let selection = Selection { nothing_because: None, ..samples::run(Vec::new()).selection };
            describe(selection, 0, &excluded.iter().collect::<Vec<_>>(), 1).nothing_because
        };
        let same = Reason::SameExecutable;
        assert_eq!(because(&[same.clone(), Reason::Ignored]), Some(NothingBecause::SameExecutables));
        assert_eq!(because(&[same.clone(), Reason::Ignored, Reason::SameCode]), Some(NothingBecause::SameCode));
        assert_eq!(because(&[Reason::Ignored]), None);
        assert_eq!(because(&[]), Some(NothingBecause::NoTests { targets: 1 }));
        assert_eq!(because(&[same, Reason::Filtered]), None);
    }

    #[test]
    fn a_target_that_is_not_built_may_have_tests() {
        let target = samples::test("a").target;
        let unmeasured_targets = vec![UnmeasuredTarget::Target { target, why: NoTests::NotBuilt }];
        let selection = Selection { unmeasured_targets, ..samples::run(Vec::new()).selection };
        assert_eq!(describe(selection, 0, &[], 1).nothing_because, None);
    }

    #[test]
    fn a_test_that_differs_only_in_data_files_is_not_selected() {
        let reason = || Some(Reason::DataChanged { path: "a.stderr".into() });
        let listed = list_tests(Vec::new(), vec![samples::unmeasured("a", reason())], &BTreeSet::new());
        assert_eq!((listed[0].selected_because.as_ref(), &listed[0].reason), (None, &reason()));
    }
}
