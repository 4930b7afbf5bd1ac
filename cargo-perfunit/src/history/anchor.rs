//! Direct comparisons over several commits, at which courses are anchored: which of them are worth making, and making them.
//!
//! A range is divided at its releases. At the end of each part, and where the steps since the last direct comparison leave
//! more open than the threshold, tests are compared with the beginning of the part; at the end of the range also with its
//! beginning. So each commit is compared directly once, and the last one twice.

use super::comparing::{Compared, Comparing};
use super::progress::Progress;
use perfunit_model::error::Result;
use perfunit_model::{Change, Commit, Entry, History, Skipped, Span, Step, StepOutcome, TestId};
use std::collections::{BTreeMap, BTreeSet};

/// Makes the direct comparisons that a history needs. `announce` hears of each before it is made, and if it cannot be.
pub fn anchor(
    history: &mut History,
    comparing: &mut Comparing,
    threshold: f64,
    announce: &mut dyn FnMut(Progress<'_>),
) -> Result<()> {
    for Wanted { base, head, tests } in wanted(history, threshold) {
        announce(Progress::Anchoring { base: &base, head: &head, tests: tests.len() });
        match comparing.compare_tests(&base.id, &head.id, &tests)? {
            Compared::Step(step) => history.spans.push(Span { base, head, tests, step }),
            // The course stays what its steps say.
            Compared::Broken(_, why) => announce(Progress::NotAnchored { base: &base, head: &head, why }),
            Compared::Failed(error) => {
                let why = Skipped::Failed { error: error.message().to_owned() };
                announce(Progress::NotAnchored { base: &base, head: &head, why });
            }
            Compared::Interrupted => {
                history.interrupted = true;
                break;
            }
        }
    }
    Ok(())
}

/// A direct comparison that is worth making.
#[derive(Debug, PartialEq)]
struct Wanted {
    base: Commit,
    head: Commit,
    tests: BTreeSet<TestId>,
}

/// What the steps since the beginning of a part say about a test.
#[derive(Default)]
struct Seen {
    /// Steps in which it can have changed.
    steps: usize,
    /// Those since the last direct comparison, and what they leave open: the sum of half their intervals, as logarithms.
    fresh: usize,
    width: f64,
    has_figures: bool,
}

fn wanted(history: &History, threshold: f64) -> Vec<Wanted> {
    let entries = &history.entries;
    let is_release = |entry: &Entry| !entry.commit.tags.is_empty();
    let mut ends: Vec<usize> = (1..entries.len()).filter(|end| is_release(&entries[end - 1])).collect();
    ends.push(entries.len());
    let mut wanted = Vec::new();
    let mut start = 0;
    for end in &ends {
        wanted.extend(of_part(history, start..*end, Some(threshold)));
        start = *end;
    }
    if ends.len() > 1 {
        wanted.extend(of_part(history, 0..entries.len(), None));
    }
    wanted
}

/// The comparisons of a part of the entries; without a threshold at its end alone.
fn of_part(history: &History, part: std::ops::Range<usize>, threshold: Option<f64>) -> Vec<Wanted> {
    let entries = &history.entries[part.clone()];
    // What is open will move these places.
    if entries.iter().any(|entry| entry.outcome == StepOutcome::Open) {
        return Vec::new();
    }
    let Some(last) = entries.iter().rposition(|entry| entry.step().is_some()) else { return Vec::new() };
    let Some(base) = beginning(history, part.start, entries) else { return Vec::new() };
    // A single step is the direct comparison, unless commits beside it were left out.
    let needed = if history.left_out == 0 { 2 } else { 1 };
    let mut seen: BTreeMap<&TestId, Seen> = BTreeMap::new();
    let mut wanted = Vec::new();
    for (index, entry) in entries[..=last].iter().enumerate() {
        let Some(step) = entry.step() else { continue };
        note(step, &mut seen);
        let is_wide = |seen: &Seen| threshold.is_some_and(|threshold| seen.width > threshold.ln_1p()) && seen.fresh > 1;
        let is_due = |seen: &Seen| {
            seen.has_figures && seen.steps >= needed && seen.fresh > 0 && (index == last || is_wide(seen))
        };
        let due = seen.iter_mut().filter(|(_, seen)| is_due(seen));
        let tests: BTreeSet<TestId> = due
            .map(|(test, seen)| {
                (seen.fresh, seen.width) = (0, 0.0);
                (*test).clone()
            })
            .collect();
        if !tests.is_empty() {
            wanted.push(Wanted { base: base.clone(), head: entry.commit.clone(), tests });
        }
    }
    wanted
}

fn note<'a>(step: &'a Step, seen: &mut BTreeMap<&'a TestId, Seen>) {
    for found in &step.tests {
        let seen = seen.entry(&found.test).or_default();
        seen.steps += 1;
        seen.fresh += 1;
        if let Some(figures) = found.figures {
            let Change { low, high, .. } = figures.change;
            let log = |change: f64| change.max(-0.999_999).ln_1p();
            seen.width += (log(high) - log(low)) / 2.0;
            seen.has_figures = true;
        }
    }
}

