//! The clock of a test: what it has spent of its budget, and what is left to it and to the whole run.

use perfunit_decide as decide;
use std::time::{Duration, Instant};

/// The time of a test between two of its looks.
#[derive(Debug)]
pub struct Clock {
    started: Instant,
    spent_before: Duration,
    budget: Duration,
    /// When the whole run has to end.
    deadline: Option<Instant>,
    /// Time spent on linking since the start.
    linking: Duration,
}

/// What ends a test that has no more time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Its own budget.
    OfTest,
    /// The budget of the whole run.
    OfRun,
}

impl Clock {
    pub fn start(spent_before: Duration, budget: Duration, deadline: Option<Instant>) -> Self {
        Self { started: Instant::now(), spent_before, budget, deadline, linking: Duration::ZERO }
    }

    pub fn spent(&self) -> Duration {
        self.spent_before + self.started.elapsed().saturating_sub(self.linking)
    }

    /// What is left to the test, and to the whole run.
    fn left_of(&self) -> (Duration, Duration) {
        let of_run = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        (self.budget.saturating_sub(self.spent()), of_run.unwrap_or(Duration::MAX))
    }

    pub fn left(&self) -> Duration {
        let (of_test, of_run) = self.left_of();
        of_test.min(of_run)
    }

    /// The limit that is the closer one.
    pub fn limit(&self) -> Limit {
        let (of_test, of_run) = self.left_of();
        if of_run < of_test { Limit::OfRun } else { Limit::OfTest }
    }

    /// Time that is no test's: that of linking.
    pub fn leave_out(&mut self, linking: Duration) {
        self.linking += linking;
    }

    /// Pairs that fit the time in all, given what so many took: at least one more as long as there is time left.
    pub fn affordable(&self, pairs: usize) -> usize {
        decide::affordable(pairs, self.spent().as_secs_f64(), self.left().as_secs_f64())
    }
}
