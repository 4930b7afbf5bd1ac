//! Location and spread of values: quantiles, trimmed means and their parts, and the median with an interval that
//! presumes nothing about the noise. Welch's t test (1947) is here only for comparison with the robust rule.

use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal, StudentsT};

/// An estimate with the ends of its confidence interval, in the units of the values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub estimate: f64,
    pub low: f64,
    pub high: f64,
}

/// Distance between the quartiles of normal noise, in standard deviations.
const BETWEEN_QUARTILES: f64 = 1.349;

/// Returns the `q` quantile, 0 being the smallest value and 1 the largest; sorts `values`; NaN without values.
///
/// Linear interpolation between order statistics: type 7 of Hyndman and Fan (1996), the default of R and of `numpy`.
///
/// # Panics
///
/// If `q` is not in 0..=1.
pub fn quantile(values: &mut [f64], q: f64) -> f64 {
    assert!((0.0..=1.0).contains(&q), "quantile {q} is not in 0..=1");
    values.sort_unstable_by(f64::total_cmp);
    let Some(last) = values.len().checked_sub(1) else { return f64::NAN };
    let position = q * last as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(last);
    values[below] + (position - below as f64) * (values[above] - values[below])
}

/// Returns the middle value, or the mean of the two middle ones; sorts `values`; NaN without values.
pub fn median(values: &mut [f64]) -> f64 {
    quantile(values, 0.5)
}

/// Returns the mean of the smaller half of the values, which a disturbed machine hardly moves; sorts `values`; NaN without
/// values. It varies less than the median: interference makes calls longer, never shorter.
pub fn mean_of_fastest_half(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    mean(&values[..values.len().div_ceil(2)])
}

/// Returns the standard deviation of normal noise with these quartiles; sorts `values`; NaN without values.
pub fn deviation(values: &mut [f64]) -> f64 {
    (quantile(values, 0.75) - quantile(values, 0.25)) / BETWEEN_QUARTILES
}

/// Ratio of the standard error of the median of normal noise to that of its mean.
const ERROR_OF_MEDIAN: f64 = 1.2533;

/// Returns the two-sided interval that misses the median with a probability of at most `alpha`, in the units of the
/// values; `None` if there are too few values for it.
pub fn median_interval(values: &[f64], alpha: f64) -> Option<Interval> {
    let count = values.len();
    let below = binomial(count)?;
    let outside = (0..count as u64 / 2).take_while(|rank| 2.0 * below.cdf(*rank) <= alpha).count();
    let (mut values, last) = (sort(values), count - 1);
    let (low, high) = (*values.get(outside.checked_sub(1)?)?, values[last + 1 - outside]);
    Some(Interval { estimate: median(&mut values), low, high })
}

/// Returns the two-sided p value of "the median is 0" by a sign test; 1 without values. The p value is at most `alpha`
/// exactly when [`median_interval`] at that level excludes 0. Values of 0 count for neither sign.
pub fn sign_p_value(values: &[f64]) -> f64 {
    let not_above = values.iter().filter(|value| **value <= 0.0).count();
    let not_below = values.iter().filter(|value| **value >= 0.0).count();
    binomial(values.len()).map_or(1.0, |signs| (2.0 * signs.cdf(not_above.min(not_below) as u64)).min(1.0))
}

/// Returns half the width of the interval at level `alpha` of `count` such values, as a forecast from their quartiles.
pub fn forecast_half(values: &[f64], count: usize, alpha: f64) -> f64 {
    let deviation = deviation(&mut values.to_vec());
    -Normal::standard().inverse_cdf(alpha / 2.0) * ERROR_OF_MEDIAN * deviation / (count as f64).sqrt()
}

/// Returns the distribution of the number of values below their median, among `count` values.
fn binomial(count: usize) -> Option<Binomial> {
    if count == 0 { None } else { Binomial::new(0.5, count as u64).ok() }
}

