//! Quantiles by linear interpolation, and what follows from them.

/// Quartiles of normal noise lie so many standard deviations from each other.
const BETWEEN_QUARTILES: f64 = 1.349;

/// The `q` quantile, 0 the smallest value and 1 the largest; sorts `values`; NaN without values.
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

/// The middle value, or the mean of the two middle ones; sorts `values`; NaN without values.
pub fn median(values: &mut [f64]) -> f64 {
    quantile(values, 0.5)
}

/// The standard deviation that normal noise with these quartiles has; sorts `values`; NaN without values.
pub fn deviation(values: &mut [f64]) -> f64 {
    (quantile(values, 0.75) - quantile(values, 0.25)) / BETWEEN_QUARTILES
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
    fn no_values_no_quantile() {
        assert!(quantile(&mut [], 0.1).is_nan());
        assert!(median(&mut []).is_nan());
    }

    #[test]
    #[should_panic(expected = "not in 0..=1")]
    fn percent_instead_of_fraction_is_a_bug() {
        quantile(&mut [1.0], 10.0);
    }
}
