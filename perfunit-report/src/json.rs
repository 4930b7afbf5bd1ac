//! `--message-format json`: the whole run as one document, described in `docs/json.md`.

use super::counts::{Excluded, Unmeasured};
use super::explanations::Explanation;
use super::generate::Calls;
use super::metrics::{CrossCheck, MetricResult, metrics};
use super::wire::{Bound, Interval, Reason, SCHEMA_VERSION, Test, Throughput, finite, pretty};
use super::{acceptance, growth, pooled_change, ratchet};
use perfunit_model as model;
use perfunit_model::{
    Capture, EffectClass, Function, LayoutMatch, LtoKind, Measured, Mode, NoLayout, Outcome, PartitionKind, Repeat,
    Run, Side, TargetId, Threshold, Uncovered, Verdict, VersionName, Why,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The environment that the figures depend on, apart from the code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// First line of `rustc -vV`.
    pub rustc: String,
    /// Host triple.
    pub host: String,
    /// Cargo profile of the build.
    pub profile: String,
    /// The profile's link-time optimization (LTO) if the build left it out, otherwise `null`.
    #[serde(default)]
    pub lto_off: Option<LtoKind>,
    /// CPU model.
    pub cpu: String,
    /// The core that ran the measured processes.
    pub core: usize,
    /// True if both processes of a pair had the same address space.
    pub paired_address_space: bool,
    /// True if all measured targets were linked with matched layouts.
    pub layout_controlled: bool,
    /// Layout matching by target.
    pub layouts: Vec<TargetLayout>,
}

/// How much code of base and head has equal addresses in the executables of a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetLayout {
    /// The target.
    pub target: String,
    /// Counts of matched code; all 0 if layouts were not matched.
    #[serde(flatten)]
    pub matched: LayoutMatch,
    /// The reason if layouts were not matched.
    pub uncontrolled_because: Option<String>,
}

impl From<&model::Environment> for Environment {
    fn from(environment: &model::Environment) -> Self {
        Self {
            rustc: environment.rustc.clone(),
            host: environment.host.clone(),
            profile: environment.profile.clone(),
            lto_off: environment.lto_off,
            cpu: environment.cpu.clone(),
            core: environment.core,
            paired_address_space: environment.paired_address_space,
            layout_controlled: environment.layouts.values().all(Result::is_ok),
            layouts: environment.layouts.iter().map(TargetLayout::from).collect(),
        }
    }
}

impl From<(&TargetId, &Result<LayoutMatch, NoLayout>)> for TargetLayout {
    fn from((target, state): (&TargetId, &Result<LayoutMatch, NoLayout>)) -> Self {
        Self {
            target: target.to_string(),
            matched: state.clone().unwrap_or_default(),
            uncontrolled_because: state.as_ref().err().map(ToString::to_string),
        }
    }
}

/// The result of selection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Selection {
    /// Tests found in the built targets.
    pub found: usize,
    /// Targets of the workspace that hold tests.
    pub targets: usize,
    /// Targets that the change can reach.
    pub targets_reached: usize,
    /// Tests that can reach changed machine code, whether they execute it or not.
    pub reachable: usize,
    /// Selected tests: those that can reach changed machine code, except tests that were seen to run without executing
    /// it.
    pub executed: usize,
    /// Tests dropped before measuring, by kind of reason; with `executed` they add up to `found`.
    pub left_out: BTreeMap<String, usize>,
    /// Changed items and inputs in words, the most telling first.
    pub changes: Vec<String>,
    /// The effect of each change in words, in case nothing was selected.
    pub effects: Vec<String>,
    /// The reason if nothing was selected.
    pub nothing_because: Option<String>,
    /// Changed functions that no test executes, by file and line.
    #[serde(default)]
    pub uncovered: Vec<Uncovered>,
    /// Functions with changes that a condition (`cfg`) excludes from both builds, by file and line.
    #[serde(default)]
    pub not_compiled: Vec<Function>,
    /// Targets and kinds of tests that are not measured, each with its reason ("doc tests of foo: measured on request
    /// (--doc)").
    pub unmeasured_targets: Vec<String>,
}

