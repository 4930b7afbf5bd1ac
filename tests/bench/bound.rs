//! Shares and their upper bounds.

use statrs::distribution::{Beta, ContinuousCDF};

/// Probability that a bound holds.
const CONFIDENCE: f64 = 0.95;

/// Returns a share in percent.
pub fn percentage(part: usize, all: usize) -> f64 {
    100.0 * part as f64 / all.max(1) as f64
}

/// Returns the one-sided upper bound of Clopper and Pearson, as a fraction.
pub fn at_most(found: usize, all: usize) -> f64 {
    if found >= all {
        return 1.0;
    }
    Beta::new(found as f64 + 1.0, (all - found) as f64).map_or(1.0, |beta| beta.inverse_cdf(CONFIDENCE))
}

/// Formats a share: `2 of 300 (0.67 %, at most 2.08 %)`.
pub fn share(found: usize, all: usize) -> String {
    format!("{found} of {all} ({:.2} %, at most {:.2} %)", percentage(found, all), 100.0 * at_most(found, all))
}
