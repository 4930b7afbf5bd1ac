//! JSON knows no infinity and no "not a number": such figures are written as `null`, and read back as "not a number".

use super::Sides;
use serde::{Deserialize, Deserializer};

pub fn one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Option::<f64>::deserialize(deserializer).map(|figure| figure.unwrap_or(f64::NAN))
}

/// Reads a list of figures.
pub fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    let figures = Vec::<Option<f64>>::deserialize(deserializer)?;
    Ok(figures.into_iter().map(|figure| figure.unwrap_or(f64::NAN)).collect())
}

/// Reads a figure of both versions.
pub fn sides<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Sides<f64>, D::Error> {
    Sides::<Option<f64>>::deserialize(deserializer).map(known)
}

/// Reads a figure of both versions that may be absent.
pub fn sides_if_any<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Sides<f64>>, D::Error> {
    Option::<Sides<Option<f64>>>::deserialize(deserializer).map(|sides| sides.map(known))
}

/// Reads a list of figures of each version.
pub fn lists<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Sides<Vec<f64>>, D::Error> {
    let sides = Sides::<Vec<Option<f64>>>::deserialize(deserializer)?;
    Ok(sides.map(|figures| figures.into_iter().map(|figure| figure.unwrap_or(f64::NAN)).collect()))
}

fn known(figures: Sides<Option<f64>>) -> Sides<f64> {
    figures.map(|figure| figure.unwrap_or(f64::NAN))
}
