//! Time in addition to the budgets of tests, for tests that are too slow for theirs or left in doubt by them.

use super::bench::Config;
use super::measurement::Measurement;
use std::time::Duration;

/// The number of its budgets that a test may use, if there is extra time.
const MOST_BUDGETS: u32 = 3;
/// The extra time of a run, in budgets.
const EXTRA_BUDGETS: u32 = 6;

/// The extra time that is left.
#[derive(Debug)]
pub struct ExtraTime {
    left: Duration,
    /// True while slow tests wait that may need the time.
    is_reserved: bool,
}

impl ExtraTime {
    /// Returns the extra time of a run: none if the run's time is limited.
    pub fn of_run(config: &Config) -> Self {
        let left = if config.deadline.is_some() { Duration::ZERO } else { config.per_test_budget * EXTRA_BUDGETS };
        Self { left, is_reserved: false }
    }

    /// Keeps the time for slow tests, or no longer.
    pub fn reserve(&mut self, is_reserved: bool) {
        self.is_reserved = is_reserved;
    }

    /// Returns the time that a slow test with these settings may get.
    pub fn for_slow_test(&self, config: &Config) -> Duration {
        self.left.min(config.per_test_budget * (MOST_BUDGETS - 1))
    }

    /// Returns the time that a test in doubt with these settings may get.
    pub fn for_doubt(&self, config: &Config) -> Duration {
        if self.is_reserved { Duration::ZERO } else { self.for_slow_test(config) }
    }

    /// Returns whether the time may settle a series with these settings that its budget left in doubt.
    pub fn may_settle(&self, series: &Measurement, config: &Config) -> bool {
        let time = self.for_doubt(config);
        !time.is_zero() && series.is_worth(time)
    }

    /// Takes time for a series with these settings, which goes on with it.
    pub fn lend(&mut self, series: Measurement, config: &Config) -> Measurement {
        let time = self.for_doubt(config);
        self.take(time);
        series.extend(time)
    }

    pub fn take(&mut self, time: Duration) {
        self.left = self.left.saturating_sub(time);
    }

    pub fn give_back(&mut self, time: Duration) {
        self.left += time;
    }
}
