//! The result of a run, which the pipeline hands to the report.

use super::format::{one_line, short_commit};
use super::{
    Acceptance, Bound, Capture, Change, CrossCheck, EffectSize, Environment, Explanation, Function, Generation, Growth,
    GrowthFinding, Metric, Metrics, Mode, NotCompared, Note, PooledChange, PossibleChange, ProgramChange, Reason,
    Sample, Scaling, SelectedBecause, Selection, Sharding, Side, Sides, Spent, Stages, TestId, Threshold, Throughput,
    Unexplained, Verdict, Warning, Why, WorkUnit, margin,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// Measured figures of one test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    pub change: Change,
    /// Time of one run of the test body on base, in nanoseconds (median over pairs).
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub base_ns: f64,
    /// Time of one run of the test body on head, in nanoseconds.
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub head_ns: f64,
    /// Pairs of processes behind the interval.
    pub pairs: usize,
    /// Number of code layouts behind the interval: 1, or one per pair.
    pub layouts: usize,
    /// The smallest change, as a fraction of base, that these pairs would have detected with 99 % probability.
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub detectable: f64,
    /// Two-sided p value of the hypothesis "no change".
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub p_value: f64,
    /// Cohen's d over processes.
    pub effect: EffectSize,
    /// How the test was measured.
    pub mode: Mode,
    /// The smallest change that was judged, as a fraction of base: the run's threshold, or more if smaller changes
    /// cannot be detected.
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub threshold: f64,
    /// The requested threshold, of the run or of the test.
    pub asked: Threshold,
    /// The estimates behind the interval, and the times behind the estimates.
    pub sample: Sample,
    /// Result of single calls, if they decided instead of pairs. The change then ranges over theirs.
    #[serde(default)]
    pub bound: Option<Bound>,
    /// Throughput of a run, if the benchmark declares one.
    #[serde(default)]
    pub throughput: Option<Throughput>,
}

impl Measured {
    /// Returns true if a change of the requested size would not have been reported: smaller changes were not judged,
    /// or, without a verdict, not detectable. (For an unchanged test, the interval excludes such a change.)
    fn is_insensitive(&self, verdict: Verdict) -> bool {
        match verdict {
            Verdict::Slower | Verdict::Faster | Verdict::NotMeasured => false,
            Verdict::Inconclusive => self.threshold.max(self.detectable) > self.asked.margin(),
            Verdict::ChangedBelowThreshold | Verdict::Same => self.margin() > self.asked.margin(),
        }
    }

    /// Returns the throughput per second, if the benchmark declares one.
    pub fn per_second(&self) -> Option<(WorkUnit, Sides<f64>)> {
        let throughput = self.throughput?;
        Some((throughput.unit, throughput.per_second(Sides { base: self.base_ns, head: self.head_ns })))
    }

    /// Returns the margin within which the test is unchanged: see [`margin`](super::threshold::margin).
    pub fn margin(&self) -> f64 {
        margin(self.threshold)
    }
}

/// Result of one test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub test: TestId,
    /// The verdict by the deciding metrics, which is time by default.
    pub verdict: Verdict,
    /// The reason if the test was not measured or is inconclusive.
    pub reason: Option<Reason>,
    /// The figures; `None` if `verdict` is `NotMeasured`.
    pub measured: Option<Measured>,
    /// The change that remains possible beyond an accepted loss; `None` if unbounded or if other metrics than
    /// time decide.
    #[serde(default)]
    pub possible: Option<PossibleChange>,
    /// Results of each metric; empty unless the test was measured.
    pub metrics: Metrics,
    /// Contradiction between time and work.
    pub cross_check: Option<CrossCheck>,
    /// Capture method, if known.
    pub capture: Option<Capture>,
    /// Reason for selection.
    pub selected_because: Option<SelectedBecause>,
    /// Differences of the test's machine code, if compared.
    pub why: Option<Why>,
    /// The explanation, if requested and found.
    pub explanation: Option<Explanation>,
    /// Reason why no function is named although requested.
    #[serde(default)]
    pub unexplained: Option<Unexplained>,
    /// The deciding metrics, if the test has its own.
    #[serde(default)]
    pub gates: Option<Vec<Metric>>,
    /// Cost of measuring the test, if attempted.
    #[serde(default)]
    pub spent: Option<Spent>,
    /// Notes in addition to the verdict.
    pub notes: Vec<Note>,
}

