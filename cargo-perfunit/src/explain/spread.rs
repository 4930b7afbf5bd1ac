//! The largest, the mean and the smallest of what a function takes in several tests: by these a large share of a tiny
//! test is told from a large share of a long one.

/// Over tests, per run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    pub max: f64,
    pub mean: f64,
    pub min: f64,
}

impl Spread {
    /// Of at least one value; of none all is 0.
    pub fn of(values: &[f64]) -> Self {
        if values.is_empty() {
            return Self { max: 0.0, mean: 0.0, min: 0.0 };
        }
        let fold = |with: fn(f64, f64) -> f64| values.iter().copied().reduce(with).unwrap_or_default();
        Self { max: fold(f64::max), mean: values.iter().sum::<f64>() / values.len() as f64, min: fold(f64::min) }
    }
}
