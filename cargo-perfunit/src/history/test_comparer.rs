//! Compares one test on two commits, as a search requests.

use super::commit_comparer::{CommitComparer, CommitComparison};
use super::search::{Answer, Compare, LogChange};
use perfunit_model::error::Result;
use perfunit_model::{Change, Commit, Direction, Explain, Side, Skipped, Step, StepTest, TestId, variant_name};
use perfunit_project::git::Repository;
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
    /// Whether commits have the test, by index, as far as that was looked up.
    pub having: BTreeMap<usize, bool>,
}

impl TestComparer<'_> {
    /// Returns the step between two commits that were compared before.
    pub fn step(&mut self, base: usize, head: usize) -> Result<Option<Step>> {
        match self.commits.with_effort(1).compare(&self.line[base].id, &self.line[head].id)? {
            CommitComparison::Step(step) => Ok(Some(step)),
            _ => Ok(None),
        }
    }

    /// Returns whether a commit lacks the test's function, although the last commit has it: the test was added or renamed.
    fn lacks_test(&mut self, index: usize) -> Result<bool> {
        let function = self.test.name.rsplit("::").next().unwrap_or_default();
        let last = self.line.len() - 1;
        for at in [index, last] {
            if let Entry::Vacant(vacant) = self.having.entry(at) {
                vacant.insert(self.repository.has_identifier(&self.line[at].id, function)?);
            }
        }
        Ok(self.having[&last] && !self.having[&index])
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
            CommitComparison::Step(step) => match step.of(&self.test) {
                None if !step.says_of(&self.test) => self.cannot(head, Skipped::Unlisted),
                None if self.lacks_test(head)? => self.cannot(head, Skipped::NoTest),
                // Both have the test, so it is in the step unless its code is equal.
                None => Answer::Change(LogChange::NONE),
                Some(StepTest { figures: Some(figures), .. }) => {
                    Answer::Change(log_change(figures.change, self.direction))
                }
                Some(StepTest { figures: None, reason, .. }) => {
                    let error = reason.map(variant_name).unwrap_or_default();
                    self.cannot(head, Skipped::Failed { error })
                }
            },
            CommitComparison::Broken(side, why) => self.cannot(if side == Side::Base { base } else { head }, why),
            CommitComparison::Failed(error) => self.cannot(head, Skipped::Failed { error: error.message().to_owned() }),
            CommitComparison::Interrupted => Answer::Stop,
        })
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
