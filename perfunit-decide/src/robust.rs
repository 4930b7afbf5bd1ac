//! Location, spread and serial correlation that a few wild values cannot move: trimmed mean, Winsorized variance and
//! autocorrelation.
//!
//! Formulas: R. Wilcox, *Introduction to Robust Estimation and Hypothesis Testing*, chapter 3.

/// The mean of what is left when `floor(proportion * n)` values are cut at each end; NaN without values.
///
/// # Panics
///
/// If `proportion` is not in 0..0.5: nothing would be left.
pub fn trimmed_mean(values: &[f64], proportion: f64) -> f64 {
    trimmed_mean_of_sorted(&sorted(values), proportion)
}

pub(super) fn trimmed_mean_of_sorted(sorted: &[f64], proportion: f64) -> f64 {
    let cut = cut_per_end(sorted.len(), proportion);
    mean(&sorted[cut..sorted.len() - cut])
}

/// The sample variance (n - 1 in the denominator) after the `floor(proportion * n)` smallest values were replaced by the
/// next larger one and the largest likewise; NaN for fewer than two values. In squared units of the values, which are sorted.
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

/// The largest autocorrelation that is corrected for: beyond it, the values say next to nothing.
const MOST_CORRELATED: f64 = 0.9;

/// Returns by what factor serial correlation widens the standard error of a mean: sqrt((1 + r) / (1 - r)) with the lag-1
/// autocorrelation r of the values in the order measured, Winsorized. 1 for values that are not correlated, and for those
/// that alternate.
///
/// n (1 - r) / (1 + r) independent values tell as much as n values of an autoregressive process: G. V. Bayley and
/// J. M. Hammersley, "The effective number of independent observations in an autocorrelated time series" (1946). F. W. Zwiers
/// and H. von Storch, "Taking serial correlation into account in tests of the mean" (1995), say how far this helps: r of a
/// few values is itself uncertain.
pub(super) fn serial_inflation(values: &[f64], proportion: f64) -> f64 {
    let sorted = sorted(values);
    let cut = cut_per_end(sorted.len(), proportion);
    let (Some(low), Some(high)) = (sorted.get(cut), sorted.get(sorted.len().saturating_sub(1 + cut))) else {
        return 1.0;
    };
    let winsorized: Vec<f64> = values.iter().map(|value| value.clamp(*low, *high)).collect();
    let center = mean(&winsorized);
    let squares: f64 = winsorized.iter().map(|value| (value - center).powi(2)).sum();
    let products: f64 = winsorized.windows(2).map(|pair| (pair[0] - center) * (pair[1] - center)).sum();
    // Without spread there is nothing to correlate.
    let correlation = if low < high { (products / squares).clamp(0.0, MOST_CORRELATED) } else { 0.0 };
    ((1.0 + correlation) / (1.0 - correlation)).sqrt()
}

/// Returns the values, each this many times as far from `center`, at least as far as before.
pub(super) fn stretched(values: &[f64], center: f64, factor: f64) -> Vec<f64> {
    // Rounding must not change what needs no stretching.
    if factor <= 1.0 {
        return values.to_vec();
    }
    values.iter().map(|value| center + factor * (value - center)).collect()
}

/// A sorted copy, in the total order of IEEE 754.
pub(super) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// How many values are cut at each end.
pub(super) fn cut_per_end(count: usize, proportion: f64) -> usize {
    assert!((0.0..0.5).contains(&proportion), "proportion {proportion} to cut at each end is not in 0..0.5");
    (proportion * count as f64).floor() as usize
}

/// Arithmetic mean; NaN without values.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Sample variance; NaN for fewer than two values. In two passes, as the one-pass formula loses all digits on log ratios
/// that differ little.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Self-awareness data of Dana (1990), the running example of Wilcox's book.
    const SELF_AWARENESS: [f64; 19] = [
        77.0, 87.0, 88.0, 114.0, 151.0, 210.0, 219.0, 246.0, 253.0, 262.0, 296.0, 299.0, 306.0, 376.0, 428.0, 515.0,
        666.0, 1310.0, 2611.0,
    ];

    #[track_caller]
    fn check(proportion: f64, expected_mean: f64, expected_variance: f64) {
        let mean = trimmed_mean(&SELF_AWARENESS, proportion);
        let variance = winsorized_variance(sorted(&SELF_AWARENESS), proportion);
        assert!((mean / expected_mean - 1.0).abs() < 1e-14, "mean {mean} is not {expected_mean}");
        assert!((variance / expected_variance - 1.0).abs() < 1e-14, "variance {variance} is not {expected_variance}");
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
    fn cuts_round_down() {
        assert_eq!([4, 5, 8, 9, 10, 16, 512].map(|count| cut_per_end(count, 0.2)), [0, 1, 1, 1, 2, 3, 102]);
    }

    #[test]
    fn too_few_values_have_no_mean_or_variance() {
        assert!(trimmed_mean(&[], 0.2).is_nan());
        assert!(winsorized_variance(sorted(&[]), 0.2).is_nan());
        assert!(winsorized_variance(sorted(&[1.0]), 0.2).is_nan());
    }

    #[test]
    fn equal_values_have_no_variance_at_all() {
        assert!(winsorized_variance(sorted(&[0.1; 7]), 0.2) == 0.0);
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
        assert_eq!(stretched(&[1.0, 2.0, 4.0], 2.0, 3.0), vec![-1.0, 2.0, 8.0]);
        assert_eq!(stretched(&[0.1, 0.7], 0.3, 1.0), vec![0.1, 0.7]);
    }

    #[test]
    #[should_panic(expected = "not in 0..0.5")]
    fn cutting_everything_is_a_bug() {
        trimmed_mean(&SELF_AWARENESS, 0.5);
    }
}
