//! The median with an interval that presumes nothing about the noise: for values of two groups, which a trimmed mean with its
//! standard error takes for one wide one.
//!
//! Between which order statistics the median lies follows from the binomial distribution alone: H. A. David and
//! H. N. Nagaraja, *Order Statistics*, section 7.1. It is the interval of all medians that a sign test does not reject.

use super::estimate::Interval;
use super::quantile::{deviation, median};
use super::robust::sorted;
use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal};

/// The standard error of the median of normal noise, in those of its mean.
const ERROR_OF_MEDIAN: f64 = 1.2533;

/// The two-sided interval that misses the median with a probability of at most `alpha`, in the units of the values; `None`
/// if there are too few for it.
pub fn median_interval(values: &[f64], alpha: f64) -> Option<Interval> {
    let count = values.len();
    let below = binomial(count)?;
    let outside = (0..count as u64 / 2).take_while(|rank| 2.0 * below.cdf(*rank) <= alpha).count();
    let (mut values, last) = (sorted(values), count - 1);
    let (low, high) = (*values.get(outside.checked_sub(1)?)?, values[last + 1 - outside]);
    Some(Interval { estimate: median(&mut values), low, high })
}

/// Returns the two-sided p value of "the median is 0" by a sign test: at most `alpha` exactly when [`median_interval`] at that
/// level excludes 0. Values of 0 count for neither sign; 1 without values.
pub fn sign_p_value(values: &[f64]) -> f64 {
    let not_above = values.iter().filter(|value| **value <= 0.0).count();
    let not_below = values.iter().filter(|value| **value >= 0.0).count();
    binomial(values.len()).map_or(1.0, |signs| (2.0 * signs.cdf(not_above.min(not_below) as u64)).min(1.0))
}

/// Half of the interval at level `alpha` that so many values like these would have, as a forecast from their quartiles.
pub fn forecast_half(values: &[f64], count: usize, alpha: f64) -> f64 {
    let deviation = deviation(&mut values.to_vec());
    -Normal::standard().inverse_cdf(alpha / 2.0) * ERROR_OF_MEDIAN * deviation / (count as f64).sqrt()
}

/// How many of so many values lie below their median.
fn binomial(count: usize) -> Option<Binomial> {
    if count == 0 { None } else { Binomial::new(0.5, count as u64).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(count: usize) -> Vec<f64> {
        (1..=count).map(|value| value as f64).collect()
    }

    #[test]
    fn ranks_are_those_of_the_binomial_distribution() {
        let check = |count, alpha, expected: Option<(f64, f64)>| {
            let interval = median_interval(&to(count), alpha).map(|interval| (interval.low, interval.high));
            assert_eq!(interval, expected, "{count} values at {alpha}");
        };
        // 2 * P(X <= 0) of 8 is 2 / 256, P(X <= 1) of 10 is 11 / 1024.
        check(8, 0.0079, Some((1.0, 8.0)));
        check(8, 0.0078, None);
        check(10, 0.03, Some((2.0, 9.0)));
        // R: binom.test(9, 32)$p.value is 0.0201, of 8 it is 0.0070.
        check(32, 0.0100, Some((9.0, 24.0)));
        check(0, 0.5, None);
    }

    #[test]
    fn two_groups_do_not_hide_what_most_values_say() {
        let mut values: Vec<f64> = (0..48).map(|number| 0.10 + 0.001 * f64::from(number % 5)).collect();
        values.extend([-0.4; 16]);
        let interval = median_interval(&values, 0.0005).unwrap();
        assert!(interval.low > 0.09 && interval.high < 0.11, "{interval:?}");
        assert!(sign_p_value(&values) < 1e-4);
    }

    #[test]
    fn signs_that_balance_say_nothing() {
        assert!((sign_p_value(&[1.0, -1.0, 2.0, -2.0]) - 1.0).abs() < 1e-12);
        assert!((sign_p_value(&to(8)) - 2.0 / 256.0).abs() < 1e-12);
        // Half of them say nothing: 2 P(X <= 4) of 8 is more than 1.
        assert!((sign_p_value(&[1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]) - 1.0).abs() < 1e-12);
        assert!((sign_p_value(&[]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_forecast_of_normal_noise_is_wider_than_that_of_its_mean_by_a_quarter() {
        // Quantiles of the standard normal distribution.
        let normal = Normal::standard();
        let values: Vec<f64> = (1..1000).map(|part| normal.inverse_cdf(f64::from(part) / 1000.0)).collect();
        let half = forecast_half(&values, 100, 0.05);
        assert!((half - 1.96 * 1.2533 / 10.0).abs() < 0.002, "{half}");
    }
}
