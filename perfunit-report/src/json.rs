//! `--message-format json`: the whole run as one document, described in `docs/json.md`.

mod environment;
mod selection;
mod sharding;
mod summary;
#[cfg(test)]
mod tests;

pub use environment::Environment;
pub use selection::Selection;
pub use sharding::Sharding;
pub use summary::{Summary, Verdicts};

use super::explained::Explanation;
use super::generated_document::Calls;
use super::growth;
use super::metered::{CrossCheck, MetricResult, metrics};
use super::ratchet;
use super::wire::{Bound, Interval, Reason, SCHEMA_VERSION, Test, Throughput, finite, pretty};
use perfunit_model as model;
use perfunit_model::{Capture, EffectClass, Measured, Mode, Outcome, Repeat, Run, Verdict, VersionName, Why};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    /// Version of the format.
    pub schema_version: u32,
    /// The version compared against.
    pub base: VersionName,
    /// The version under test.
    pub head: VersionName,
    /// What the figures depend on besides the code.
    pub environment: Environment,
    /// Which tests were taken, and why.
    pub selection: Selection,
    /// One entry for each outcome, in the order of the run.
    pub tests: Vec<TestResult>,
    /// The figures of the whole run.
    pub summary: Summary,
    /// Warnings of all stages.
    pub warnings: Vec<String>,
    /// Whether Ctrl-C cut the run short.
    pub interrupted: bool,
    /// The command that makes the same comparison again, where that is known.
    #[serde(default)]
    pub repeat: Option<Repeat>,
    /// How the run was shared out, if it was.
    pub sharding: Option<Sharding>,
    /// How the work of functions grows with the length of their input, where that was asked for.
    #[serde(default)]
    pub growth: Option<growth::Growth>,
    /// Workloads with a parameter whose time grows with a larger power of it.
    #[serde(default)]
    pub scaling: Vec<growth::Scaling>,
    /// The comparison with an older version besides, where one was asked for.
    #[serde(default)]
    pub ratchet: Option<Ratchet>,
    /// The comparison of calls that were made up for functions without tests, where it was asked for.
    #[serde(default)]
    pub generated: Option<GeneratedCalls>,
}

/// The comparison with the ratchet's version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ratchet {
    pub version: VersionName,
    /// The whole comparison, as of a run of its own with that version as base; null if it could not be made.
    pub comparison: Option<Box<Document>>,
    /// Why it was not made.
    pub not_compared: Option<NotCompared>,
    /// Tests that are slower than that version and not slower than base.
    pub cumulative_losses: Vec<Test>,
    /// Losses that were accepted of tests in `comparison`.
    pub accepted: Vec<AcceptedLoss>,
}

/// The comparison of generated calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratedCalls {
    #[serde(flatten)]
    pub generation: Calls,
    /// The whole comparison, as of a run of its own; null if there was none.
    pub comparison: Option<Box<Document>>,
    /// Why it was not made, if there were calls to compare.
    pub not_compared: Option<NotCompared>,
}

/// Why there is no comparison with the ratchet's version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NotCompared {
    #[serde(flatten)]
    pub why: model::NotCompared,
    /// The same as a sentence.
    pub text: String,
}

/// A loss that was accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AcceptedLoss {
    #[serde(flatten)]
    pub test: Test,
    /// As a fraction of the time at the ratchet's version.
    pub loss: Option<f64>,
    pub reason: String,
    /// When it was accepted.
    pub date: String,
}

/// What is known about one test; figures are `null` for a test that was not measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TestResult {
    /// Which test.
    #[serde(flatten)]
    pub test: Test,
    /// `slower`, `faster`, `changed-below-threshold`, `same`, `inconclusive` or `not-measured`.
    pub verdict: Verdict,
    /// Why it was not measured, or why it is inconclusive.
    pub reason: Option<Reason>,
    /// Head against base, as fractions of base; positive is slower.
    pub change: Option<Interval>,
    /// Time of one run of the test body on base, in nanoseconds.
    pub base_ns: Option<f64>,
    /// The same on head.
    pub head_ns: Option<f64>,
    /// What a benchmark works through, as it says itself.
    #[serde(default)]
    pub throughput: Option<Throughput>,
    /// What single calls showed, if they decided and not pairs.
    #[serde(default)]
    pub bound: Option<Bound>,
    /// Pairs of processes behind the interval.
    pub pairs: Option<usize>,
    /// Layouts of the code behind the interval.
    pub layouts: Option<usize>,
    /// `steady`, `cold` or `process`.
    pub mode: Option<Mode>,
    /// The smallest change that was judged: the run's threshold, or more where less cannot be detected.
    pub threshold: Option<f64>,
    /// The metrics that decide, if the test has its own.
    #[serde(default)]
    pub gates: Option<Vec<String>>,
    /// The smallest change that these pairs would have shown with 99 % probability, as a fraction of base.
    pub detectable: Option<f64>,
    /// Two-sided p value of "no change".
    pub p_value: Option<f64>,
    /// Effect size.
    pub cohens_d: Option<CohensD>,
    /// Every metric by name, time among them.
    pub metrics: Option<BTreeMap<String, MetricResult>>,
    /// Whether time and work go together: what does not.
    pub cross_check: Option<CrossCheck>,
    /// `macro` or `runner`, once known.
    pub capture: Option<Capture>,
    /// Why it was selected, in words; empty if it was not.
    pub selected_because: String,
    /// What of its machine code differs, where that was compared.
    pub why: Option<Why>,
    /// The responsible functions, where that was asked for and found out.
    pub explanation: Option<Explanation>,
    /// Why no function is named, where that was asked for.
    #[serde(default)]
    pub unexplained_because: Option<String>,
    /// Remarks beside the verdict.
    pub notes: Vec<String>,
}

