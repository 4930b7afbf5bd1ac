//! Randomisation test for single calls: bounds the chance that every call of one version takes longer than every call
//! of the other.
//!
//! The test is Fisher's. The version that runs at each place of the sequence is drawn, and every arrangement is equally
//! likely. If both versions do the same work, the time at a place does not depend on the version that runs there. This
//! holds on a busy machine, for a test that hangs at random, and where a call depends on leftovers of the previous
//! call. The probability that all the longest calls belong to one given version is then one in the number of
//! arrangements. The test assumes nothing about the distribution of the times.

/// Least ratio of the shortest call of the slower version to the longest call of the other version. The random order
/// rules out chance. This ratio rules out causes other than the code's work that all calls of a version share: the
/// placement of code was seen to make a factor of up to 1.4 (docs/method.md).
pub const SEPARATION: f64 = 2.0;

/// Fewest calls of the slower version: a single one could be an accident of its process.
const FEWEST_SLOW: usize = 2;
/// Fewest calls of the quicker version.
const FEWEST_QUICK: usize = 5;
/// Upper limit of planned calls.
const MOST: Calls = Calls { slow: 64, quick: 20_000 };

/// Number of calls of each version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Calls {
    /// Calls of the slower version.
    pub slow: usize,
    /// Calls of the quicker version.
    pub quick: usize,
}

impl Calls {
    /// Returns an upper bound of the probability that chance alone makes all calls of one version longer than all of
    /// the other.
    pub fn chance(self) -> f64 {
        let arrangements = (1..=self.slow).fold(1.0, |product, at| product * (self.quick + at) as f64 / at as f64);
        (2.0 / arrangements).min(1.0)
    }

    /// Returns the calls with the smallest total time that can give a verdict at this level, given the seconds per
    /// call.
    pub fn cheapest(level: f64, slow_seconds: f64, quick_seconds: f64) -> Option<Self> {
        let mut best: Option<(f64, Self)> = None;
        for slow in FEWEST_SLOW..=MOST.slow {
            // More calls of the slower version cannot cost less than the best plan so far.
            if best.is_some_and(|(seconds, _)| slow as f64 * slow_seconds >= seconds) {
                break;
            }
            let calls =
                (FEWEST_QUICK..=MOST.quick).map(|quick| Self { slow, quick }).find(|calls| calls.chance() <= level);
            let Some(calls) = calls else { continue };
            let seconds = calls.seconds(slow_seconds, quick_seconds);
            if best.is_none_or(|(least, _)| seconds < least) {
                best = Some((seconds, calls));
            }
        }
        best.map(|(_, calls)| calls)
    }

    /// Returns the seconds that all calls take.
    pub fn seconds(self, slow_seconds: f64, quick_seconds: f64) -> f64 {
        self.slow as f64 * slow_seconds + self.quick as f64 * quick_seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(level: f64, slow_seconds: f64, quick_seconds: f64, slow: usize, quick: usize) {
        assert_eq!(Calls::cheapest(level, slow_seconds, quick_seconds), Some(Calls { slow, quick }));
    }

    #[test]
    fn few_calls_of_the_slow_side_are_paid_for_by_many_of_the_quick_one() {
        check(0.001, 4.0, 0.001, 2, 62);
        check(0.001, 6.0, 2.0, 5, 9);
        check(0.001, 1.0, 1.0, 5, 9);
        check(1e-5, 4.0, 0.01, 3, 105);
    }

    #[test]
    fn the_level_is_kept_and_not_by_far() {
        for level in [0.01, 0.001, 1e-5] {
            let calls = Calls::cheapest(level, 1.0, 0.3).unwrap();
            assert!(calls.chance() <= level && calls.chance() > level / 3.0, "{calls:?}");
        }
    }

    #[test]
    fn a_level_out_of_reach_has_no_plan() {
        assert_eq!(Calls::cheapest(0.0, 1.0, 1.0), None);
    }

    /// Tests the worst case: a test with random long calls, on both sides alike.
    #[test]
    fn chance_is_what_random_orders_of_equal_versions_show() {
        let mut random = fastrand::Rng::with_seed(7);
        let calls = Calls { slow: 2, quick: 5 };
        let rounds = 40_000;
        let separated = (0..rounds).filter(|_| {
            // All places differ by large amounts, which is the worst case.
            let mut places: Vec<usize> = (0..calls.slow + calls.quick).collect();
            random.shuffle(&mut places);
            let (slow, quick) = places.split_at(calls.slow);
            slow.iter().min() > quick.iter().max() || slow.iter().max() < quick.iter().min()
        });
        let rate = separated.count() as f64 / f64::from(rounds);
        assert!((rate - calls.chance()).abs() < 0.1 * calls.chance(), "{rate} and {}", calls.chance());
    }
}