impl From<&model::Selection> for Selection {
    fn from(selection: &model::Selection) -> Self {
        let model::Selection { found, targets, targets_reached, reachable, executed, .. } = *selection;
        Self {
            found,
            targets,
            targets_reached,
            reachable,
            executed,
            left_out: selection.left_out.clone(),
            changes: words(&selection.changes),
            effects: words(&selection.effects),
            nothing_because: selection.nothing_because.map(|because| because.to_string()),
            uncovered: selection.uncovered.clone(),
            not_compiled: selection.not_compiled.clone(),
            unmeasured_targets: words(&selection.unmeasured_targets),
        }
    }
}

fn words(all: &[impl ToString]) -> Vec<String> {
    all.iter().map(ToString::to_string).collect()
}

/// Division of a run into shards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sharding {
    /// `slice` or `hash`.
    pub kind: PartitionKind,
    /// Number of shards.
    pub shards: usize,
    /// All tests that were divided, sorted. The error rate covers all of them.
    pub candidates: Vec<Test>,
    /// The shards in this document: one, or all after `merge`.
    pub parts: Vec<Part>,
}

/// One shard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// Its number, from 1.
    pub shard: usize,
    /// Number of tests assigned to the shard.
    pub tests: usize,
    /// The environment that measured the shard.
    pub environment: Environment,
    /// Wall time of measuring, in seconds.
    pub measure_seconds: f64,
    /// True if Ctrl-C stopped the shard.
    pub interrupted: bool,
}

impl From<&model::Sharding> for Sharding {
    fn from(sharding: &model::Sharding) -> Self {
        Self {
            kind: sharding.kind,
            shards: sharding.shards,
            candidates: sharding.candidates.iter().map(Test::from).collect(),
            parts: sharding.parts.iter().map(Part::from).collect(),
        }
    }
}

impl From<&model::Part> for Part {
    fn from(part: &model::Part) -> Self {
        Self {
            shard: part.shard,
            tests: part.tests,
            environment: Environment::from(&part.environment),
            measure_seconds: part.stages.measure.as_secs_f64(),
            interrupted: part.interrupted,
        }
    }
}

/// Figures of the whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Tests by verdict.
    pub verdicts: Verdicts,
    /// Tests without figures, by category.
    #[serde(default)]
    pub unmeasured: Unmeasured,
    /// The change that an inconclusive test may have reached, as a fraction of base. Inconclusive tests that certainly
    /// changed by less are `bounded` and do not fail a run.
    #[serde(default)]
    pub bound: Option<f64>,
    /// Tests with the verdict `inconclusive` that are unchanged within a bound.
    #[serde(default)]
    pub bounded: usize,
    /// The slowdown that most tests of the run exclude.
    #[serde(default)]
    pub excluded: Option<Excluded>,
    /// Tests with the verdict `slower` whose slowdown is accepted on purpose.
    #[serde(default)]
    pub accepted: usize,
    /// Inconclusive tests that are probably slower, but were not confirmed for lack of time.
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
    /// Tests judged by time that could not have detected a change of the threshold.
    #[serde(default)]
    pub insensitive: usize,
    /// Tests found in the built targets.
    pub found: usize,
    /// The threshold, as a fraction of base.
    pub threshold: Option<f64>,
    /// The metrics that decide.
    pub gates: Vec<String>,
    /// Probability of a false verdict per test before confirmation.
    pub alpha: Option<f64>,
    /// Wall time of the stages.
    pub seconds: Seconds,
}

/// Counts by verdict.
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

/// Wall time of the stages, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Seconds {
    /// Resolving versions, comparing sources, selecting targets, writing the shadow tree.
    pub prepare: f64,
    /// Building both versions.
    pub build: f64,
    /// Comparing machine code and tracing tests.
    pub select: f64,
    /// Pilot runs, pairs and confirmation.
    pub measure: f64,
    /// Builds with probes and their runs.
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
            bound: finite(run.bound.fraction()),
            bounded: run.count(Verdict::Inconclusive) - run.inconclusive().count(),
            excluded: Excluded::of(run),
            accepted: run.accepted_tests().count(),
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

