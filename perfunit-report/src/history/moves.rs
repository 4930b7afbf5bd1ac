//! The commits that moved a test: by which it got slower or faster.

use perfunit_model::{Commit, History, StepOutcome, StepTest, TestId};
use std::collections::HashMap;

/// Those of all tests of a history.
pub struct Moves<'a> {
    history: &'a History,
    /// Indices of entries, the oldest first.
    by_test: HashMap<&'a TestId, Vec<(usize, &'a StepTest)>>,
}

/// A commit that moved a test.
#[derive(Clone, Copy)]
pub struct Move<'a> {
    pub commit: &'a Commit,
    pub found: &'a StepTest,
}

impl Move<'_> {
    pub fn estimate(self) -> f64 {
        self.found.figures.map_or(0.0, |figures| figures.change.estimate)
    }

    /// To tell which of two changes is larger.
    pub fn size(self) -> f64 {
        self.estimate().max(-0.999_999).ln_1p().abs()
    }
}

impl<'a> Moves<'a> {
    pub fn of(history: &'a History) -> Self {
        let mut by_test: HashMap<&TestId, Vec<(usize, &StepTest)>> = HashMap::new();
        for (index, entry) in history.entries.iter().enumerate() {
            if let StepOutcome::Compared(step) = &entry.outcome {
                step.moved().for_each(|found| by_test.entry(&found.test).or_default().push((index, found)));
            }
        }
        Self { history, by_test }
    }

    /// Of one test, the oldest first.
    pub fn test(&self, test: &TestId) -> Vec<Move<'a>> {
        let entries = &self.history.entries;
        let found = self.by_test.get(test).into_iter().flatten();
        found.map(|(index, found)| Move { commit: &entries[*index].commit, found }).collect()
    }

    /// The largest `most` of one test, the oldest first, and how many others there are.
    pub fn largest(&self, test: &TestId, most: usize) -> (Vec<Move<'a>>, usize) {
        let all = self.test(test);
        let mut by_size: Vec<usize> = (0..all.len()).collect();
        by_size.sort_by(|one, two| all[*two].size().total_cmp(&all[*one].size()));
        by_size.truncate(most);
        by_size.sort_unstable();
        let left_out = all.len() - by_size.len();
        (by_size.into_iter().map(|index| all[index]).collect(), left_out)
    }
}