/// The commit that a part begins with: the one before it, or where that does not build the one that its first step is
/// compared with.
fn beginning(history: &History, start: usize, entries: &[Entry]) -> Option<Commit> {
    let at = |place: usize| place.checked_sub(1).map_or(&history.base, |index| &history.entries[index].commit);
    let first = entries.iter().find_map(Entry::step)?;
    let place = if history.left_out == 0 { history.place(&first.base)? } else { start };
    Some(at(place).clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::samples;
    use perfunit_model::Verdict;

    /// Changes of a test by commit, each with an interval of two per cent; `None` for a commit without a step.
    fn history(steps: &[Option<&[(&str, f64)]>]) -> History {
        let mut base = 0;
        let outcomes = steps.iter().zip(1..).map(|(tests, id)| {
            let Some(tests) = tests else {
                return StepOutcome::Skipped(Skipped::DoesNotBuild { error: String::new() });
            };
            let tests: Vec<_> = tests.iter().map(|(name, change)| (*name, Verdict::Same, *change)).collect();
            StepOutcome::Compared(samples::step(&std::mem::replace(&mut base, id).to_string(), &tests))
        });
        samples::history(outcomes.collect())
    }

    #[track_caller]
    fn check(history: &History, threshold: f64, expected: &[(&str, &str, &str)]) {
        let wanted = wanted(history, threshold);
        let names = |wanted: &Wanted| wanted.tests.iter().map(|test| test.name.clone()).collect::<Vec<_>>().join(" ");
        let found: Vec<_> = wanted.iter().map(|one| (one.base.id.clone(), one.head.id.clone(), names(one))).collect();
        let found: Vec<_> = found.iter().map(|(base, head, names)| (&**base, &**head, &**names)).collect();
        assert_eq!(found, expected);
    }

    const BOTH: Option<&[(&str, f64)]> = Some(&[("t", 0.01), ("u", 0.0)]);
    const ONE: Option<&[(&str, f64)]> = Some(&[("t", 0.01)]);
    const EQUAL: Option<&[(&str, f64)]> = Some(&[]);

    #[test]
    fn tests_that_changed_in_several_commits_are_compared_over_all_of_them() {
        check(&history(&[BOTH, EQUAL, ONE]), 0.5, &[("0", "3", "t")]);
        check(&history(&[BOTH, EQUAL, EQUAL]), 0.5, &[]);
        check(&history(&[EQUAL, EQUAL]), 0.5, &[]);
    }

    #[test]
    fn where_the_steps_leave_more_open_than_the_threshold_tests_are_compared_in_between() {
        // Each step leaves 1 % open: the third passes 2.5 %.
        let six = history(&[BOTH, ONE, ONE, ONE, ONE, ONE]);
        check(&six, 0.025, &[("0", "3", "t"), ("0", "6", "t")]);
        check(&history(&[BOTH, BOTH, BOTH, ONE]), 0.025, &[("0", "3", "t u"), ("0", "4", "t")]);
        // Equal code opens nothing: there is nothing new to compare at the end.
        check(&history(&[BOTH, BOTH, BOTH, EQUAL]), 0.025, &[("0", "3", "t u")]);
    }

    #[test]
    fn a_release_begins_anew_and_the_whole_range_is_compared_at_its_end() {
        let mut history = history(&[ONE, ONE, BOTH, BOTH, EQUAL]);
        history.entries[1].commit.tags.push("v1".to_owned());
        check(&history, 0.5, &[("0", "2", "t"), ("2", "5", "t u"), ("0", "5", "t u")]);
    }

    #[test]
    fn what_does_not_build_is_no_end_and_what_is_open_is_waited_for() {
        check(&history(&[None, ONE, None, ONE, None]), 0.5, &[("0", "4", "t")]);
        let mut open = history(&[ONE, ONE, ONE]);
        open.entries[1].outcome = StepOutcome::Open;
        check(&open, 0.001, &[]);
    }

    #[test]
    fn beside_commits_that_were_left_out_a_single_step_is_not_the_whole() {
        let mut history = history(&[EQUAL, ONE]);
        history.left_out = 3;
        check(&history, 0.5, &[("0", "2", "t")]);
    }

    #[test]
    fn there_are_at_most_as_many_comparisons_as_commits() {
        for tagged in 0..5 {
            let mut history = history(&[BOTH; 5]);
            history.entries[tagged].commit.tags.push("v1".to_owned());
            assert!(wanted(&history, 1e-6).len() <= 5, "{tagged}");
            history.left_out = 1;
            assert!(wanted(&history, 1e-6).len() <= 6, "{tagged}");
        }
    }
}
