//! JSON knows no infinity and no "not a number": such figures are written as `null`, and read back as "not a number".

use serde::{Deserialize, Deserializer};

/// Reads one figure.
pub fn one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Option::<f64>::deserialize(deserializer).map(|figure| figure.unwrap_or(f64::NAN))
}

/// Reads a list of figures.
pub fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    let figures = Vec::<Option<f64>>::deserialize(deserializer)?;
    Ok(figures.into_iter().map(|figure| figure.unwrap_or(f64::NAN)).collect())
}
