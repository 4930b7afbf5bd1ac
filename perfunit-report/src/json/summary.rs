//! The figures of a whole run, in the document.

use crate::counts::Unmeasured;
use crate::wire::finite;
use perfunit_model as model;
use perfunit_model::{Run, Side, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The figures of the whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Entries of `tests` with each verdict.
    pub verdicts: Verdicts,
    /// What the tests without figures are.
    #[serde(default)]
    pub unmeasured: Unmeasured,
    /// Inconclusive tests that are probably slower: there was no time to confirm it.
    #[serde(default)]
    pub probably_slower: usize,
    /// Tests that pass on base and fail on head.
    #[serde(default)]
    pub failing_on_head: usize,
    /// Tests that fail on base and pass on head.
    #[serde(default)]
    pub failing_on_base: usize,
    /// Tests with figures.
    pub measured: usize,
    /// Those judged by their time that could not have shown a change of the threshold.
    #[serde(default)]
    pub insensitive: usize,
    /// Tests found in the built targets.
    pub found: usize,
    /// Gate, as a fraction of base.
    pub threshold: Option<f64>,
    /// The metrics that decide.
    pub gates: Vec<String>,
    /// Probability of a false verdict per test before confirmation.
    pub alpha: Option<f64>,
    /// Wall time of the stages.
    pub seconds: Seconds,
}

/// Counts by the words of `verdict`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names are those of the verdicts")]
pub struct Verdicts {
    pub slower: usize,
    pub faster: usize,
    pub changed_below_threshold: usize,
    pub same: usize,
    pub inconclusive: usize,
    pub not_measured: usize,
}

/// Wall time of the stages in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Seconds {
    /// Versions, source difference, selection, shadow tree.
    pub prepare: f64,
    /// Both builds.
    pub build: f64,
    /// Comparison of machine code, confirmation by execution.
    pub select: f64,
    /// Pilots, pairs and confirmation.
    pub measure: f64,
    /// Builds with probes, and what they are run for.
    pub explain: f64,
}

impl From<&Run> for Verdicts {
    fn from(run: &Run) -> Self {
        Self {
            slower: run.count(Verdict::Slower),
            faster: run.count(Verdict::Faster),
            changed_below_threshold: run.count(Verdict::ChangedBelowThreshold),
            same: run.count(Verdict::Same),
            inconclusive: run.count(Verdict::Inconclusive),
            not_measured: run.count(Verdict::NotMeasured),
        }
    }
}

impl From<&Run> for Summary {
    fn from(run: &Run) -> Self {
        let verdicts = Verdicts::from(run);
        let model::Stages { prepare, build, select, measure, explain } = run.stages;
        let [prepare, build, select, measure, explain] =
            [prepare, build, select, measure, explain].map(|time| time.as_secs_f64());
        Self {
            verdicts,
            unmeasured: Unmeasured::of(run),
            probably_slower: run.probably_slower().count(),
            failing_on_head: run.failing(Side::Head).count(),
            failing_on_base: run.failing(Side::Base).count(),
            measured: run.outcomes.len() - verdicts.not_measured,
            insensitive: run.insensitive().count(),
            found: run.selection.found,
            threshold: finite(run.threshold.fraction()),
            gates: run.gates.iter().map(|metric| metric.name().to_owned()).collect(),
            alpha: finite(run.alpha),
            seconds: Seconds { prepare, build, select, measure, explain },
        }
    }
}
