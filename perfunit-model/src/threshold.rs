//! The smallest change that counts.

use super::suggest::Written;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// Threshold as a fraction of base: more than 0 and less than 1. Written `10%` or `0.1`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Threshold(f64);

/// The bounds that reports name, as fractions of base.
const BOUNDS: [f64; 4] = [0.01, 0.02, 0.05, 0.1];

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidThreshold {
    #[error("invalid threshold `{0}`: use a percentage such as `10%`")]
    NoNumber(String),
    #[error("the change `{0}` must be greater than 0 % and less than 100 %")]
    OutOfRange(String),
}

impl Threshold {
    /// Returns a threshold; `None` unless the fraction is between 0 and 1.
    pub fn new(fraction: f64) -> Option<Self> {
        (fraction > 0.0 && fraction < 1.0).then_some(Self(fraction))
    }

    pub fn fraction(self) -> f64 {
        self.0
    }

    /// Returns the largest change of an unchanged test: see [`margin`].
    pub fn margin(self) -> f64 {
        margin(self.0)
    }

    /// Returns the bounds that reports name, up to and including this one.
    pub fn bounds(self) -> impl Iterator<Item = Self> {
        BOUNDS.into_iter().filter(move |bound| *bound < self.0).chain([self.0]).map(Self)
    }

    /// Returns the default change from which a test counts as inconclusive.
    pub fn of_inconclusive() -> Self {
        Self(0.1)
    }

    /// Returns the larger one of this threshold and a fraction.
    #[must_use]
    pub fn at_least(self, fraction: f64) -> Self {
        Self(self.0.max(fraction))
    }
}

/// Change that code placement can cause if it cannot be matched: 99 % of null edits of hot functions stay below 1.5 %.
pub const OF_PLACES: f64 = 0.02;
/// The same in ns for very short tests with unchanged alignment: null edits caused 0.4 to 4.5 ns.
pub const OF_PLACES_NS: f64 = 5.0;
/// Reach of code placement: up to 16 % were seen without matched layouts, and next to loops that could not be anchored.
pub const REACH_OF_PLACES: f64 = 0.15;
/// Reach of a loop's position within a function with unchanged alignment, which all layouts share, with a margin. Null
/// edits caused up to 21 %.
pub const REACH_WITHIN_CODE: f64 = 0.5;
/// Reach of different code with the same instructions at the same addresses, with a margin, such as larger frames or
/// other branch prediction. Null edits caused up to 5 %.
pub const REACH_OF_CODE: f64 = 0.1;

/// Returns the equivalence margin of a threshold: a test is unchanged if its interval lies inside. It is twice the
/// threshold, but limited to what code placement can cause, and at least the threshold. Excluding 1 % takes four times
/// the pairs that 2 % takes.
pub fn margin(threshold: f64) -> f64 {
    threshold.max((2.0 * threshold).min(OF_PLACES))
}

impl From<Threshold> for f64 {
    fn from(threshold: Threshold) -> Self {
        threshold.0
    }
}

impl Default for Threshold {
    /// Returns the default threshold.
    fn default() -> Self {
        Self(0.01)
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = format!("{:.4}", self.0 * 100.0);
        write!(f, "{}%", percent.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl FromStr for Threshold {
    type Err = InvalidThreshold;

    fn from_str(text: &str) -> Result<Self, InvalidThreshold> {
        let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
        let number: f64 = number.trim().parse().map_err(|_| InvalidThreshold::NoNumber(text.to_owned()))?;
        Self::new(number / scale).ok_or_else(|| InvalidThreshold::OutOfRange(text.to_owned()))
    }
}

impl<'de> Deserialize<'de> for Threshold {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = |number: f64| number.to_string().parse();
        let expected = "a change like \"2%\" or 0.02";
        deserializer.deserialize_any(Written { expected, read: Self::from_str, number: Some(number) })
    }
}

impl JsonSchema for Threshold {
    fn schema_name() -> Cow<'static, str> {
        "Threshold".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A change as a percentage (\"2%\") or as a fraction (0.02): more than 0, less than 100 %.",
            "anyOf": [
                { "type": "string", "pattern": r"^\s*[0-9.]+\s*%?$" },
                { "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_percentages_or_fractions() {
        assert_eq!("10%".parse(), Ok(Threshold(0.1)));
        assert_eq!("0.05".parse(), Ok(Threshold(0.05)));
        let fails = |text: &str| text.parse::<Threshold>().is_err();
        assert!(fails("10") && fails("0%") && fails("x") && fails("nan"));
    }

    #[test]
    fn the_margin_grows_with_the_threshold_and_is_never_less() {
        let margins = [0.005, 0.01, 0.015, 0.02, 0.05].map(|fraction| format!("{:.3}", Threshold(fraction).margin()));
        assert_eq!(margins, ["0.010", "0.020", "0.020", "0.020", "0.050"]);
    }
}