impl Outcome {
    /// Returns true if the first pairs showed a slowdown that the time did not suffice to confirm.
    pub fn is_probably_slower(&self) -> bool {
        let was_slower = matches!(self.reason, Some(Reason::Unconfirmed { seen: Verdict::Slower }));
        self.verdict == Verdict::Inconclusive && was_slower
    }

    /// Returns true if the test changed, or if `diff` explained it or would have with more time.
    pub fn is_worth_explaining(&self) -> bool {
        let is_left_out = matches!(self.unexplained, Some(Unexplained::LongerThanMeasuring { .. }));
        self.verdict.is_change() || self.explanation.is_some() || is_left_out
    }

    /// Returns true if another shard of the run measures the test.
    pub fn is_of_other_shard(&self) -> bool {
        matches!(self.reason, Some(Reason::OtherShard { .. }))
    }

    /// Returns true if the test always fails on this side and passes on the other.
    pub fn fails_only_on(&self, side: Side) -> bool {
        let failing = self.reason.as_ref().and_then(Reason::failing_side);
        self.verdict == Verdict::NotMeasured && failing == Some(side)
    }

    /// Returns the times of later calls, in ns, if the first call decides for a repeatable test.
    pub fn later_ns(&self) -> Option<Sides<f64>> {
        self.notes.iter().find_map(|note| match note {
            Note::FirstCallDecides { later_ns } => Some(*later_ns),
            _ => None,
        })
    }
}

/// Name of one of the two versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VersionName {
    /// The typed or chosen name: `main`, `HEAD~1`, `working tree`.
    pub label: String,
    /// Full commit id; for a dirty working tree that of its parent commit.
    pub commit: String,
    /// True for a working tree that differs from `commit`.
    pub dirty: bool,
}

impl VersionName {
    /// Returns the short commit id to show next to the label; `None` if the label is that id, or without a commit.
    pub fn commit_beside_label(&self) -> Option<&str> {
        let is_its_label = self.label.len() >= 7 && self.commit.starts_with(&self.label);
        (!self.commit.is_empty() && !is_its_label).then(|| short_commit(&self.commit))
    }

    /// Returns what follows the commit of a working tree that differs from it.
    pub fn changes(&self) -> &'static str {
        if self.dirty { " + changes" } else { "" }
    }
}

/// `main (3f2a91c)`, `working tree (8d01e7b + changes)`.
impl fmt::Display for VersionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (label, changes) = (one_line(&self.label), self.changes());
        match self.commit_beside_label() {
            None => write!(f, "{label}{changes}"),
            Some(commit) => write!(f, "{label} ({commit}{changes})"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The version compared against.
    pub base: VersionName,
    /// The version under test.
    pub head: VersionName,
    /// Environment of the measurement.
    pub environment: Environment,
    /// Result of the selection.
    pub selection: Selection,
    /// One entry for each test found in the built targets.
    pub outcomes: Vec<Outcome>,
    /// Warnings of all stages.
    pub warnings: Vec<Warning>,
    /// Time of the stages.
    pub stages: Stages,
    pub threshold: Threshold,
    /// The change that an inconclusive test may have reached. A test that certainly changed by less is unchanged within
    /// a bound.
    #[serde(default = "Threshold::of_inconclusive")]
    pub bound: Threshold,
    /// The metrics that decide the verdicts.
    pub gates: Vec<Metric>,
    /// Probability of a false verdict per test before confirmation.
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub alpha: f64,
    /// True if Ctrl-C stopped the run.
    pub interrupted: bool,
    /// The command that repeats the comparison.
    #[serde(default)]
    pub repeat: Option<Repeat>,
    /// The part that was measured here, if the run is divided into shards.
    #[serde(default)]
    pub sharding: Option<Sharding>,
    /// Mean changes of tests that enter the changed code through one function.
    #[serde(default)]
    pub pooled: Vec<PooledChange>,
    /// Typical changes of programs that tests start.
    #[serde(default)]
    pub programs: Vec<ProgramChange>,
    /// Growth of functions' work, if requested.
    #[serde(default)]
    pub growth: Option<Growth>,
    /// Workloads with a parameter and time that grows with a larger power of it.
    #[serde(default)]
    pub scaling: Vec<Scaling>,
    /// The slowdowns that are accepted on purpose.
    #[serde(default)]
    pub acceptances: Vec<Acceptance>,
    /// The comparison with an older version, if requested.
    #[serde(default)]
    pub ratchet: Option<Ratchet>,
    /// The comparison of generated calls for functions without tests, if requested.
    #[serde(default)]
    pub generated: Option<GeneratedCalls>,
}

/// The comparison of generated calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GeneratedCalls {
    pub generation: Generation,
    /// The comparison as a run of its own; `None` if there is nothing to compare.
    pub comparison: Option<Result<Box<Run>, NotCompared>>,
}

