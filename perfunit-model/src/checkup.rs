//! The findings of `doctor`: what the machine allows and how quiet it is.

use super::Verdict;
use super::error::Error;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Checkup {
    /// The processor's name, as the kernel reports it.
    pub cpu: String,
    /// Findings in a fixed order: requirements, sources of noise, measurements.
    pub findings: Vec<Finding>,
    /// Figures of the measured findings.
    pub noise: Noise,
}

impl Checkup {
    /// Returns the number of findings with this level.
    pub fn count(&self, level: Level) -> usize {
        self.findings.iter().filter(|finding| finding.level == level).count()
    }
}

/// Level of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Good, or without influence.
    Ok,
    /// Verdicts are reliable, but take longer or are less precise.
    Warn,
    /// The tool does not work, or its verdicts are doubtful.
    Bad,
}

/// A single finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// Stable name of the finding, in words with hyphens.
    pub what: &'static str,
    pub value: String,
    /// Level of the finding.
    pub level: Level,
    pub why: &'static str,
    /// Advice, if there is something to do.
    pub advice: Option<&'static str>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Noise {
    /// Noise of the measured cores.
    pub cores: Vec<CoreNoise>,
    /// Distance of the median of equal work above the fastest tenth, as a fraction of the latter.
    pub work_spread: Option<f64>,
    /// Result of comparing a built-in workload with itself, or the error.
    #[serde(serialize_with = "if_measured")]
    #[schemars(with = "Option<AgainstItself>")]
    pub against_itself: Option<Result<AgainstItself, Error>>,
}

/// Noise of a core, measured by reading the clock in a loop.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CoreNoise {
    pub core: usize,
    /// Number of interruptions per second.
    #[schemars(with = "Option<f64>")]
    pub gaps_per_second: f64,
    /// Fraction of the time that was lost to interruptions.
    #[schemars(with = "Option<f64>")]
    pub lost: f64,
    /// The longest interruption, in ns.
    #[schemars(with = "Option<f64>")]
    pub longest_ns: f64,
}

/// Result of measuring a small workload against itself like a test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct AgainstItself {
    pub core: usize,
    /// The verdict, which should be `same`.
    pub verdict: Verdict,
    /// Number of pairs until the verdict.
    pub pairs: usize,
    /// Smallest change that these pairs would have detected with 99 % probability.
    #[schemars(with = "Option<f64>")]
    pub detectable: f64,
    /// Time of one run, ns.
    #[schemars(with = "Option<f64>")]
    pub ns: f64,
    /// Wall time of the measurement, in seconds.
    #[schemars(with = "Option<f64>")]
    pub seconds: f64,
}

#[expect(clippy::ref_option, reason = "serde hands over the field")]
fn if_measured<S: Serializer>(
    result: &Option<Result<AgainstItself, Error>>,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    result.as_ref().and_then(|result| result.as_ref().ok()).serialize(serializer)
}

impl Finding {
    /// Adds advice unless the level is `Ok`.
    #[must_use]
    pub fn unless_ok(self, advice: &'static str) -> Self {
        Self { advice: (self.level != Level::Ok).then_some(advice), ..self }
    }
}