/// The JSON document of `diff` and `report`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    /// Version of the format.
    pub schema_version: u32,
    /// The version compared against.
    pub base: VersionName,
    /// The version under test.
    pub head: VersionName,
    /// The environment that the figures depend on, apart from the code.
    pub environment: Environment,
    /// The selected tests and the reasons.
    pub selection: Selection,
    /// The tests, in the order of the run.
    pub tests: Vec<TestResult>,
    /// Figures of the whole run.
    pub summary: Summary,
    /// Warnings of all stages.
    pub warnings: Vec<String>,
    /// True if Ctrl-C stopped the run.
    pub interrupted: bool,
    /// The command that repeats the comparison, if known.
    #[serde(default)]
    pub repeat: Option<Repeat>,
    /// Division of the run into shards, if it was divided.
    pub sharding: Option<Sharding>,
    /// Programs of the workspace that at least eleven tests start, each with its typical change over these tests.
    #[serde(default)]
    pub programs: Vec<pooled_change::ProgramOfRun>,
    /// Changed functions with the mean change of the tests that enter the changed code there, where no test is slower or
    /// faster alone and the mean may have changed.
    #[serde(default)]
    pub functions: Vec<pooled_change::FunctionChange>,
    /// Growth of functions' work with the length of their input, if requested.
    #[serde(default)]
    pub growth: Option<growth::Growth>,
    /// Workloads with a parameter and time that grows with a larger power of it.
    #[serde(default)]
    pub scaling: Vec<growth::Scaling>,
    /// The comparison with an older version, if requested.
    #[serde(default)]
    pub ratchet: Option<Ratchet>,
    /// The comparison of generated calls for functions without tests, if requested.
    #[serde(default)]
    pub generated: Option<GeneratedCalls>,
}

/// The comparison with the ratchet's version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ratchet {
    pub version: VersionName,
    /// The comparison as a run of its own with that version as base; null if it could not be made.
    pub comparison: Option<Box<Document>>,
    /// The reason if the comparison was not made.
    pub not_compared: Option<NotCompared>,
    /// Tests that are slower than that version and not slower than base.
    pub cumulative_losses: Vec<Test>,
    /// Accepted losses of tests in `comparison`.
    pub accepted: Vec<AcceptedLoss>,
}

/// The comparison of generated calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratedCalls {
    #[serde(flatten)]
    pub generation: Calls,
    /// The comparison as a run of its own; null if there was none.
    pub comparison: Option<Box<Document>>,
    /// The reason if there were calls but no comparison.
    pub not_compared: Option<NotCompared>,
}

/// The reason for a missing comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NotCompared {
    #[serde(flatten)]
    pub why: model::NotCompared,
    /// The reason as a sentence.
    pub text: String,
}

/// An accepted loss.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AcceptedLoss {
    #[serde(flatten)]
    pub test: Test,
    /// Loss as a fraction of the time at the ratchet's version.
    pub loss: Option<f64>,
    pub reason: String,
    /// Date of acceptance.
    pub date: String,
}