impl GeneratedCalls {
    /// Returns the comparison, if there was one.
    pub fn run(&self) -> Option<&Run> {
        self.comparison.as_ref()?.as_deref().ok()
    }

    /// Returns the comparison, if there was one, for adding results.
    pub fn run_mut(&mut self) -> Option<&mut Run> {
        self.comparison.as_mut()?.as_deref_mut().ok()
    }
}

/// The comparison of head with the ratchet's version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ratchet {
    pub version: VersionName,
    /// The comparison with this version as base.
    pub comparison: Result<Box<Run>, NotCompared>,
}

impl Ratchet {
    /// Returns the comparison, if there was one.
    pub fn run(&self) -> Option<&Run> {
        self.comparison.as_deref().ok()
    }

    /// Returns the comparison, if there was one, for adding results.
    pub fn run_mut(&mut self) -> Option<&mut Run> {
        self.comparison.as_deref_mut().ok()
    }
}

impl Run {
    /// Returns true if the run is one shard of several.
    pub fn is_shard(&self) -> bool {
        self.sharding.as_ref().is_some_and(|sharding| sharding.shards > sharding.parts.len())
    }

    /// Returns the comparison with the ratchet's version, if there was one.
    pub fn against_ratchet(&self) -> Option<&Run> {
        self.ratchet.as_ref().and_then(Ratchet::run)
    }

    /// Returns the tests that always fail on this side and pass on the other.
    pub fn failing(&self, side: Side) -> impl Iterator<Item = &Outcome> {
        self.outcomes.iter().filter(move |outcome| outcome.fails_only_on(side))
    }

    /// Returns the tests that are probably slower, but were not confirmed for lack of time.
    pub fn probably_slower(&self) -> impl Iterator<Item = &Outcome> {
        self.outcomes.iter().filter(|outcome| outcome.is_probably_slower())
    }

    /// Returns the bound within which a test without another verdict is unchanged; `None` if the test may have changed
    /// by more, has certainly changed, or is probably slower.
    pub fn unchanged_within(&self, outcome: &Outcome) -> Option<Threshold> {
        let possible = outcome.possible.filter(|_| outcome.verdict == Verdict::Inconclusive)?;
        let has_changed = match outcome.reason {
            Some(Reason::AtThreshold) => true,
            Some(Reason::BudgetUsedUp | Reason::Interrupted | Reason::Unconfirmed { seen: Verdict::Faster }) => {
                possible.has_certainly_changed()
            }
            _ => outcome.is_probably_slower(),
        };
        possible.within(self.bound).filter(|_| !has_changed)
    }

    /// Returns true if a test was measured and may have changed by at least the bound.
    pub fn is_inconclusive(&self, outcome: &Outcome) -> bool {
        outcome.verdict == Verdict::Inconclusive && self.unchanged_within(outcome).is_none()
    }

    /// Returns the tests that may have changed by at least the bound, including those that are probably slower.
    pub fn inconclusive(&self) -> impl Iterator<Item = &Outcome> {
        self.outcomes.iter().filter(|outcome| self.is_inconclusive(outcome))
    }

    /// Sets the change from which a test is inconclusive, for all comparisons of the run.
    pub fn set_bound(&mut self, bound: Threshold) {
        self.bound = bound;
        let of_ratchet = self.ratchet.as_mut().map(|ratchet| &mut ratchet.comparison);
        let of_calls = self.generated.as_mut().and_then(|generated| generated.comparison.as_mut());
        of_ratchet.into_iter().chain(of_calls).flatten().for_each(|run| run.set_bound(bound));
    }

    /// Returns true if nothing was measured because selected tests fail on base.
    pub fn fails_on_base(&self) -> bool {
        // A test that times out on base may only be long.
        let is_long = |reason: &Reason| matches!(reason, Reason::TimedOut { .. });
        let fails = |reason: &Reason| reason.fails_on(Side::Base) && !is_long(reason);
        let fails = |outcome: &Outcome| outcome.reason.as_ref().is_some_and(fails);
        self.outcomes.iter().all(|outcome| outcome.measured.is_none()) && self.outcomes.iter().any(fails)
    }

