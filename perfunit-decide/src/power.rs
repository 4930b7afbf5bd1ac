//! The exponent of a power law with an offset: `y = c + a n^p`, fitted by weighted least squares for each `p` of a
//! grid.
//!
//! The offset keeps work that is done once per call from looking like slow growth. `p = 0` stands for a logarithm.

use super::location::Interval;
use statrs::distribution::{ContinuousCDF, FisherSnedecor, StudentsT};

/// Number of steps of the exponent grid: up to the fourth power, in steps of a twentieth.
const STEPS: usize = 80;
const STEP: f64 = 0.05;
/// Smallest relative error of a count, because no formula is exact: loops are unrolled, and buffers grow in jumps.
const LEAST_ERROR: f64 = 0.005;
/// Level of the interval, and of the test for any growth at all.
const ALPHA: f64 = 0.01;

/// A value at a length, with the scale that makes its error relative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sized {
    pub length: f64,
    pub value: f64,
    pub scale: f64,
}

/// A straight line through values over transformed lengths.
#[derive(Debug, Clone, Copy)]
struct Line {
    slope: f64,
    /// Sum of squared relative errors.
    residual: f64,
    /// Sum of squared distances of the transformed lengths from their mean.
    square: f64,
}

/// Returns the exponent with its interval, 0 if nothing grows; `None` for fewer than five values.
pub fn exponent(values: &[Sized]) -> Option<Interval> {
    if values.len() < 5 {
        return None;
    }
    let floor = values.len() as f64 * LEAST_ERROR * LEAST_ERROR;
    let degrees = (values.len() - 3) as f64;
    let fits: Vec<(f64, f64)> = powers()
        .filter_map(|power| Some((power, line(values, power)?)))
        .filter(|(_, line)| line.slope > 0.0)
        .map(|(power, line)| (power, line.residual + floor))
        .collect();
    let constant = constant(values) + floor;
    let none = Interval { estimate: 0.0, low: 0.0, high: 0.0 };
    let best = fits.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1));
    let Some(best) = best.filter(|_| constant > 2.0 * floor) else { return Some(none) };
    let (of_constant, limit) = (best.1 * not_rejected(2.0, degrees)?, best.1 * not_rejected(1.0, degrees)?);
    let inside = || fits.iter().filter(|(_, residual)| *residual <= limit).map(|(power, _)| *power);
    let high = inside().fold(best.0, f64::max);
    if constant <= of_constant {
        // A constant explains the values, but scatter that lengths do not explain may hide growth.
        return Some(Interval { high, ..none });
    }
    Some(Interval { estimate: best.0, low: inside().fold(best.0, f64::min), high })
}

/// Returns the upper limit of the growth up to the largest length, if the values grow with this exponent.
pub fn most_grown(values: &[Sized], power: f64) -> Option<f64> {
    let degrees = values.len().checked_sub(2).filter(|degrees| *degrees > 0)? as f64;
    let Line { slope, residual, square } = line(values, power)?;
    let distribution = StudentsT::new(0.0, 1.0, degrees).ok()?;
    let floor = values.len() as f64 * LEAST_ERROR * LEAST_ERROR;
    let error = ((residual + floor) / degrees / square).sqrt();
    Some((slope + distribution.inverse_cdf(1.0 - ALPHA / 2.0) * error).max(0.0))
}

/// Returns the sums of squared errors of the best power with at least this exponent, and of a logarithm.
pub fn power_and_logarithm(values: &[Sized], least: f64) -> Option<(f64, f64)> {
    let lines = powers().filter(|power| *power >= least).filter_map(|power| line(values, power));
    let lines = lines.filter(|line| line.slope > 0.0);
    Some((lines.map(|line| line.residual).min_by(f64::total_cmp)?, line(values, 0.0)?.residual))
}

/// Returns the exponents of the grid.
pub fn powers() -> impl Iterator<Item = f64> {
    (0..=STEPS).map(|step| step as f64 * STEP)
}

