//! Artificial noise of pairs, with mean 0 and standard deviation 1 unless it says otherwise.

use fastrand::Rng;
use std::f64::consts::{E, PI};

/// Shapes of the noise of a log ratio. The first four are symmetric, as the noise of a pair whose sides could swap names
/// is; the last two break what the rule presumes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    Normal,
    /// Student's t with 3 degrees of freedom.
    HeavyTails,
    /// Gaussian, but one pair in ten is ten times as noisy: a neighbour on the machine.
    Contaminated,
    /// Each side has lognormal noise (sigma 1); the pair is their difference.
    SkewedSides,
    /// Lognormal (sigma 0.5) as a whole, with its 20 % trimmed mean at 0: one side only is disturbed.
    Lopsided,
    /// Gaussian, each pair correlated 0.3 with the one before.
    Drifting,
}

/// Draws of one shape.
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
            Shape::Drifting => {
                self.previous = 0.3 * self.previous + (1.0 - 0.3_f64.powi(2)).sqrt() * normal(rng);
                self.previous
            }
        }
    }
}

/// 20 % trimmed mean of exp(z / 2), z standard normal, by integration between its 20 % and 80 % quantiles.
const LOPSIDED_TRIMMED_MEAN: f64 = 1.027_052_902_819_504_1;
/// Its standard deviation, sqrt((exp(1/4) - 1) exp(1/4)).
const LOPSIDED_DEVIATION: f64 = 0.603_900_533_210_881_1;

fn lognormal_half(rng: &mut Rng) -> f64 {
    (0.5 * normal(rng)).exp()
}

/// Box and Muller; the second of the two numbers is not worth its bookkeeping.
fn normal(rng: &mut Rng) -> f64 {
    // 1 - u, as the logarithm of 0 is infinite.
    (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (2.0 * PI * rng.f64()).cos()
}
