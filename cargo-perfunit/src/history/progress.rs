//! Progress of a log, and an estimate of the remaining time.

use perfunit_model::{Commit, Entry, Joined, Skipped};
use std::path::Path;
use std::time::Duration;

/// A step in the progress of a log.
pub enum Progress<'a> {
    /// A file was imported.
    Joined { file: &'a Path, joined: Joined },
    /// The outcome of a commit is known.
    Commit {
        entry: &'a Entry,
        /// Number of commits left to compare; 0 once the log is stopped.
        left: usize,
        of: usize,
        /// Estimated time for them, based on the commits measured so far.
        time: Option<Duration>,
    },
    /// This many tests will be compared directly over several commits.
    Anchoring { base: &'a Commit, head: &'a Commit, tests: usize },
    /// A direct comparison is not possible.
    NotAnchored { base: &'a Commit, head: &'a Commit, why: Skipped },
}

/// Measures the time of commits that were not stored.
#[derive(Default)]
pub struct Pace {
    times: Vec<Duration>,
}

impl Pace {
    /// Lookups in the store take less than this.
    const KNOWN: Duration = Duration::from_millis(100);

    pub fn note(&mut self, time: Duration) {
        if time > Self::KNOWN {
            self.times.push(time);
        }
    }

    pub fn left(&self, commits: usize) -> Option<Duration> {
        let mean = self.times.iter().sum::<Duration>().checked_div(u32::try_from(self.times.len()).ok()?)?;
        (commits > 0).then(|| mean * u32::try_from(commits).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_takes_as_long_as_what_was_not_known() {
        let mut pace = Pace::default();
        pace.note(Duration::from_millis(1));
        assert_eq!(pace.left(3), None);
        pace.note(Duration::from_secs(2));
        pace.note(Duration::from_secs(4));
        assert_eq!(pace.left(5), Some(Duration::from_secs(15)));
        assert_eq!(pace.left(0), None);
    }
}