/// Returns the ratio of a sum of squared errors to that of the best fit at which an F test just does not reject these
/// parameters.
pub fn not_rejected(parameters: f64, degrees: f64) -> Option<f64> {
    let distribution = FisherSnedecor::new(parameters, degrees).ok()?;
    Some(1.0 + distribution.inverse_cdf(1.0 - ALPHA) * parameters / degrees)
}

fn line(values: &[Sized], power: f64) -> Option<Line> {
    let largest = values.iter().map(|value| value.length).fold(1.0, f64::max);
    // Lengths relative to the largest length keep all sums of a similar size.
    let at = |value: &Sized| {
        let part = value.length / largest;
        if power < STEP / 2.0 { part.ln() } else { part.powf(power) }
    };
    let sum =
        |of: &dyn Fn(&Sized) -> f64| values.iter().map(|value| of(value) / (value.scale * value.scale)).sum::<f64>();
    let weight = sum(&|_| 1.0);
    let (x, y) = (sum(&at) / weight, sum(&|value| value.value) / weight);
    let square = sum(&|value| (at(value) - x).powi(2));
    let slope = sum(&|value| (at(value) - x) * (value.value - y)) / square;
    let residual = sum(&|value| (value.value - y - slope * (at(value) - x)).powi(2));
    (slope.is_finite() && residual.is_finite()).then_some(Line { slope, residual, square })
}

fn constant(values: &[Sized]) -> f64 {
    let weight = |value: &Sized| 1.0 / (value.scale * value.scale);
    let mean =
        values.iter().map(|value| weight(value) * value.value).sum::<f64>() / values.iter().map(weight).sum::<f64>();
    values.iter().map(|value| weight(value) * (value.value - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit_sample(of: impl Fn(f64) -> f64) -> Interval {
        let values: Vec<Sized> = (0..=24)
            .map(|step| 2_f64.powf(2.0 + f64::from(step) / 4.0).floor())
            .map(|length| Sized { length, value: of(length), scale: of(length) })
            .collect();
        exponent(&values).unwrap()
    }

    #[track_caller]
    fn check(of: impl Fn(f64) -> f64, low: f64, high: f64) {
        let found = fit_sample(of);
        assert!(found.estimate >= low && found.estimate <= high, "{found:?}");
        assert!(found.low <= found.estimate && found.estimate <= found.high, "{found:?}");
    }

    #[test]
    fn powers_are_found_whatever_is_done_once_per_call() {
        for power in [0.5, 1.0, 1.5, 2.0, 3.0] {
            for offset in [0.0, 10.0, 1000.0] {
                check(|n| offset + 3.0 * n.powf(power), power - 0.051, power + 0.051);
            }
        }
    }

    #[test]
    fn what_does_not_grow_has_the_exponent_zero() {
        check(|_| 40.0, 0.0, 0.0);
        check(|n| 40.0 - n / 100.0, 0.0, 0.0);
        check(f64::ln, 0.0, 0.051);
    }

    #[test]
    fn what_lengths_do_not_explain_may_hide_growth() {
        let found = fit_sample(|n| 40.0 + 5.0 * ((n * 31.0) % 11.0));
        assert!(found.estimate < 0.01 && found.high > 1.0, "{found:?}");
    }

    #[test]
    fn growth_is_at_most_what_its_error_leaves_open() {
        let values: Vec<Sized> = (2..10)
            .map(|n| 2_f64.powi(n))
            .map(|length| Sized { length, value: 7.0 + 3.0 * length, scale: 1.0 })
            .collect();
        let most = most_grown(&values, 1.0).unwrap();
        assert!((most - 3.0 * 512.0).abs() < 1.0, "{most}");
    }

    #[test]
    fn a_logarithmic_factor_adds_little() {
        check(|n| n * n.log2(), 1.05, 1.45);
    }

    #[test]
    fn what_jumps_has_a_wide_interval() {
        let found = fit_sample(|n| 20.0 + n * if (n as u64).is_multiple_of(2) { 1.0 } else { 0.3 });
        assert!(found.high - found.low > 0.2, "{found:?}");
    }
}
