//! Details of a step that a search found: measures it again on its own, and explains it.

use super::commit_comparer;
use super::search::Stretch;
use super::test_comparer::TestComparer;
use perfunit_model::error::Result;
use perfunit_model::{Change, Explain, Explanation, FoundStep, FoundTest, Outcome, Run, SourceChange, TestId};
use perfunit_project::git::{DiffLine, Repository};
use perfunit_select::source::{Place, extents};
use std::ops::RangeInclusive;

/// Maximum number of lines of a function's diff.
const LINES: usize = 40;

/// Returns the effect of a step on these tests, the searched test first; `None` if new pairs contradict the search.
pub fn describe(step: Stretch, tests: &[TestId], comparer: &mut TestComparer<'_>) -> Result<Option<FoundStep>> {
    let (base, head) = (comparer.line[step.before].clone(), &comparer.line[step.after].id);
    let commits = comparer.line[step.before + 1..=step.after].to_vec();
    let names: Vec<String> = tests.iter().map(|test| test.name.clone()).collect();
    let mut run = None;
    if comparer.explain != Explain::Never {
        comparer.terminal.status("Explaining", comparer.line[step.after].short());
        run = comparer.commits.anew(&base.id, head, &names, comparer.explain)?;
    }
    let outcome = |test: &TestId| run.iter().flat_map(|run| &run.outcomes).find(|outcome| outcome.test == *test);
    let Some(searched) = outcome(&tests[0]).filter(|outcome| outcome.measured.is_some()) else {
        let known = comparer.step(step.before, step.after)?;
        let known = known.and_then(|known| known.tests.into_iter().find(|found| found.test == tests[0]));
        let tests = known.map(|found| FoundTest { found, explanation: None, unexplained: None }).into_iter().collect();
        return Ok(Some(FoundStep { commits, base, tests, source: None }));
    };
    let is_slower = step.change.estimate * comparer.direction.sign() > 0.0;
    if searched.measured.as_ref().is_some_and(|measured| excludes(measured.change, is_slower)) {
        return Ok(None);
    }
    let head = head.clone();
    let source = match &searched.explanation {
        Some(explanation) => source(explanation, &base.id, &head, comparer.repository)?,
        None => None,
    };
    let tests =
        run.iter().flat_map(|run| tests.iter().filter_map(outcome).map(|outcome| found(run, outcome))).collect();
    Ok(Some(FoundStep { commits, base, tests, source }))
}

/// Returns true if the whole interval lies on the other side of zero.
fn excludes(change: Change, is_slower: bool) -> bool {
    if is_slower { change.high <= 0.0 } else { change.low >= 0.0 }
}

fn found(run: &Run, outcome: &Outcome) -> FoundTest {
    FoundTest {
        found: commit_comparer::test(run, outcome),
        explanation: outcome.explanation.clone(),
        unexplained: outcome.unexplained.clone(),
    }
}

/// Returns the diff of the first responsible function.
fn source(explanation: &Explanation, base: &str, head: &str, repository: &Repository) -> Result<Option<SourceChange>> {
    let Some(first) = explanation.responsible.first() else { return Ok(None) };
    let function = &explanation.functions[first.function];
    let Some(text) = repository.text_at(head, &function.file)? else { return Ok(None) };
    let place = Place { package: &function.package, path: &function.file };
    let Some(extent) = extents(&text, &place).into_iter().find(|extent| extent.line == function.line) else {
        return Ok(None);
    };
    let old = repository.text_at(base, &function.file)?.unwrap_or_default();
    let before = extents(&old, &place).into_iter().find(|old| old.key == extent.key);
    let lines = repository.file_diff(base, head, &function.file)?;
    let diff = within(lines, before.map(|before| before.first..=before.last).as_ref(), &(extent.first..=extent.last));
    let left_out = diff.len().saturating_sub(LINES);
    let is_changed = diff.iter().any(|line| !line.starts_with(' '));
    let diff = diff.into_iter().take(LINES).collect();
    Ok(is_changed.then(|| SourceChange { file: function.file.clone(), line: function.line, diff, left_out }))
}

/// Returns the lines of a diff that belong to a function with these lines in base and head. The lines removed from a
/// function that base does not have under this name are found by its place.
fn within(lines: Vec<DiffLine>, base: Option<&RangeInclusive<usize>>, head: &RangeInclusive<usize>) -> Vec<String> {
    let belongs = |line: &DiffLine| match (line.removed, base) {
        (Some(removed), Some(base)) => base.contains(&removed),
        _ => head.contains(&line.line),
    };
    lines.into_iter().filter(belongs).map(|line| line.text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_pairs_contradict_if_their_whole_interval_does() {
        let change = |low: f64, high: f64| Change { estimate: f64::midpoint(low, high), low, high };
        assert!(excludes(change(-0.02, -0.01), true) && excludes(change(0.01, 0.02), false));
        assert!(!excludes(change(-0.01, 0.02), true) && !excludes(change(0.01, 0.02), true));
        assert!(excludes(change(0.0, 0.0), true), "equal code is no change");
    }

    #[test]
    fn a_difference_is_that_of_the_function() {
        let line = |line: usize, text: &str| DiffLine { text: text.to_owned(), line, removed: None };
        let removed =
            |removed: usize, line: usize, text: &str| DiffLine { text: text.to_owned(), line, removed: Some(removed) };
        // Git writes the removed lines of neighbours first, all at the place of the first added one.
        let lines = || {
            vec![
                removed(3, 3, "-a"),
                line(3, " b"),
                removed(5, 4, "-c"),
                removed(6, 4, "-d"),
                line(4, "+e"),
                line(5, "+f"),
            ]
        };
        assert_eq!(within(lines(), Some(&(4..=5)), &(3..=4)), [" b", "-c", "+e"]);
        assert_eq!(within(lines(), Some(&(6..=6)), &(5..=5)), ["-d", "+f"]);
        assert_eq!(within(lines(), None, &(4..=4)), ["-c", "-d", "+e"], "the function is new");
    }
}
