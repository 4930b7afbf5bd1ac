//! Rates of right and wrong answers, each with its interval, and F1, which combines both.

use super::location::Interval;
use perfunit_model::Share;
use statrs::distribution::{Beta, ContinuousCDF};

/// Returns a rate with the interval of Clopper and Pearson (1934), which misses the true rate with a probability of at
/// most `alpha`, for any true rate; `None` for a share of nothing.
pub fn rate(share: Share, alpha: f64) -> Option<Interval> {
    let Share { count, of } = share;
    if of == 0 || count > of {
        return None;
    }
    let (k, n) = (count as f64, of as f64);
    let low = if count == 0 { 0.0 } else { beta(k, n - k + 1.0).inverse_cdf(alpha / 2.0) };
    let high = if count == of { 1.0 } else { beta(k + 1.0, n - k).inverse_cdf(1.0 - alpha / 2.0) };
    Some(Interval { estimate: k / n, low, high })
}

fn beta(a: f64, b: f64) -> Beta {
    Beta::new(a, b).expect("both parameters are counts above 0")
}

/// Returns 2 TP / (2 TP + FP + FN) for equally many changed and unchanged subjects, given the shares of them that were
/// called changed; `None` if one of the shares is of nothing.
///
/// The interval spans the worst and the best corner of the two rates, each rate at alpha / 2: it misses the true value
/// with a probability of at most `alpha`.
pub fn f1(found: Share, false_alarms: Share, alpha: f64) -> Option<Interval> {
    let (found, wrong) = (rate(found, alpha / 2.0)?, rate(false_alarms, alpha / 2.0)?);
    Some(Interval {
        estimate: f1_of_rates(found.estimate, wrong.estimate),
        low: f1_of_rates(found.low, wrong.high),
        high: f1_of_rates(found.high, wrong.low),
    })
}

/// Returns F1 with TP = found, FN = 1 - found and FP = wrong.
fn f1_of_rates(found: f64, wrong: f64) -> f64 {
    2.0 * found / (1.0 + found + wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(interval: Option<Interval>, estimate: f64, low: f64, high: f64) {
        let found = interval.unwrap();
        for (found, expected) in [(found.estimate, estimate), (found.low, low), (found.high, high)] {
            assert!((found - expected).abs() < 5e-5, "{found} is not {expected}");
        }
    }

    #[test]
    fn rates_are_those_of_clopper_and_pearson() {
        // For a count of 0, the upper end has a closed form: 1 - (alpha / 2)^(1 / n).
        check(rate(Share { count: 0, of: 100 }, 0.05), 0.0, 0.0, 0.0362);
        check(rate(Share { count: 100, of: 100 }, 0.05), 1.0, 0.9638, 1.0);
        // Results of R's binom.test(5, 100) and binom.test(1, 2).
        check(rate(Share { count: 5, of: 100 }, 0.05), 0.05, 0.016_43, 0.112_83);
        check(rate(Share { count: 1, of: 2 }, 0.05), 0.5, 0.012_58, 0.987_42);
        assert_eq!(rate(Share::default(), 0.05), None);
    }

    #[test]
    fn f1_of_equally_many_changed_and_unchanged() {
        // The counts are 9 found, 1 missed and 2 false alarms, of 10 each: 18 / (18 + 2 + 1).
        let found = f1(Share { count: 9, of: 10 }, Share { count: 2, of: 10 }, 0.05).unwrap();
        assert!((found.estimate - 18.0 / 21.0).abs() < 1e-12, "{found:?}");
        assert!(0.0 < found.low && found.low < found.estimate && found.estimate < found.high && found.high < 1.0);
    }

    #[test]
    fn f1_of_perfect_answers_is_one_and_of_silence_zero() {
        let (none, all) = (Share { count: 0, of: 50 }, Share { count: 50, of: 50 });
        let perfect = f1(all, none, 0.05).unwrap();
        assert!(perfect.estimate >= 1.0 && perfect.high >= 1.0 && perfect.low < 1.0, "{perfect:?}");
        assert!(f1(none, none, 0.05).unwrap().estimate.abs() < 1e-12);
        assert_eq!(f1(all, Share::default(), 0.05), None);
    }
}
