//! Welch's t test (1947), and the interval of an ordinary mean; here for comparison with the robust rule only.

use super::estimate::Interval;
use super::robust::{mean, variance};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// What the means say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Welch {
    /// (mean of head - mean of base) / standard error: positive if head is larger.
    pub t: f64,
    pub degrees_of_freedom: f64,
    /// Two-sided p value of "both have one mean".
    pub p_value: f64,
}

/// Compares the means of two samples whose variances may differ; `None` for fewer than two values on a side, values that
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

/// The mean with Student's interval at level `alpha`; `None` for fewer than two values, or values that are not finite.
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

    #[test]
    fn as_in_the_well_known_example() {
        // The second example of Wikipedia's article on the test; p as R's t.test gives it.
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
