//! Summarizes the selection.

use perfunit_model::{ChangedPart, Effect, Listed, NothingBecause, Outcome, Reason, Selection, TestId, variant_name};
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

/// Returns the reason if no test of the built targets can have changed; `None` if some can but were excluded.
fn nothing_because(selection: &Selection, targets: usize) -> Option<NothingBecause> {
    let all = |kinds: &[Reason]| {
        let of_kind = kinds.iter().filter_map(|kind| selection.left_out.get(&variant_name(kind.kind())));
        of_kind.sum::<usize>() == selection.found
    };
    let not_executed = Reason::NotExecuted { functions: 0, programs: Vec::new() };
    Some(match selection.found {
        0 if targets == 0 => return None,
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
    use perfunit_model::samples;

    #[test]
    fn a_test_that_differs_only_in_data_files_is_not_selected() {
        let reason = || Some(Reason::DataChanged { path: "a.stderr".into() });
        let listed = list_tests(Vec::new(), vec![samples::unmeasured("a", reason())], &BTreeSet::new());
        assert_eq!((listed[0].selected_because.as_ref(), &listed[0].reason), (None, &reason()));
    }
}
