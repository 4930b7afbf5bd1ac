//! Location and spread that a few wild values cannot move: trimmed mean and Winsorized variance.
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
    #[should_panic(expected = "not in 0..0.5")]
    fn cutting_everything_is_a_bug() {
        trimmed_mean(&SELF_AWARENESS, 0.5);
    }
}
