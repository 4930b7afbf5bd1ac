//! The change that a test's figures leave possible.

use super::{Change, Threshold};
use serde::{Deserialize, Serialize};

/// The largest possible slowdown and speed-up according to a test's interval, as fractions of base, including effects
/// of code placement. It exists only for tests with a valid interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PossibleChange {
    /// The largest slowdown: `0.1` is 10 % slower; 0 if the test cannot have got slower.
    pub slower: f64,
    /// The largest speed-up: `0.1` takes 90 % of the time; 0 if the test cannot have got faster.
    pub faster: f64,
}

impl PossibleChange {
    /// Returns the possible change for this interval if placement can hide or cause a change of `placement`; `None` if
    /// the interval is unbounded.
    pub fn of(change: &Change, placement: f64) -> Option<Self> {
        // (1 + high) (1 + placement) - 1, and 1 - (1 + low) / (1 + placement).
        let slower = (change.high + placement * (1.0 + change.high)).max(0.0);
        let faster = ((placement - change.low) / (1.0 + placement)).max(0.0);
        let is_known = (change.low + change.high + placement).is_finite();
        is_known.then_some(Self { slower, faster })
    }

    /// Returns whether the test has certainly changed: it cannot have got slower, or cannot have got faster.
    pub fn has_certainly_changed(self) -> bool {
        self.slower.min(self.faster) <= 0.0
    }

    /// Returns the smallest bound up to `limit` that exceeds the change in both directions.
    pub fn within(self, limit: Threshold) -> Option<Threshold> {
        limit.bounds().find(|bound| self.slower.max(self.faster) < bound.fraction())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn possible(low: f64, high: f64, placement: f64) -> Option<PossibleChange> {
        PossibleChange::of(&Change { estimate: low.midpoint(high), low, high }, placement)
    }

    #[test]
    fn an_interval_on_one_side_of_zero_is_a_certain_change() {
        let certain = |low, high, placement| possible(low, high, placement).unwrap().has_certainly_changed();
        assert_eq!(
            [certain(0.03, 0.07, 0.0), certain(-0.07, -0.03, 0.0), certain(-0.01, 0.07, 0.0)],
            [true, true, false]
        );
        // Placement can fake a change of 5 %.
        assert_eq!([certain(0.03, 0.07, 0.05), certain(0.06, 0.09, 0.05)], [false, true]);
    }

    #[test]
    fn the_smallest_bound_that_holds_the_whole_interval_counts() {
        let limit = |percent: &str| percent.parse::<Threshold>().unwrap();
        let within = |low, high, most: &str| {
            possible(low, high, 0.0).unwrap().within(limit(most)).map(|bound| bound.to_string())
        };
        assert_eq!(within(-0.009, 0.004, "10%").as_deref(), Some("1%"));
        assert_eq!(within(-0.012, 0.004, "10%").as_deref(), Some("2%"));
        assert_eq!(within(-0.004, 0.049, "10%").as_deref(), Some("5%"));
        assert_eq!(within(-0.004, 0.05, "10%").as_deref(), Some("10%"));
        assert_eq!(within(-0.3, 0.0, "10%"), None);
        assert_eq!(within(-0.004, 0.1, "10%"), None);
        assert_eq!(within(-0.004, 0.12, "20%").as_deref(), Some("20%"));
        assert_eq!(within(-0.004, 0.025, "3%").as_deref(), Some("3%"));
        assert_eq!(within(-0.004, 0.035, "3%"), None);
    }

    #[test]
    fn placement_can_hide_and_fake() {
        let PossibleChange { slower, faster } = possible(-0.01, 0.02, 0.15).unwrap();
        assert!((slower - 0.173).abs() < 1e-9 && (faster - (1.0 - 0.99 / 1.15)).abs() < 1e-9, "{slower} {faster}");
        let PossibleChange { slower, faster } = possible(0.03, 0.05, 0.0).unwrap();
        assert!(faster == 0.0 && (slower - 0.05).abs() < 1e-9);
    }

    #[test]
    fn an_interval_without_an_end_has_no_bound() {
        assert_eq!(possible(0.5, f64::INFINITY, 0.0), None);
        assert_eq!(possible(f64::NAN, 0.1, 0.0), None);
    }
}