/// Cohen's d and its class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CohensD {
    /// (mean of head - mean of base) / pooled standard deviation, over processes.
    pub d: Option<f64>,
    /// `trivial`, `small`, `medium` or `large`.
    pub class: EffectClass,
}

/// The document as pretty JSON with a trailing newline.
pub fn render(run: &Run) -> String {
    pretty(&Document::from(run))
}

impl From<&Run> for Document {
    fn from(run: &Run) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            base: run.base.clone(),
            head: run.head.clone(),
            environment: Environment::from(&run.environment),
            selection: Selection::from(&run.selection),
            tests: run.outcomes.iter().map(TestResult::from).collect(),
            summary: Summary::from(run),
            warnings: run.warnings.iter().map(ToString::to_string).collect(),
            interrupted: run.interrupted,
            repeat: run.repeat.clone(),
            sharding: run.sharding.as_ref().map(Sharding::from),
            growth: run.growth.as_ref().map(growth::Growth::from),
            scaling: run.scaling.iter().map(growth::Scaling::from).collect(),
            ratchet: run.ratchet.as_ref().map(|found| Ratchet::of(found, run)),
            generated: run.generated.as_ref().map(GeneratedCalls::from),
        }
    }
}

impl Ratchet {
    fn of(found: &model::Ratchet, run: &Run) -> Self {
        let not_compared = |why: &model::NotCompared| NotCompared { why: why.clone(), text: why.to_string() };
        let accepted = |(outcome, accepted): (&Outcome, &model::AcceptedLoss)| AcceptedLoss {
            test: Test::from(&outcome.test),
            loss: finite(accepted.loss),
            reason: accepted.reason.clone(),
            date: accepted.date.clone(),
        };
        Self {
            version: found.version.clone(),
            comparison: found.run().map(|run| Box::new(Document::from(run))),
            not_compared: found.comparison.as_ref().err().map(not_compared),
            cumulative_losses: run.cumulative_losses().into_iter().map(|outcome| Test::from(&outcome.test)).collect(),
            accepted: ratchet::accepted(run).map(accepted).collect(),
        }
    }
}

impl From<&model::GeneratedCalls> for GeneratedCalls {
    fn from(generated: &model::GeneratedCalls) -> Self {
        let why = generated.comparison.as_ref().and_then(|comparison| comparison.as_ref().err());
        Self {
            generation: Calls::from(&generated.generation),
            comparison: generated.run().map(|run| Box::new(Document::from(run))),
            not_compared: why.map(|why| NotCompared { why: why.clone(), text: why.to_string() }),
        }
    }
}

impl From<&Outcome> for TestResult {
    fn from(outcome: &Outcome) -> Self {
        let measured = outcome.measured.as_ref();
        Self {
            test: Test::from(&outcome.test),
            verdict: outcome.verdict,
            reason: outcome.reason.as_ref().map(Reason::from),
            change: measured.map(|m| Interval::from(m.change)),
            base_ns: measured.and_then(|m| finite(m.base_ns)),
            head_ns: measured.and_then(|m| finite(m.head_ns)),
            throughput: measured.and_then(Throughput::of),
            bound: measured.and_then(|m| m.bound.as_ref()).map(Bound::from),
            pairs: measured.map(|m| m.pairs),
            layouts: measured.map(|m| m.layouts),
            mode: measured.map(|m| m.mode),
            threshold: measured.and_then(|m| finite(m.threshold)),
            gates: outcome.gates.as_ref().map(|gates| gates.iter().map(|metric| metric.name().to_owned()).collect()),
            detectable: measured.and_then(|m| finite(m.detectable)),
            p_value: measured.and_then(|m| finite(m.p_value)),
            cohens_d: measured.map(CohensD::from),
            metrics: metrics(&outcome.metrics),
            cross_check: outcome.cross_check.as_ref().map(CrossCheck::from),
            capture: outcome.capture,
            selected_because: outcome.selected_because.as_ref().map(ToString::to_string).unwrap_or_default(),
            why: outcome.why.clone(),
            explanation: outcome.explanation.as_ref().map(Explanation::from),
            unexplained_because: outcome.unexplained.as_ref().map(ToString::to_string),
            notes: outcome.notes.iter().map(ToString::to_string).collect(),
        }
    }
}

impl From<&Measured> for CohensD {
    fn from(measured: &Measured) -> Self {
        Self { d: finite(measured.effect.d), class: measured.effect.class }
    }
}
