//! The second comparison of a run, with an older version or of generated calls. It works like the first, and both share
//! one family-wise error rate and the time.

use super::options::Options;
use perfunit_model::error::Error;
use perfunit_model::{Generated, NotCompared};
use perfunit_system::interrupt;
use std::time::Duration;

/// Number of comparisons that share the error rate.
const COMPARISONS: u32 = 2;

/// Returns the options of the first comparison.
pub fn first(options: &Options) -> Options {
    let mut options = options.clone();
    options.measuring.family *= COMPARISONS as usize;
    options.measuring.budget = options.measuring.budget.map(|whole| whole / COMPARISONS);
    options
}

/// Returns the options of the second comparison in the remaining time.
pub fn second(options: &Options, elapsed: Duration) -> Options {
    let mut second = first(options);
    second.measuring.budget = options.measuring.budget.map(|whole| whole.saturating_sub(elapsed));
    second.ratchet = None;
    second.generated = Generated::Never;
    second.growth = false;
    second
}

/// Returns an error if no second comparison may start after an interruption or the end of the budget.
pub fn check_time_left() -> Result<(), NotCompared> {
    match (interrupt::is_requested(), interrupt::by_clock()) {
        (false, _) => Ok(()),
        (true, true) => Err(NotCompared::BudgetUsedUp),
        (true, false) => Err(NotCompared::Interrupted),
    }
}

/// Returns the reason for a failed second comparison.
pub fn not_compared(error: &Error) -> NotCompared {
    // Errors after a stop follow from it.
    if let Err(stopped) = check_time_left() {
        return stopped;
    }
    match error.as_broken() {
        Some(broken) => NotCompared::DoesNotBuild { side: broken.side, error: broken.first_error().to_owned() },
        None => NotCompared::Failed { why: error.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::Side;
    use perfunit_project::config::{RatchetRequest, Source};

    #[test]
    fn both_comparisons_share_the_error_rate_and_the_time() {
        let ratchet = Some(RatchetRequest { revision: "v1".to_owned(), from: Source::CommandLine, accepted: None });
        let mut asked = Options { ratchet, generated: Generated::Uncovered, ..Options::default() };
        let minutes = |minutes| Some(Duration::from_mins(minutes));
        asked.measuring.budget = minutes(10);
        let (one, two) = (first(&asked), second(&asked, Duration::from_mins(2)));
        assert_eq!((one.measuring.family, two.measuring.family), (2, 2));
        assert_eq!((one.measuring.budget, two.measuring.budget), (minutes(5), minutes(8)));
        assert!(two.ratchet.is_none() && two.generated == Generated::Never);
        assert_eq!(second(&asked, Duration::from_mins(20)).measuring.budget, Some(Duration::ZERO));
    }

    #[test]
    fn what_does_not_build_is_told_from_what_fails() {
        let error = Error::setup("no way").hint("another one");
        assert_eq!(not_compared(&error), NotCompared::Failed { why: "no way\nhint: another one".to_owned() });
        let broken = error.with_broken(Side::Base, "error: no\nmore");
        let expected = NotCompared::DoesNotBuild { side: Side::Base, error: "error: no".to_owned() };
        assert_eq!(not_compared(&broken), expected);
    }
}
