//! Verdicts on tests, and how they were measured.

use super::Sides;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Verdict on one test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The interval excludes 0, the estimate is at or beyond the threshold, and fresh pairs confirmed it.
    Slower,
    /// Like `Slower`, in the other direction.
    Faster,
    /// The interval excludes 0 and lies wholly inside the threshold. It is shown, but never fails a run.
    ChangedBelowThreshold,
    /// The whole interval lies inside the threshold.
    Same,
    /// The interval is too wide or crosses the threshold.
    Inconclusive,
    /// The test was not measured.
    NotMeasured,
}

impl Verdict {
    /// All verdicts, in the order of the summary.
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
    /// The body is repeated in each process, and the steady state is compared.
    Steady,
    /// First calls are compared, each in a child that is forked just before the body, because the body cannot be
    /// repeated or only its first call does work.
    FirstCall,
    /// The body cannot be repeated and its process cannot fork, so the first call in each process is compared.
    Cold,
    /// The target's own harness runs the test, so whole processes are compared from start to exit.
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
    /// Upper end of the confidence interval; infinite if calls on one side did not end.
    #[serde(deserialize_with = "super::json_forms::float::bound")]
    pub high: f64,
}

impl Change {
    /// Returns the distance of the whole interval from 0 on the side of the estimate; negative if it includes 0.
    pub fn from_zero(&self) -> f64 {
        if self.estimate > 0.0 { self.low } else { -self.high }
    }

    /// Returns the largest change in either direction that the interval does not exclude.
    pub fn largest_possible(&self) -> f64 {
        self.high.max(-self.low)
    }

    /// Returns true if an interval half as wide would exclude 0, so that a change is probable.
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

/// Result of single calls in random order for a test with one much slower version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// Each call of the slower version took at least this many times as long as the longest call of the other version.
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub ratio: f64,
    /// Time limit after which calls of the slower version were stopped, in ns; `None` if all of them ended.
    pub limit_ns: Option<f64>,
    /// Number of calls of each version.
    pub calls: Sides<usize>,
}

/// Figures behind an interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Changes of head as fractions of base in the order of measuring, one for each process pair, each group of calls of a
    /// test that starts programs, or each layout if there were several.
    #[serde(deserialize_with = "super::json_forms::float::list")]
    pub estimates: Vec<f64>,
    /// Time of one run in a batch, in ns, over the batches of all pairs (or first calls, if these were compared):
    /// quantiles at equal steps, from the smallest to the largest. Empty if nothing was measured.
    #[serde(deserialize_with = "super::json_forms::float::lists")]
    pub batches: Sides<Vec<f64>>,
}

impl Sample {
    /// Quantiles of a side's batches: one every 5 %.
    pub const QUANTILES: usize = 21;
}
