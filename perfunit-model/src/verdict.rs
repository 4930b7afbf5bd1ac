//! The answer for a test, and how it was found.

use super::Sides;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer for one test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The interval excludes 0, the estimate is at or beyond the threshold, and fresh pairs confirmed it.
    Slower,
    /// As `Slower`, in the other direction.
    Faster,
    /// The interval excludes 0 and lies wholly inside the threshold: shown, never gated.
    ChangedBelowThreshold,
    /// The whole interval lies inside the threshold.
    Same,
    /// Measured, but the interval is too wide to tell, or reaches across the threshold.
    Inconclusive,
    /// Not measured, with a reason.
    NotMeasured,
}

impl Verdict {
    /// All of them, in the order of the summary.
    pub const ALL: [Verdict; 6] = [
        Verdict::Slower,
        Verdict::Faster,
        Verdict::ChangedBelowThreshold,
        Verdict::Same,
        Verdict::Inconclusive,
        Verdict::NotMeasured,
    ];

    pub fn is_change(self) -> bool {
        matches!(self, Verdict::Slower | Verdict::Faster)
    }
}

/// How a test was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The body is repeated in each process; the steady state is compared.
    Steady,
    /// First calls are compared, each in a child that is forked just before the body: it cannot be repeated, or only its
    /// first call holds work.
    FirstCall,
    /// The body cannot be repeated, nor can its process fork; its first call in each process is compared.
    Cold,
    /// A harness of its own runs it: whole processes are compared, from their start to their end.
    Process,
}

/// A relative change of head against base, as fractions of base: `0.25` is 25 % slower, `-0.5` takes half the time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Best estimate.
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub estimate: f64,
    /// Lower end of the confidence interval.
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub low: f64,
    /// Upper end of the confidence interval.
    #[serde(deserialize_with = "super::json_forms::float::one")]
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
    #[serde(deserialize_with = "super::json_forms::float::one")]
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

/// What single calls in random order showed of a test whose one version is slower by far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// Each call of the slower version took at least so many times as long as the longest call of the other one.
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub ratio: f64,
    /// After this time calls of the slower version were stopped, ns; `None` if all of them ended.
    pub limit_ns: Option<f64>,
    /// Calls of each version.
    pub calls: Sides<usize>,
}

/// The figures from which an interval was made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Head's change as a fraction of base, one for each unit of replication in the order of measuring: a pair of
    /// processes, or a layout where there were several.
    #[serde(deserialize_with = "super::json_forms::float::list")]
    pub estimates: Vec<f64>,
    /// Time of one run in a batch, ns, over the batches of all pairs (first calls, where these were compared): quantiles
    /// at equal steps, the smallest first and the largest last. Empty if nothing was measured.
    #[serde(deserialize_with = "super::json_forms::float::lists")]
    pub batches: Sides<Vec<f64>>,
}

impl Sample {
    /// Quantiles of a side's batches: one every 5 %.
    pub const QUANTILES: usize = 21;
}