/// Returns the mean of the values that remain when `floor(proportion * n)` values are cut at each end; NaN without
/// values.
///
/// # Panics
///
/// If `proportion` is not in 0..0.5: no value would remain.
pub fn trimmed_mean(values: &[f64], proportion: f64) -> f64 {
    trimmed_mean_of_sorted(&sort(values), proportion)
}

pub(super) fn trimmed_mean_of_sorted(sorted: &[f64], proportion: f64) -> f64 {
    let cut = cut_per_end(sorted.len(), proportion);
    mean(&sorted[cut..sorted.len() - cut])
}

/// Returns the sample variance (n - 1 in the denominator) after the `floor(proportion * n)` smallest values were
/// replaced by the next larger one, and as many of the largest by the next smaller one; NaN for fewer than two values.
/// The values are sorted; the result is in their squared units.
///
/// # Panics
///
/// If `proportion` is not in 0..0.5.
pub(super) fn winsorized_variance(mut sorted: Vec<f64>, proportion: f64) -> f64 {
    let count = sorted.len();
    let cut = cut_per_end(count, proportion);
    if count > 0 {
        let (lowest, highest) = (sorted[cut], sorted[count - 1 - cut]);
        sorted[..cut].fill(lowest);
        sorted[count - cut..].fill(highest);
    }
    variance(&sorted)
}

/// Largest autocorrelation that is corrected for: with a larger one, the values carry almost no information.
const MOST_CORRELATED: f64 = 0.9;

/// Returns the factor by which serial correlation widens the standard error of a mean: sqrt((1 + r) / (1 - r)) with the
/// lag-1 autocorrelation r of the Winsorized values in the order measured. The factor is 1 for values that are
/// uncorrelated or alternate.
///
/// n (1 - r) / (1 + r) independent values carry as much information as n values of an autoregressive process: G. V.
/// Bayley and J. M. Hammersley, "The effective number of independent observations in an autocorrelated time series"
/// (1946). F. W. Zwiers and H. von Storch, "Taking serial correlation into account in tests of the mean" (1995),
/// describe the limits of this correction: r of a few values is itself uncertain.
pub(super) fn serial_inflation(values: &[f64], proportion: f64) -> f64 {
    let sorted = sort(values);
    let cut = cut_per_end(sorted.len(), proportion);
    let (Some(low), Some(high)) = (sorted.get(cut), sorted.get(sorted.len().saturating_sub(1 + cut))) else {
        return 1.0;
    };
    let winsorized: Vec<f64> = values.iter().map(|value| value.clamp(*low, *high)).collect();
    let center = mean(&winsorized);
    let squares: f64 = winsorized.iter().map(|value| (value - center).powi(2)).sum();
    let products: f64 = winsorized.windows(2).map(|pair| (pair[0] - center) * (pair[1] - center)).sum();
    // Values without spread have no correlation, and the quotient would be NaN.
    let correlation = if low < high { (products / squares).clamp(0.0, MOST_CORRELATED) } else { 0.0 };
    ((1.0 + correlation) / (1.0 - correlation)).sqrt()
}

/// Returns the factor by which values of the same unit that are alike widen the standard error of a mean: the root of the
/// design effect, which is the mean square between units over the variance of all values. The factor is 1 where units
/// spread no more than their values suggest. The values are in the order measured, `per_unit` of each unit; a unit that is
/// not complete does not count.
///
/// The variance of a mean of equal clusters is the mean square between them over the number of values: W. G. Cochran,
/// "Sampling Techniques", 3rd edition (1977), section 9.4.
pub(super) fn unit_inflation(values: &[f64], per_unit: usize) -> f64 {
    let units: Vec<&[f64]> = values.chunks_exact(per_unit.max(1)).collect();
    if per_unit < 2 || units.len() < 2 {
        return 1.0;
    }
    let means: Vec<f64> = units.iter().map(|unit| mean(unit)).collect();
    let (between, all) = (per_unit as f64 * variance(&means), variance(&units.concat()));
    // Values without any spread have no ratio.
    if between > all { (between / all).sqrt() } else { 1.0 }
}

