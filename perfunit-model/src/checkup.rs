//! The findings of `doctor`: what the machine allows and how quiet it is.

use super::Verdict;
use super::error::Error;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Checkup {
    /// The processor, as the kernel names it.
    pub cpu: String,
    /// In a fixed order: what is needed, what it means for noise, what was measured.
    pub findings: Vec<Finding>,
    /// The figures of the measured ones.
    pub noise: Noise,
}

impl Checkup {
    /// How many findings have a level.
    pub fn count(&self, level: Level) -> usize {
        self.findings.iter().filter(|finding| finding.level == level).count()
    }
}

/// How good a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// As it should be, or without influence.
    Ok,
    /// Verdicts hold, but take longer or say less.
    Warn,
    /// The tool does not work, or what it says is doubtful.
    Bad,
}

/// One thing looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// What, as a word with hyphens that stays the same.
    pub what: &'static str,
    pub value: String,
    /// How good that is.
    pub level: Level,
    pub why: &'static str,
    /// What to do, if there is something.
    pub advice: Option<&'static str>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Noise {
    /// Each core that was looked at.
    pub cores: Vec<CoreNoise>,
    /// How far the median of equal pieces of work lies above the best tenth, as a fraction of it.
    pub work_spread: Option<f64>,
    /// A workload of our own against itself, or why that was not possible.
    #[serde(serialize_with = "if_measured")]
    #[schemars(with = "Option<AgainstItself>")]
    pub against_itself: Option<Result<AgainstItself, Error>>,
}

/// A core while somebody does nothing but read the clock on it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CoreNoise {
    pub core: usize,
    /// Times in a second that something else ran.
    #[schemars(with = "Option<f64>")]
    pub gaps_per_second: f64,
    /// Share of the time that was lost so.
    #[schemars(with = "Option<f64>")]
    pub lost: f64,
    /// The longest gap, in ns.
    #[schemars(with = "Option<f64>")]
    pub longest_ns: f64,
}

/// A small workload measured as a test is, both sides the same.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct AgainstItself {
    pub core: usize,
    /// The verdict, which should be "same".
    pub verdict: Verdict,
    /// Pairs until it was given.
    pub pairs: usize,
    /// Smallest change that these pairs would have shown with 99 % probability.
    #[schemars(with = "Option<f64>")]
    pub detectable: f64,
    /// Time of one run, ns.
    #[schemars(with = "Option<f64>")]
    pub ns: f64,
    /// How long it took.
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
    /// Advice for what is not as it should be.
    #[must_use]
    pub fn unless_ok(self, advice: &'static str) -> Self {
        Self { advice: (self.level != Level::Ok).then_some(advice), ..self }
    }
}
