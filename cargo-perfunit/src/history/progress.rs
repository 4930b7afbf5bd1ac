//! How far a log is, and how long the rest will take.

use perfunit_model::{Commit, Entry, Joined, Skipped};
use std::path::Path;
use std::time::Duration;

/// How far a log is, and what happens in it.
pub enum Progress<'a> {
    /// A file was joined.
    Joined { file: &'a Path, joined: Joined },
    /// A commit is known.
    Commit {
        entry: &'a Entry,
        done: usize,
        of: usize,
        /// How long the others will take, if they take as long as those that were not known before.
        left: Option<Duration>,
    },
    /// So many tests are to be compared directly over several commits.
    Anchoring { base: &'a Commit, head: &'a Commit, tests: usize },
    /// That is not possible.
    NotAnchored { base: &'a Commit, head: &'a Commit, why: Skipped },
}

/// How long commits take that were not known before.
#[derive(Default)]
pub struct Pace {
    times: Vec<Duration>,
}

impl Pace {
    /// Out of the store an answer comes at once.
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
