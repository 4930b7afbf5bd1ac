//! Artificial noise of pairs, with mean 0 and standard deviation 1 unless stated otherwise.

use fastrand::Rng;
use statrs::distribution::{Continuous, ContinuousCDF, Normal};
use std::f64::consts::{E, PI};

/// Shapes of the noise of a log ratio. The noise of a pair with interchangeable sides is symmetric, as the first five
/// shapes are; the others break the assumptions of the rule. The center of each shape, the truth, is its 20 % trimmed
/// mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    Normal,
    /// Student's t with 3 degrees of freedom.
    HeavyTails,
    /// Gaussian, but one pair in ten is ten times as noisy, like a neighbor on the machine.
    Contaminated,
    /// Difference of two sides that each have lognormal noise (sigma 1).
    SkewedSides,
    /// Two equal groups at -1 and 1, each with a standard deviation of 0.1, like a good or a bad place of code or data.
    TwoGroups,
    /// Lognormal (sigma 0.5) as a whole, with its 20 % trimmed mean at 0: only one side is disturbed.
    Lopsided,
    /// Exponential.
    Exponential,
    /// Noise with this part of the pairs in a separate group, at a distance of 20 standard deviations of a group.
    Minority(f64),
    /// Gaussian, where each pair is correlated this much with the previous one.
    Correlated(f64),
    /// Gaussian, where a fifth of the variance drifts slowly, correlated 0.95 from pair to pair.
    SlowDrift,
}

/// Generator of draws of one shape.
pub struct Noise {
    shape: Shape,
    rng: Rng,
    previous: f64,
}

impl Noise {
    pub fn new(shape: Shape, seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let previous = normal(&mut rng);
        Self { shape, rng, previous }
    }

    /// Forgets the previous draw: the next draw is the first of another test.
    pub fn begin(&mut self) {
        self.previous = normal(&mut self.rng);
    }

    pub fn happens(&mut self, probability: f64) -> bool {
        self.rng.f64() < probability
    }

    pub fn draw(&mut self) -> f64 {
        let rng = &mut self.rng;
        match self.shape {
            Shape::Normal => normal(rng),
            // The variance of t with 3 degrees of freedom is 3.
            Shape::HeavyTails => {
                let chi_squared: f64 = (0..3).map(|_| normal(rng).powi(2)).sum();
                normal(rng) / chi_squared.sqrt()
            }
            // The variance is 0.9 + 0.1 * 100.
            Shape::Contaminated => normal(rng) * if rng.f64() < 0.1 { 10.0 } else { 1.0 } / 10.9_f64.sqrt(),
            // The variance of each side is (e - 1) e.
            Shape::SkewedSides => (normal(rng).exp() - normal(rng).exp()) / (2.0 * (E - 1.0) * E).sqrt(),
            Shape::Lopsided => (lognormal_half(rng) - LOPSIDED_TRIMMED_MEAN) / LOPSIDED_DEVIATION,
            Shape::TwoGroups => (if rng.bool() { 1.0 } else { -1.0 }) + 0.1 * normal(rng),
            Shape::Exponential => -(1.0 - rng.f64()).ln() - EXPONENTIAL_TRIMMED_MEAN,
            Shape::Minority(part) => {
                let group = if rng.f64() < part { 20.0 } else { 0.0 };
                (group + normal(rng) - majority_trimmed_mean(part)) / (20.0 * (part * (1.0 - part)).sqrt())
            }
            Shape::Correlated(correlation) => self.autoregressive(correlation),
            Shape::SlowDrift => 0.2_f64.sqrt() * self.autoregressive(0.95) + 0.8_f64.sqrt() * normal(&mut self.rng),
        }
    }

    fn autoregressive(&mut self, correlation: f64) -> f64 {
        let fresh = normal(&mut self.rng);
        self.previous = correlation * self.previous + (1.0 - correlation.powi(2)).sqrt() * fresh;
        self.previous
    }
}

/// Returns the 20 % trimmed mean of a group that is the lower part of all values, where the rest makes up to 20 % of
/// them: the mean of standard normal noise between two quantiles.
fn majority_trimmed_mean(rest: f64) -> f64 {
    let (normal, majority) = (Normal::standard(), 1.0 - rest);
    let density = |part: f64| if part < 1.0 { normal.pdf(normal.inverse_cdf(part)) } else { 0.0 };
    (density(0.2 / majority) - density(0.8 / majority)) * majority / 0.6
}

/// 20 % trimmed mean of the exponential distribution, ((1 - ln 0.8) 0.8 - (1 - ln 0.2) 0.2) / 0.6.
const EXPONENTIAL_TRIMMED_MEAN: f64 = 0.761_045_439_396_793_3;
/// 20 % trimmed mean of exp(z / 2), z standard normal, by integration between its 20 % and 80 % quantiles.
const LOPSIDED_TRIMMED_MEAN: f64 = 1.027_052_902_819_504_1;
/// Standard deviation of exp(z / 2), sqrt((exp(1/4) - 1) exp(1/4)).
const LOPSIDED_DEVIATION: f64 = 0.603_900_533_210_881_1;

fn lognormal_half(rng: &mut Rng) -> f64 {
    (0.5 * normal(rng)).exp()
}

/// Draws a normal number after Box and Muller. The second of the two numbers is dropped, because keeping it is not
/// worth the code.
fn normal(rng: &mut Rng) -> f64 {
    // The argument is 1 - u, because the logarithm of 0 is infinite.
    (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (2.0 * PI * rng.f64()).cos()
}
