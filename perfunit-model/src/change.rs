//! How much something changed, in the units that people read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A relative change of head against base, as fractions of base: `0.25` is 25 % slower, `-0.5` takes half the time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Best estimate.
    #[serde(deserialize_with = "super::float::one")]
    pub estimate: f64,
    /// Lower end of the confidence interval.
    #[serde(deserialize_with = "super::float::one")]
    pub low: f64,
    /// Upper end of the confidence interval.
    #[serde(deserialize_with = "super::float::one")]
    pub high: f64,
}

impl Change {
    /// How far the whole interval is from 0, on the side of the estimate; negative if it holds 0.
    pub fn from_zero(&self) -> f64 {
        if self.estimate > 0.0 { self.low } else { -self.high }
    }

    /// Whether an interval half as wide would exclude 0: what an interval that holds 0 can still make probable.
    pub fn leans(&self) -> bool {
        self.estimate != 0.0 && self.estimate.abs() + self.from_zero() >= 0.0
    }
}

/// Cohen's d and its class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EffectSize {
    /// (mean of head - mean of base) / pooled standard deviation, over processes; positive is slower.
    #[serde(deserialize_with = "super::float::one")]
    pub d: f64,
    /// Class of `|d|`.
    pub class: EffectClass,
}

/// Classes of `|d|`: trivial <= 0.2 < small <= 0.5 < medium <= 0.8 < large ((`ChenShang`), after Cohen).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum EffectClass {
    Trivial,
    Small,
    Medium,
    Large,
}
