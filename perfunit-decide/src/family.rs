//! One error rate for all tests of a run: how strict confirmation is, and what it takes to find as much all the same.

use statrs::distribution::{ContinuousCDF, Normal};

/// The level of confirmation of a few tests.
const LEAST_STRICT: f64 = 0.001;
/// The power at which levels are compared.
const COMPARED_AT: f64 = 0.9;
/// Standard deviation of a layout's mean that is small enough, as a part of the change looked for.
const NOISE_OF_LAYOUT: f64 = 0.25;
/// Layouts with fewer pairs: two looks.
const FIRST_LAYOUTS: usize = 16;
/// Beyond this more layouts are worth more than more pairs of each.
const MOST_PAIRS_PER_LAYOUT: f64 = 16.0;

/// The level at which fresh values say that a test changed: min(0.1 %, alpha / tests measured).
///
/// By Bonferroni the probability of even one false alarm in the whole run is then about alpha at most if screening let
/// everything through; screening, on other pairs, divides it by another hundred.
pub fn confirmation_alpha(alpha: f64, tests_measured: usize) -> f64 {
    (alpha / tests_measured.max(1) as f64).min(LEAST_STRICT)
}

/// How many times as many values a level needs as that of a few tests, to find the same change as surely: the normal
/// approximation, ((z(1 - a/2) + z(power)) / (z(1 - a0/2) + z(power)))^2.
pub fn effort(alpha: f64) -> f64 {
    let normal = Normal::standard();
    let errors = |alpha: f64| -normal.inverse_cdf(alpha / 2.0) + normal.inverse_cdf(COMPARED_AT);
    (errors(alpha.min(LEAST_STRICT)) / errors(LEAST_STRICT)).powi(2)
}

/// How many pairs make each layout's mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairsPerLayout {
    first: usize,
    later: usize,
}

impl PairsPerLayout {
    /// So many that their noise is small beside the change that is looked for at a level; a quarter for the first layouts,
    /// which suffice for most tests. Where that does not fit the `affordable` pairs, as many of each as fit twice the
    /// fewest layouts that say something.
    pub fn new(spread: f64, change: f64, alpha: f64, affordable: f64) -> Self {
        let needed = (spread / (NOISE_OF_LAYOUT * change)).powi(2) * effort(alpha);
        let needed = (needed.ceil().min(MOST_PAIRS_PER_LAYOUT) as usize).max(1);
        let staged = Self { first: needed.div_ceil(4), later: needed };
        if staged.sum(2 * FIRST_LAYOUTS) as f64 <= affordable {
            return staged;
        }
        let each = ((affordable / FIRST_LAYOUTS as f64) as usize).clamp(1, needed);
        Self { first: each, later: each }
    }

    /// Those of the layout of this number, from 0.
    pub fn of(self, layout: usize) -> usize {
        if layout < FIRST_LAYOUTS { self.first } else { self.later }
    }

    /// Those of so many layouts.
    pub fn sum(self, layouts: usize) -> usize {
        let first = layouts.min(FIRST_LAYOUTS);
        first * self.first + (layouts - first) * self.later
    }

    /// The layouts that so many pairs begin.
    pub fn layouts(self, pairs: usize) -> usize {
        let of_first = self.sum(FIRST_LAYOUTS);
        if pairs <= of_first {
            pairs.div_ceil(self.first)
        } else {
            FIRST_LAYOUTS + (pairs - of_first).div_ceil(self.later)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confirmation_is_stricter_the_more_tests_were_measured() {
        assert!((confirmation_alpha(0.01, 1) - 0.001).abs() < 1e-15);
        assert!((confirmation_alpha(0.01, 10) - 0.001).abs() < 1e-15);
        assert!((confirmation_alpha(0.01, 500) - 0.000_02).abs() < 1e-15);
        assert!((confirmation_alpha(0.01, 0) - 0.001).abs() < 1e-15);
    }

    #[test]
    fn a_stricter_level_takes_more() {
        assert!((effort(0.01) - 1.0).abs() < 1e-12 && (effort(0.001) - 1.0).abs() < 1e-12);
        // z(0.999995) = 4.417, z(0.9995) = 3.291, z(0.9) = 1.282.
        assert!((effort(0.000_01) - (5.699_f64 / 4.573).powi(2)).abs() < 0.002);
    }

    #[test]
    fn so_many_pairs_begin_so_many_layouts() {
        let pairs = PairsPerLayout { first: 2, later: 5 };
        assert_eq!([1, 16, 17, 32].map(|layouts| pairs.sum(layouts)), [2, 32, 37, 112]);
        assert_eq!([1, 2, 31, 36, 37, 112].map(|all| pairs.layouts(all)), [1, 1, 16, 17, 17, 32]);
    }

    #[test]
    fn a_layout_gets_the_pairs_that_its_noise_asks_for_and_the_budget_allows() {
        let pairs = |spread, affordable| {
            let pairs = PairsPerLayout::new(spread, 0.02, 0.001, affordable);
            [0, 15, 16].map(|layout| pairs.of(layout))
        };
        assert_eq!([0.005, 0.01, 0.2].map(|spread| pairs(spread, 1e3)), [[1, 1, 1], [1, 1, 4], [4, 4, 16]]);
        // 16 layouts of 4 pairs and 16 of 16 do not fit, nor do 16 of 3 or of 1.
        assert_eq!([319.0, 50.0, 3.0].map(|affordable| pairs(0.2, affordable)), [[16; 3], [3; 3], [1; 3]]);
        assert_eq!(PairsPerLayout::new(0.2, 5.0, 0.001, 1e3).of(16), 1);
        assert!(PairsPerLayout::new(0.01, 0.02, 0.000_01, 1e3).of(16) > 4);
    }
}
