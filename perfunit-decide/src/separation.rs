//! Single calls of both versions in random order: how sure a verdict is when every call of one version took longer than
//! every call of the other.
//!
//! A randomisation test (Fisher). Which version runs at which place of the sequence is drawn, each arrangement being as
//! likely as any other. If both versions do the same, what happens at each place does not depend on whose place it is: not
//! on a busy machine, not with a test that hangs at random, not where a call finds what the one before left behind. The
//! probability that the longest calls all fall to one version is then one in the number of arrangements, for either
//! version, without any assumption about how times are distributed.

/// Every call of the slower version must take so many times as long as the longest call of the other one. The order of the
/// calls answers for chance; this answers for what all calls of a version have in common besides its code's work: the
/// place of the code was seen to make up to a factor of 1.4 (docs/method.md).
pub const SEPARATION: f64 = 2.0;

/// Calls of the slower version: one alone could be an accident of its process.
const FEWEST_SLOW: usize = 2;
/// Calls of the quicker version.
const FEWEST_QUICK: usize = 5;
/// More calls are never planned.
const MOST: Calls = Calls { slow: 64, quick: 20_000 };

/// How many calls of each version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Calls {
    /// Of the slower one.
    pub slow: usize,
    /// Of the quicker one.
    pub quick: usize,
}

impl Calls {
    /// The probability, at most, that all calls of one version take longer than all of the other by chance alone.
    pub fn chance(self) -> f64 {
        let arrangements = (1..=self.slow).fold(1.0, |product, at| product * (self.quick + at) as f64 / at as f64);
        (2.0 / arrangements).min(1.0)
    }

    /// The calls that take least in all, for a verdict at this level, where a call takes so many seconds.
    pub fn cheapest(level: f64, slow_seconds: f64, quick_seconds: f64) -> Option<Self> {
        let mut best: Option<(f64, Self)> = None;
        for slow in FEWEST_SLOW..=MOST.slow {
            // More calls of the slower version never cost less than these.
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

    /// What all of them take.
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

    /// The worst that a test can do which is long at random, on both sides alike.
    #[test]
    fn chance_is_what_random_orders_of_equal_versions_show() {
        let mut random = fastrand::Rng::with_seed(7);
        let calls = Calls { slow: 2, quick: 5 };
        let rounds = 40_000;
        let separated = (0..rounds).filter(|_| {
            // All places differ by far, as badly as can be.
            let mut places: Vec<usize> = (0..calls.slow + calls.quick).collect();
            random.shuffle(&mut places);
            let (slow, quick) = places.split_at(calls.slow);
            slow.iter().min() > quick.iter().max() || slow.iter().max() < quick.iter().min()
        });
        let rate = separated.count() as f64 / f64::from(rounds);
        assert!((rate - calls.chance()).abs() < 0.1 * calls.chance(), "{rate} and {}", calls.chance());
    }
}