/// Returns the values with their distances from `center` multiplied by `factor`, but never reduced.
pub(super) fn stretch(values: &[f64], center: f64, factor: f64) -> Vec<f64> {
    // Rounding must not change values that need no stretching.
    if factor <= 1.0 {
        return values.to_vec();
    }
    values.iter().map(|value| center + factor * (value - center)).collect()
}

/// Returns a sorted copy, in the total order of IEEE 754.
pub(super) fn sort(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// Returns the number of values that are cut at each end.
pub(super) fn cut_per_end(count: usize, proportion: f64) -> usize {
    assert!((0.0..0.5).contains(&proportion), "proportion {proportion} to cut at each end is not in 0..0.5");
    (proportion * count as f64).floor() as usize
}

/// Returns the arithmetic mean; NaN without values.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the sample variance; NaN for fewer than two values. The computation takes two passes, because the one-pass
/// formula loses all digits on log ratios that differ little.
pub(super) fn variance(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return f64::NAN;
    }
    // Rounding of the mean must not give equal values a spread.
    if values.iter().all(|value| value.total_cmp(&values[0]).is_eq()) {
        return 0.0;
    }
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64
}

/// Result of Welch's t test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Welch {
    /// (mean of head - mean of base) / standard error: positive if head is larger.
    pub t: f64,
    pub degrees_of_freedom: f64,
    /// Two-sided p value of "both have one mean".
    pub p_value: f64,
}

/// Compares the means of two samples with possibly different variances; `None` for fewer than two values on a side, values that
/// are not finite, or no spread at all.
pub fn welch(base: &[f64], head: &[f64]) -> Option<Welch> {
    if base.len() < 2 || head.len() < 2 {
        return None;
    }
    let error = |values: &[f64]| variance(values) / values.len() as f64;
    let (base_error, head_error) = (error(base), error(head));
    let sum = base_error + head_error;
    let t = (mean(head) - mean(base)) / sum.sqrt();
    let share = |error: f64, count: usize| error * error / (count - 1) as f64;
    let degrees_of_freedom = sum * sum / (share(base_error, base.len()) + share(head_error, head.len()));
    let distribution = StudentsT::new(0.0, 1.0, degrees_of_freedom).ok()?;
    t.is_finite().then(|| Welch { t, degrees_of_freedom, p_value: 2.0 * distribution.sf(t.abs()) })
}

