//! Time in addition to the budgets of tests, for tests that are too slow for theirs or left in doubt by them.

use super::bench::Config;
use std::time::Duration;

/// The number of its budgets that a test may use, if there is extra time.
const MOST_BUDGETS: u32 = 3;
/// The extra time of a run, in budgets.
const EXTRA_BUDGETS: u32 = 6;

/// The extra time that is left.
#[derive(Debug)]
pub struct ExtraTime(Duration);

impl ExtraTime {
    /// Returns the extra time of a run: none if the run's time is limited.
    pub fn of_run(config: &Config) -> Self {
        Self(if config.deadline.is_some() { Duration::ZERO } else { config.per_test_budget * EXTRA_BUDGETS })
    }

    /// Returns no extra time.
    pub fn none() -> Self {
        Self(Duration::ZERO)
    }

    /// Returns the extra time that a test with these settings may get.
    pub fn of_test(&self, config: &Config) -> Duration {
        self.0.min(config.per_test_budget * (MOST_BUDGETS - 1))
    }

    pub fn take(&mut self, time: Duration) {
        self.0 = self.0.saturating_sub(time);
    }

    pub fn give_back(&mut self, time: Duration) {
        self.0 += time;
    }
}