/// The result of one test; figures are `null` for a test that was not measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TestResult {
    /// The test.
    #[serde(flatten)]
    pub test: Test,
    /// `slower`, `faster`, `changed-below-threshold`, `same`, `inconclusive` or `not-measured`.
    pub verdict: Verdict,
    /// The reason if the test was not measured or is inconclusive.
    pub reason: Option<Reason>,
    /// The slowdown that is accepted on purpose, of a test that got slower.
    #[serde(default)]
    pub accepted: Option<acceptance::Accepted>,
    /// Change of head against base, as a fraction of base; positive is slower.
    pub change: Option<Interval>,
    /// The change that remains possible; null if unbounded.
    #[serde(default)]
    pub possible_change: Option<PossibleChange>,
    /// Time of one run of the test body on base, in nanoseconds.
    pub base_ns: Option<f64>,
    /// Time of one run of the test body on head, in nanoseconds.
    pub head_ns: Option<f64>,
    /// The throughput of a benchmark that declares one.
    #[serde(default)]
    pub throughput: Option<Throughput>,
    /// Result of single calls, if they decided instead of pairs.
    #[serde(default)]
    pub bound: Option<Bound>,
    /// Pairs of processes behind the interval.
    pub pairs: Option<usize>,
    /// Layouts of the code behind the interval.
    pub layouts: Option<usize>,
    /// `steady`, `cold` or `process`.
    pub mode: Option<Mode>,
    /// The smallest change that was judged: the run's threshold, or more if smaller changes cannot be detected.
    pub threshold: Option<f64>,
    /// The deciding metrics, if they differ from the run's.
    #[serde(default)]
    pub gates: Option<Vec<String>>,
    /// The smallest change that these pairs would have detected with 99 % probability, as a fraction of base.
    pub detectable: Option<f64>,
    /// Two-sided p value of the hypothesis "no change".
    pub p_value: Option<f64>,
    /// Effect size.
    pub cohens_d: Option<CohensD>,
    /// All metrics by name, including time.
    pub metrics: Option<BTreeMap<String, MetricResult>>,
    /// Contradiction between time and work, if any.
    pub cross_check: Option<CrossCheck>,
    /// `macro` or `runner`, if known.
    pub capture: Option<Capture>,
    /// The reason for selection in words; empty if the test was not selected.
    pub selected_because: String,
    /// Differences of the test's machine code, if compared.
    pub why: Option<Why>,
    /// The explanation, if requested and found.
    pub explanation: Option<Explanation>,
    /// The reason if no function is named although requested.
    #[serde(default)]
    pub unexplained_because: Option<String>,
    /// Cost of measuring the test, if attempted.
    #[serde(default)]
    pub spent: Option<model::Spent>,
    /// Additional remarks.
    pub notes: Vec<String>,
}

/// The change that remains possible beyond an accepted loss, including effects of code placement.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PossibleChange {
    /// The largest slowdown, as a fraction of base: 0 if the test cannot have got slower.
    pub slower: f64,
    /// The largest speed-up, as a fraction of base: 0 if the test cannot have got faster.
    pub faster: f64,
    /// The smallest reported bound that both are below; null if they are not below `summary.bound`.
    pub within: Option<f64>,
}

/// Cohen's d and its class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CohensD {
    /// (mean of head - mean of base) / pooled standard deviation, over processes.
    pub d: Option<f64>,
    /// `trivial`, `small`, `medium` or `large`.
    pub class: EffectClass,
}

/// Returns the document as pretty JSON with a trailing newline.
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
            tests: run.outcomes.iter().map(|outcome| TestResult::of(outcome, run)).collect(),
            summary: Summary::from(run),
            warnings: run.warnings.iter().map(ToString::to_string).collect(),
            interrupted: run.interrupted,
            repeat: run.repeat.clone(),
            sharding: run.sharding.as_ref().map(Sharding::from),
            programs: run.programs.iter().map(|program| pooled_change::ProgramOfRun::new(program, run)).collect(),
            functions: run.pooled.iter().map(pooled_change::FunctionChange::from).collect(),
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
            accepted: ratchet::accepted_losses(run).map(accepted).collect(),
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

impl TestResult {
    fn of(outcome: &Outcome, run: &Run) -> Self {
        let measured = outcome.measured.as_ref();
        let possible_change = |found: model::PossibleChange| PossibleChange {
            slower: found.slower,
            faster: found.faster,
            within: found.within(run.bound).map(Threshold::fraction),
        };
        Self {
            test: Test::from(&outcome.test),
            verdict: outcome.verdict,
            reason: outcome.reason.as_ref().map(Reason::from),
            accepted: acceptance::Accepted::of(outcome, run),
            change: measured.map(|m| Interval::from(m.change)),
            possible_change: outcome.possible.map(possible_change),
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
            spent: outcome.spent,
            notes: outcome.notes.iter().map(ToString::to_string).collect(),
        }
    }
}

impl From<&Measured> for CohensD {
    fn from(measured: &Measured) -> Self {
        Self { d: finite(measured.effect.d), class: measured.effect.class }
    }
}

#[cfg(test)]
mod tests;