/// Returns the mean with Student's interval at level `alpha`; `None` for fewer than two values, or for values that are
/// not finite.
pub fn mean_interval(values: &[f64], alpha: f64) -> Option<Interval> {
    if values.len() < 2 || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let error = (variance(values) / values.len() as f64).sqrt();
    let distribution = StudentsT::new(0.0, 1.0, (values.len() - 1) as f64).ok()?;
    let (estimate, half) = (mean(values), -distribution.inverse_cdf(alpha / 2.0) * error);
    Some(Interval { estimate, low: estimate - half, high: estimate + half })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(values: &[f64], q: f64, expected: f64) {
        let quantile = quantile(&mut values.to_vec(), q);
        assert!((quantile - expected).abs() < 1e-12, "{quantile} is not {expected}");
    }

    #[test]
    fn as_numpy_quantile() {
        let values = [9.0, 1.0, 4.0, 25.0, 16.0, 36.0];
        check(&values, 0.0, 1.0);
        check(&values, 0.1, 2.5);
        check(&values, 0.25, 5.25);
        check(&values, 0.9, 30.5);
        check(&values, 1.0, 36.0);
    }

    #[test]
    fn one_value_is_all_its_quantiles() {
        check(&[3.0], 0.0, 3.0);
        check(&[3.0], 0.37, 3.0);
        check(&[3.0], 1.0, 3.0);
    }

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&mut [5.0, 1.0, 3.0]).to_bits(), 3_f64.to_bits());
        assert_eq!(median(&mut [5.0, 1.0, 3.0, 100.0]).to_bits(), 4_f64.to_bits());
    }

    #[test]
    fn the_slower_half_does_not_count() {
        for (mut values, expected) in [(vec![3.0, 900.0, 1.0, 2.0], 1.5), (vec![30.0, 3.0, 1.0], 2.0), (vec![7.0], 7.0)]
        {
            assert!((mean_of_fastest_half(&mut values) - expected).abs() < 1e-12);
        }
        assert!(mean_of_fastest_half(&mut []).is_nan());
    }

    #[test]
    fn no_values_no_quantile() {
        assert!(quantile(&mut [], 0.1).is_nan());
        assert!(median(&mut []).is_nan());
    }

    #[test]
    #[should_panic(expected = "not in 0..=1")]
    fn percent_instead_of_fraction_is_a_bug() {
        quantile(&mut [1.0], 10.0);
    }

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
        // Values of 0 count for neither sign: 2 P(X <= 4) of 8 is more than 1.
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

    mod robust {
        use super::super::*;

        /// Self-awareness data of Dana (1990), the running example of Wilcox's book.
        const SELF_AWARENESS: [f64; 19] = [
            77.0, 87.0, 88.0, 114.0, 151.0, 210.0, 219.0, 246.0, 253.0, 262.0, 296.0, 299.0, 306.0, 376.0, 428.0,
            515.0, 666.0, 1310.0, 2611.0,
        ];

        #[track_caller]
        fn check(proportion: f64, expected_mean: f64, expected_variance: f64) {
            let mean = trimmed_mean(&SELF_AWARENESS, proportion);
            let variance = winsorized_variance(sort(&SELF_AWARENESS), proportion);
            assert!((mean / expected_mean - 1.0).abs() < 1e-14, "mean {mean} is not {expected_mean}");
            assert!(
                (variance / expected_variance - 1.0).abs() < 1e-14,
                "variance {variance} is not {expected_variance}"
            );
        }

        // Expected figures: the book (282.7; 21,551.4) and scipy.stats.trim_mean, scipy.stats.mstats.winsorize, numpy.var.

        #[test]
        fn twenty_percent_as_in_the_book() {
            check(0.2, 282.692_307_692_307_7, 21_551.426_900_584_793);
        }

        #[test]
        fn ten_percent_as_scipy() {
            check(0.1, 342.705_882_352_941_2, 129_679.029_239_766_1);
        }

        #[test]
        fn nothing_cut_is_the_ordinary_mean_and_variance() {
            check(0.0, 448.105_263_157_894_74, 353_584.210_526_315_8);
        }

        #[test]
        fn order_does_not_matter() {
            let mut reversed = SELF_AWARENESS;
            reversed.reverse();
            assert_eq!(trimmed_mean(&reversed, 0.2).to_bits(), trimmed_mean(&SELF_AWARENESS, 0.2).to_bits());
        }

        #[test]
        fn a_unit_of_equal_values_counts_as_one_value() {
            let of = |values: &[f64]| unit_inflation(values, 2);
            // Means 1, 3 and 2 with mean square 2 between them; the variance of all values is 0.8.
            assert!((of(&[1.0, 1.0, 3.0, 3.0, 2.0, 2.0]) - 2.5_f64.sqrt()).abs() < 1e-12);
            // The last value belongs to no complete unit.
            assert_eq!(
                of(&[1.0, 1.0, 3.0, 3.0, 2.0, 2.0, 9.0]).to_bits(),
                of(&[1.0, 1.0, 3.0, 3.0, 2.0, 2.0]).to_bits()
            );
            let none =
                [of(&[1.0, 3.0, 3.0, 1.0]), of(&[2.0; 4]), of(&[1.0]), of(&[]), unit_inflation(&[1.0, 2.0, 3.0], 1)];
            assert_eq!(none.map(f64::to_bits), [1_f64.to_bits(); 5]);
        }

        #[test]
        fn cuts_round_down() {
            assert_eq!([4, 5, 8, 9, 10, 16, 512].map(|count| cut_per_end(count, 0.2)), [0, 1, 1, 1, 2, 3, 102]);
        }

        #[test]
        fn too_few_values_have_no_mean_or_variance() {
            assert!(trimmed_mean(&[], 0.2).is_nan());
            assert!(winsorized_variance(sort(&[]), 0.2).is_nan());
            assert!(winsorized_variance(sort(&[1.0]), 0.2).is_nan());
        }

        #[test]
        fn equal_values_have_no_variance_at_all() {
            assert!(winsorized_variance(sort(&[0.1; 7]), 0.2) == 0.0);
        }

        #[test]
        fn serial_correlation_widens_and_alternation_does_not() {
            // Winsorized: 2 2 3 4 5 6 7 7, of mean 4.5. Products 21.25, squares 30.
            let rising: Vec<f64> = (1..=8).map(f64::from).collect();
            let correlation = 21.25_f64 / 30.0;
            let expected = ((1.0 + correlation) / (1.0 - correlation)).sqrt();
            assert!((serial_inflation(&rising, 0.2) - expected).abs() < 1e-12);
            assert_eq!(serial_inflation(&[1.0, -1.0, 1.0, -1.0, 1.0, -1.0], 0.2).to_bits(), 1_f64.to_bits());
            assert_eq!(serial_inflation(&[0.1; 8], 0.2).to_bits(), 1_f64.to_bits());
            assert_eq!(serial_inflation(&[], 0.2).to_bits(), 1_f64.to_bits());
        }

        #[test]
        fn stretching_keeps_the_center_and_multiplies_the_spread() {
            assert_eq!(stretch(&[1.0, 2.0, 4.0], 2.0, 3.0), vec![-1.0, 2.0, 8.0]);
            assert_eq!(stretch(&[0.1, 0.7], 0.3, 1.0), vec![0.1, 0.7]);
        }

        #[test]
        #[should_panic(expected = "not in 0..0.5")]
        fn cutting_everything_is_a_bug() {
            trimmed_mean(&SELF_AWARENESS, 0.5);
        }
    }

    #[test]
    fn as_in_the_well_known_example() {
        // The data are the second example of Wikipedia's article on the test; p is the result of R's t.test.
        let a = [27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4];
        let b = [27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4];
        let found = welch(&a, &b).unwrap();
        assert!((found.p_value - 0.021_378).abs() < 1e-6, "{found:?}");
        assert!(found.t > 2.4 && found.t < 2.5 && (found.degrees_of_freedom - 24.99).abs() < 0.01, "{found:?}");
        assert!((welch(&b, &a).unwrap().t + found.t).abs() < 1e-12);
    }

    #[test]
    fn the_interval_of_a_mean_is_students() {
        // t(0.975; 4) = 2.776445 times sqrt(2.5 / 5).
        let found = mean_interval(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.05).unwrap();
        assert!((found.estimate - 3.0).abs() < 1e-12);
        assert!((found.high - 4.963_243).abs() < 1e-5 && (found.low - 1.036_757).abs() < 1e-5, "{found:?}");
    }

    #[test]
    fn what_has_no_spread_or_too_few_values_cannot_be_told() {
        assert_eq!(welch(&[1.0, 1.0], &[2.0, 2.0]), None);
        assert_eq!(welch(&[1.0], &[2.0, 3.0]), None);
        assert_eq!(welch(&[1.0, f64::INFINITY], &[2.0, 3.0]), None);
        assert_eq!(mean_interval(&[1.0], 0.05), None);
    }
}
