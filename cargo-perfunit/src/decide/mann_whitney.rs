//! The rank sum test of Mann and Whitney (1947), by which Peass decides; here for comparison only.

use statrs::distribution::{ContinuousCDF, Normal};

/// What the ranks say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankSum {
    /// Probability that a value of head is above one of base, ties counted half: 0.5 is no difference.
    pub superiority: f64,
    /// Two-sided p value of "both have one distribution".
    pub p_value: f64,
}

/// Compares two samples by the normal approximation, corrected for ties and continuity; `None` without values, or if one
/// is not a number.
pub fn mann_whitney(base: &[f64], head: &[f64]) -> Option<RankSum> {
    let mut values: Vec<(f64, bool)> =
        base.iter().map(|value| (*value, false)).chain(head.iter().map(|value| (*value, true))).collect();
    if base.is_empty() || head.is_empty() || values.iter().any(|(value, _)| value.is_nan()) {
        return None;
    }
    values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut rank_sum, mut ties, mut before) = (0.0, 0.0, 0.0);
    // Values are tied if they are equal, and -0 equals 0.
    for equal in values.chunk_by(|a, b| a.0.partial_cmp(&b.0).is_some_and(std::cmp::Ordering::is_eq)) {
        let (size, of_head) = (equal.len() as f64, equal.iter().filter(|(_, is_head)| *is_head).count() as f64);
        // The mean of the ranks before + 1 to before + size.
        rank_sum += of_head * (before + f64::midpoint(1.0, size));
        ties += size.powi(3) - size;
        before += size;
    }
    let (n, m) = (base.len() as f64, head.len() as f64);
    let u = rank_sum - m * (m + 1.0) / 2.0;
    let variance = n * m / 12.0 * (n + m + 1.0 - ties / ((n + m) * (n + m - 1.0)));
    let distance = ((u - n * m / 2.0).abs() - 0.5).max(0.0);
    let p_value = if variance > 0.0 { (2.0 * Normal::standard().sf(distance / variance.sqrt())).min(1.0) } else { 1.0 };
    Some(RankSum { superiority: u / (n * m), p_value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_scipy_with_the_asymptotic_method() {
        // The example of scipy.stats.mannwhitneyu.
        let males = [19.0, 22.0, 16.0, 29.0, 24.0];
        let females = [20.0, 11.0, 17.0, 12.0];
        let found = mann_whitney(&females, &males).unwrap();
        assert!((found.superiority - 17.0 / 20.0).abs() < 1e-12);
        assert!((found.p_value - 0.111_346_886_533_140_41).abs() < 1e-9, "{}", found.p_value);
    }

    #[test]
    fn ties_share_their_ranks() {
        // Ranks 1.5 1.5 3.5 | 3.5 5 6: U = 8.5 of 9, variance 9/12 (7 - 12/30) = 4.95, z = (4 - 0.5) / 2.2249.
        let found = mann_whitney(&[1.0, 1.0, 2.0], &[2.0, 3.0, 4.0]).unwrap();
        assert!((found.superiority - 8.5 / 9.0).abs() < 1e-12);
        assert!((found.p_value - 0.1157).abs() < 1e-4, "{}", found.p_value);
    }

    #[test]
    fn equal_samples_do_not_differ() {
        let found = mann_whitney(&[1.0, 1.0], &[1.0, 1.0]).unwrap();
        assert_eq!((found.superiority.to_bits(), found.p_value.to_bits()), (0.5_f64.to_bits(), 1.0_f64.to_bits()));
        assert_eq!(mann_whitney(&[], &[1.0]), None);
        assert_eq!(mann_whitney(&[f64::NAN], &[1.0]), None);
    }
}