    /// Returns the functions with work that grows with a larger power of a length than on base.
    pub fn growing(&self) -> impl Iterator<Item = &GrowthFinding> {
        self.growth.iter().flat_map(|growth| &growth.findings)
    }

    /// Returns the deciding metrics of a test.
    pub fn gates_of<'a>(&'a self, outcome: &'a Outcome) -> &'a [Metric] {
        outcome.gates.as_ref().unwrap_or(&self.gates)
    }

    /// Returns the deciding metrics of all tests, in the order of reports.
    pub fn all_gates(&self) -> Vec<Metric> {
        let own = self.outcomes.iter().filter_map(|outcome| outcome.gates.as_ref()).flatten();
        let all: Vec<Metric> = self.gates.iter().chain(own).copied().collect();
        Metric::ALL.into_iter().filter(|metric| all.contains(metric)).collect()
    }

    /// Returns the tests judged by time that could not have detected a change of the requested size.
    pub fn insensitive(&self) -> impl Iterator<Item = &Measured> {
        let by_time = self.outcomes.iter().filter(|outcome| self.gates_of(outcome).contains(&Metric::Time));
        let known = by_time.filter_map(|outcome| Some((outcome.measured.as_ref()?, outcome.verdict)));
        known.filter(|(measured, verdict)| measured.is_insensitive(*verdict)).map(|(measured, _)| measured)
    }

    /// Returns the tests that are slower than the ratchet's version but not known to be slower than base: small losses
    /// that add up. Accepted slowdowns are neither.
    pub fn cumulative_losses(&self) -> Vec<&Outcome> {
        let known: BTreeSet<&TestId> = self.slower().map(|outcome| &outcome.test).collect();
        let compared = self.against_ratchet().into_iter().flat_map(Run::slower);
        compared.filter(|outcome| !known.contains(&outcome.test)).collect()
    }

    /// Returns the programs that are slower over their tests than at the ratchet's version, but not slower than at base.
    pub fn cumulative_losses_of_programs(&self) -> Vec<&ProgramChange> {
        let Some(second) = self.against_ratchet() else { return Vec::new() };
        let is_known = |name: &str| self.slower_programs().any(|program| program.name == name);
        second.slower_programs().filter(|program| !is_known(&program.name)).collect()
    }

    /// Returns true if it is unknown whether a test is slower than base: its verdict is open, or it has none although
    /// its code may have changed.
    pub fn is_open(&self, test: &TestId) -> bool {
        let outcome = self.outcomes.iter().find(|outcome| outcome.test == *test);
        outcome.is_some_and(|outcome| match (outcome.verdict, &outcome.reason) {
            (Verdict::Inconclusive, _) => true,
            (Verdict::NotMeasured, Some(reason)) => !reason.is_unaffected(),
            _ => false,
        })
    }

    /// Removes functions from the uncovered ones that an explanation shows to be executed.
    pub fn drop_executed(&mut self) {
        let Self { outcomes, selection, .. } = self;
        let is_executed = |function: &Function| {
            let mut explanations = outcomes.iter().filter_map(|outcome| outcome.explanation.as_ref());
            explanations.any(|explanation| explanation.executes(function))
        };
        selection.uncovered.retain(|uncovered| !is_executed(&uncovered.function));
    }

    /// Returns the number of tests with this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.verdict == verdict).count()
    }
}

/// A command that compares the same versions with the same tests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Repeat {
    /// Folder to run it in, relative to the repository's root; empty for the root.
    pub folder: String,
    /// Arguments after `cargo`.
    pub arguments: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_that_is_its_own_label_is_not_told_twice() {
        let beside = |label: &str, commit: &str| {
            let version = VersionName { label: label.to_owned(), commit: commit.to_owned(), dirty: false };
            version.commit_beside_label().map(str::to_owned)
        };
        assert_eq!(beside("main", "3f2a91c0aa"), Some("3f2a91c".to_owned()));
        assert_eq!(beside("3f2a91c0", "3f2a91c0aa"), None);
        // A branch may be named like the beginning of a commit id.
        assert_eq!(beside("3f2", "3f2a91c0aa"), Some("3f2a91c".to_owned()));
        assert_eq!(beside("main", ""), None);
    }
}
