//! Compares one test on two commits, as a search requests.

use super::commit_comparer::{CommitComparer, CommitComparison};
use super::search::{Answer, Compare, LogChange};
use perfunit_model::error::Result;
use perfunit_model::{
    Change, Commit, Direction, Explain, Side, Skipped, Step, StepTest, TestId, is_end_of_path, variant_name,
};
use perfunit_project::git::Repository;
use perfunit_select::source::{Place, extents};
use perfunit_system::term::Terminal;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Compares one test on pairs of commits, and remembers commits that cannot be compared.
pub struct TestComparer<'a> {
    pub commits: CommitComparer,
    pub test: TestId,
    /// Direction in which changes are positive.
    pub direction: Direction,
    pub line: &'a [Commit],
    pub repository: &'a Repository,
    /// Whether to explain the result.
    pub explain: Explain,
    pub skipped: Vec<(usize, Skipped)>,
    pub terminal: Terminal,
    /// Traces of the test in commits, by index, as far as known.
    pub traces: BTreeMap<usize, Trace>,
}

/// Trace of a test in the source of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trace {
    Nothing,
    /// A file mentions its name, such as a macro call that generates the test.
    Name,
    /// A file has its function.
    Function,
}

impl TestComparer<'_> {
    /// Returns the step between two commits that were compared before.
    pub fn step(&mut self, base: usize, head: usize) -> Result<Option<Step>> {
        match self.commits.with_effort(1).compare(&self.line[base].id, &self.line[head].id)? {
            CommitComparison::Step(step) => Ok(Some(step)),
            _ => Ok(None),
        }
    }

    /// Returns which of two compared commits lacks the test according to its source, although an end has the test: it was
    /// added, removed or renamed. Excludes the ends, whose comparison selected the test.
    fn without_test(&mut self, base: usize, head: usize) -> Result<Option<usize>> {
        let last = self.line.len() - 1;
        let at_ends = self.trace(0)?.max(self.trace(last)?);
        for inner in [head, base] {
            if inner != 0 && inner != last && self.trace(inner)? < at_ends {
                return Ok(Some(inner));
            }
        }
        Ok(None)
    }

    fn trace(&mut self, index: usize) -> Result<Trace> {
        Ok(match self.traces.entry(index) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(vacant) => {
                let function = self.test.name.rsplit("::").next().unwrap_or_default();
                let files = self.repository.files_with(&self.line[index].id, function)?;
                *vacant.insert(trace(&files, &self.test))
            }
        })
    }

    fn answer(&mut self, step: &Step, base: usize, head: usize) -> Result<Answer> {
        let found = step.of(&self.test);
        if found.is_none() && !step.says_of(&self.test) {
            return Ok(self.cannot(head, Skipped::Unlisted));
        }
        // A test with figures and equal test code is in both commits.
        let is_in_both = found.is_some_and(|found| found.figures.is_some() && found.test_code.is_none());
        if !is_in_both && let Some(without) = self.without_test(base, head)? {
            return Ok(self.cannot(without, Skipped::NoTest));
        }
        Ok(match found {
            // Both have the test, so it is in the step unless its code is equal.
            None => Answer::Change(LogChange::NONE),
            Some(StepTest { figures: Some(figures), .. }) => Answer::Change(log_change(figures.change, self.direction)),
            Some(StepTest { figures: None, reason, .. }) => {
                let error = reason.map(variant_name).unwrap_or_default();
                self.cannot(head, Skipped::Failed { error })
            }
        })
    }

    fn cannot(&mut self, index: usize, why: Skipped) -> Answer {
        let commit = &self.line[index];
        self.terminal.status("Skipping", &format!("{} {}", commit.short(), commit.subject));
        if self.skipped.iter().all(|(known, _)| *known != index) {
            self.skipped.push((index, why));
        }
        Answer::Cannot(index)
    }
}

impl Compare for TestComparer<'_> {
    fn compare(&mut self, base: usize, head: usize, effort: u32) -> Result<Answer> {
        let compared = self.commits.with_effort(effort).compare(&self.line[base].id, &self.line[head].id)?;
        Ok(match compared {
            CommitComparison::Step(step) => self.answer(&step, base, head)?,
            CommitComparison::Broken(side, why) => self.cannot(if side == Side::Base { base } else { head }, why),
            CommitComparison::Failed(error) => self.cannot(head, Skipped::Failed { error: error.message().to_owned() }),
            CommitComparison::Interrupted => Answer::Stop,
        })
    }
}

/// Returns the trace of a test in the files that have its name.
fn trace(files: &[String], test: &TestId) -> Trace {
    // Package and path only matter for the keys of functions.
    let place = Place { package: &test.target.package, path: "" };
    let is_test = |text: &String| {
        extents(text, &place).iter().any(|extent| extent.is_test && is_end_of_path(&extent.name, &test.name))
    };
    match files {
        [] => Trace::Nothing,
        files if files.iter().any(is_test) => Trace::Function,
        _ => Trace::Name,
    }
}

/// Converts a change to a logarithm that is positive in this direction.
fn log_change(change: Change, direction: Direction) -> LogChange {
    let log = |change: f64| change.max(-0.999_999).ln_1p() * direction.sign();
    let (one, other) = (log(change.low), log(change.high));
    LogChange { estimate: log(change.estimate), low: one.min(other), high: one.max(other) }
}

/// Converts a logarithm back to a change.
pub fn change(log: LogChange, direction: Direction) -> Change {
    let fraction = |log: f64| (log * direction.sign()).exp_m1();
    let (one, other) = (fraction(log.low), fraction(log.high));
    Change { estimate: fraction(log.estimate), low: one.min(other), high: one.max(other) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::samples;
    use perfunit_model::Verdict;

    #[test]
    fn a_test_is_found_by_its_function_and_otherwise_by_its_name() {
        let test = samples::test("parser::tests::long", Verdict::Same, 0.0).test;
        let of = |text: &str| trace(&[text.to_owned()], &test);
        assert_eq!(of("mod tests { #[test] fn long() {} }"), Trace::Function);
        assert_eq!(of("#[test] fn long() {}"), Trace::Function, "in a file of its own");
        assert_eq!(of("mod others { #[test] fn long() {} }"), Trace::Name);
        assert_eq!(of("fn long() {} mod tests { #[test] fn longer() { long() } }"), Trace::Name);
        assert_eq!(of("mod tests { generate!(long); }"), Trace::Name);
        assert_eq!(trace(&[], &test), Trace::Nothing);
        assert!(Trace::Nothing < Trace::Name && Trace::Name < Trace::Function);
    }

    #[test]
    fn a_change_becomes_a_logarithm_and_back_in_both_directions() {
        let faster = Change { estimate: -0.2, low: -0.25, high: -0.1 };
        let log = log_change(faster, Direction::Faster);
        assert!(0.0 < log.low && log.low < log.estimate && log.estimate < log.high, "{log:?}");
        let back = change(log, Direction::Faster);
        assert!((back.estimate + 0.2).abs() < 1e-9 && (back.low + 0.25).abs() < 1e-9, "{back:?}");
        assert!(log_change(faster, Direction::Slower).high < 0.0);
    }
}
