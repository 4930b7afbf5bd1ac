//! The ranking of Zhou and Li: functions that take a large share of the time wherever they are called, and an even one.
//!
//! With the shares `r` of a function's own time in the `x` tests that call it, R = sqrt(sum r^2 / x), and the score is
//! R - f * sd(r), where sd is the population standard deviation and f is 1. (Zhou and Li: "Distance-based root cause
//! analysis and change impact analysis of performance regressions".)

use perfunit_model::Score;

/// The weight f of the deviation.
const WEIGHT: f64 = 1.0;

/// The score of one function by its shares (0..=1) of the time of those tests that call it; `None` if none does.
pub fn score(shares: &[f64]) -> Option<Score> {
    if shares.is_empty() {
        return None;
    }
    let count = shares.len() as f64;
    let mean = shares.iter().sum::<f64>() / count;
    let distance = (shares.iter().map(|share| share * share).sum::<f64>() / count).sqrt();
    let deviation = (shares.iter().map(|share| (share - mean).powi(2)).sum::<f64>() / count).sqrt();
    Some(Score { distance, deviation, value: distance - WEIGHT * deviation })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(shares: &[f64], distance: f64, deviation: f64) {
        let found = score(shares).unwrap();
        assert!((found.distance - distance).abs() < 5e-4, "{found:?}");
        assert!((found.deviation - deviation).abs() < 1.5e-3, "{found:?}");
    }

    #[test]
    fn the_worked_examples_of_the_paper() {
        check(&[0.9, 0.2, 0.2], 0.545, 0.329);
        check(&[0.6, 0.5, 0.5], 0.535, 0.047);
        // As plain Euclidean distances 1.39 and 0.86.
        let plain = |shares: &[f64]| score(shares).unwrap().distance * (shares.len() as f64).sqrt();
        assert!((plain(&[0.9, 0.8, 0.7]) - 1.39).abs() < 5e-3 && (plain(&[0.3, 0.4, 0.7]) - 0.86).abs() < 5e-3);
    }

    #[test]
    fn an_even_share_ranks_before_an_uneven_one() {
        let rank = |shares: &[f64]| score(shares).unwrap().value;
        assert!(rank(&[0.6, 0.5, 0.5]) > rank(&[0.9, 0.2, 0.2]));
    }

    #[test]
    fn nobody_ranks_what_no_test_calls() {
        assert_eq!(score(&[]), None);
    }
}
