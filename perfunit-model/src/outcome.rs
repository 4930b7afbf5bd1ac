//! The result of a run: what the pipeline hands to the report, and nothing else.

use super::format::short_commit;
use super::{
    Bound, Capture, Change, CrossCheck, EffectSize, Environment, Explanation, Function, Generation, Growth,
    GrowthFinding, Metric, Metrics, Mode, NotCompared, Note, PossibleChange, Reason, Sample, Scaling, SelectedBecause,
    Selection, Sharding, Side, Sides, Spent, Stages, TestId, Threshold, Throughput, Unexplained, Verdict, Warning, Why,
    WorkUnit, margin,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What was measured of one test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    pub change: Change,
    /// Time of one run of the test body on base, in nanoseconds (median over pairs).
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub base_ns: f64,
    /// The same on head.
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub head_ns: f64,
    /// Pairs of processes behind the interval.
    pub pairs: usize,
    /// Layouts of the code behind the interval: 1, or one for each pair.
    pub layouts: usize,
    /// The smallest change, as a fraction of base, that these pairs would have shown with 99 % probability.
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub detectable: f64,
    /// Two-sided p value of "no change".
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub p_value: f64,
    /// Cohen's d over processes.
    pub effect: EffectSize,
    /// Steady state or cold call.
    pub mode: Mode,
    /// The smallest change that was judged, as a fraction of base: the run's, or more where less cannot be told.
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub threshold: f64,
    /// The smallest change that was to be judged: the run's threshold or the test's own.
    pub asked: Threshold,
    /// The estimates behind the interval, and the times behind these.
    pub sample: Sample,
    /// What single calls showed, if they decided and not pairs; the change is theirs then, from the least to the most.
    #[serde(default)]
    pub bound: Option<Bound>,
    /// What a run works through, if its benchmark says it.
    #[serde(default)]
    pub throughput: Option<Throughput>,
}

impl Measured {
    /// Whether a change of the size that was asked for would have been reported: less was not judged, or, where nothing could
    /// be said, not to be seen. (Of a test that is the same the interval excludes such a change.)
    fn is_insensitive(&self, verdict: Verdict) -> bool {
        match verdict {
            Verdict::Slower | Verdict::Faster | Verdict::NotMeasured => false,
            Verdict::Inconclusive => self.threshold.max(self.detectable) > self.asked.margin(),
            Verdict::ChangedBelowThreshold | Verdict::Same => self.margin() > self.asked.margin(),
        }
    }

    /// What is worked through in a second, if the benchmark says it.
    pub fn per_second(&self) -> Option<(WorkUnit, Sides<f64>)> {
        let throughput = self.throughput?;
        Some((throughput.unit, throughput.per_second(Sides { base: self.base_ns, head: self.head_ns })))
    }

    /// What a test that is the same can have changed by at most.
    pub fn margin(&self) -> f64 {
        margin(self.threshold)
    }
}

/// Everything to say about one test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub test: TestId,
    /// The answer, by what decides: time, unless others were chosen.
    pub verdict: Verdict,
    /// Why it was not measured, or why it is inconclusive.
    pub reason: Option<Reason>,
    /// The figures; present unless `verdict` is `NotMeasured`.
    pub measured: Option<Measured>,
    /// The change that the figures leave possible, beyond a loss that is accepted; none if they show no bound or if other
    /// metrics than time decide.
    #[serde(default)]
    pub possible: Option<PossibleChange>,
    /// What is known of each metric; empty unless it was measured.
    pub metrics: Metrics,
    /// Whether time and work go together.
    pub cross_check: Option<CrossCheck>,
    /// How it was captured, once known.
    pub capture: Option<Capture>,
    /// Why it was selected.
    pub selected_because: Option<SelectedBecause>,
    /// What of its machine code differs, where that was compared.
    pub why: Option<Why>,
    /// The responsible functions, where they were asked for and found.
    pub explanation: Option<Explanation>,
    /// Why no function could be named, where one was asked for.
    #[serde(default)]
    pub unexplained: Option<Unexplained>,
    /// The metrics that decide, if the test has its own.
    #[serde(default)]
    pub gates: Option<Vec<Metric>>,
    /// What measuring it took, if that was tried.
    #[serde(default)]
    pub spent: Option<Spent>,
    /// What is remarkable besides the verdict.
    pub notes: Vec<Note>,
}

impl Outcome {
    /// Returns whether the first pairs showed a slowdown that the budget left no time to confirm.
    pub fn is_probably_slower(&self) -> bool {
        let was_slower = matches!(self.reason, Some(Reason::Unconfirmed { seen: Verdict::Slower }));
        self.verdict == Verdict::Inconclusive && was_slower
    }

    /// True if another shard of the run is to measure it.
    pub fn is_of_other_shard(&self) -> bool {
        matches!(self.reason, Some(Reason::OtherShard { .. }))
    }

    /// True if it fails each time on this side and passes on the other.
    pub fn fails_only_on(&self, side: Side) -> bool {
        let failing = self.reason.as_ref().and_then(Reason::failing_side);
        self.verdict == Verdict::NotMeasured && failing == Some(side)
    }

    /// Times of later calls, ns, of a test that is repeated and for which its first call speaks.
    pub fn later_ns(&self) -> Option<Sides<f64>> {
        self.notes.iter().find_map(|note| match note {
            Note::FirstCallDecides { later_ns } => Some(*later_ns),
            _ => None,
        })
    }
}

/// One of the two versions, as people name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VersionName {
    /// What the user typed or what we chose: `main`, `HEAD~1`, `working tree`.
    pub label: String,
    /// Commit id in full; for a dirty working tree that of the commit below it.
    pub commit: String,
    /// True for a working tree that differs from `commit`.
    pub dirty: bool,
}

impl VersionName {
    /// Returns the short commit id to show next to the label; `None` where the label is that id, or without a commit.
    pub fn commit_beside_label(&self) -> Option<&str> {
        let is_its_label = self.label.len() >= 7 && self.commit.starts_with(&self.label);
        (!self.commit.is_empty() && !is_its_label).then(|| short_commit(&self.commit))
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The version compared against.
    pub base: VersionName,
    /// The version under test.
    pub head: VersionName,
    /// What the figures depend on.
    pub environment: Environment,
    /// Which tests were taken, and why.
    pub selection: Selection,
    /// One entry for each test found in the built targets.
    pub outcomes: Vec<Outcome>,
    /// Warnings of all stages.
    pub warnings: Vec<Warning>,
    /// Where the time went.
    pub stages: Stages,
    pub threshold: Threshold,
    /// The change that an inconclusive test may have reached: a test that certainly changed by less is unchanged within a
    /// bound.
    #[serde(default = "Threshold::of_inconclusive")]
    pub bound: Threshold,
    /// The metrics that decide the verdicts.
    pub gates: Vec<Metric>,
    /// Probability of a false verdict per test before confirmation.
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub alpha: f64,
    /// True if Ctrl-C cut the run short.
    pub interrupted: bool,
    /// How to make the same comparison again.
    #[serde(default)]
    pub repeat: Option<Repeat>,
    /// What of it was measured here, if it is a run in parts.
    #[serde(default)]
    pub sharding: Option<Sharding>,
    /// How the work of functions grows, if that was asked for.
    #[serde(default)]
    pub growth: Option<Growth>,
    /// Workloads with a parameter whose time grows with a larger power of it.
    #[serde(default)]
    pub scaling: Vec<Scaling>,
    /// The comparison with an older version besides, where one is asked for.
    #[serde(default)]
    pub ratchet: Option<Ratchet>,
    /// The comparison of calls that were made up for functions without tests, where one is asked for.
    #[serde(default)]
    pub generated: Option<GeneratedCalls>,
}

/// The comparison of generated calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GeneratedCalls {
    pub generation: Generation,
    /// As of a run of its own; none if there is nothing to compare.
    pub comparison: Option<Result<Box<Run>, NotCompared>>,
}

impl GeneratedCalls {
    /// The comparison, if there was one.
    pub fn run(&self) -> Option<&Run> {
        self.comparison.as_ref()?.as_deref().ok()
    }

    /// Returns the comparison, if there was one, to add to it.
    pub fn run_mut(&mut self) -> Option<&mut Run> {
        self.comparison.as_mut()?.as_deref_mut().ok()
    }
}

/// The comparison of head with the ratchet's version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ratchet {
    pub version: VersionName,
    /// Its base is that version.
    pub comparison: Result<Box<Run>, NotCompared>,
}

impl Ratchet {
    /// The comparison, if there was one.
    pub fn run(&self) -> Option<&Run> {
        self.comparison.as_deref().ok()
    }

    /// Returns the comparison, if there was one, to add to it.
    pub fn run_mut(&mut self) -> Option<&mut Run> {
        self.comparison.as_deref_mut().ok()
    }
}

impl Run {
    /// True if it is one shard of several.
    pub fn is_shard(&self) -> bool {
        self.sharding.as_ref().is_some_and(|sharding| sharding.shards > sharding.parts.len())
    }

    /// The comparison with the ratchet's version, if there was one.
    pub fn against_ratchet(&self) -> Option<&Run> {
        self.ratchet.as_ref().and_then(Ratchet::run)
    }

    /// The tests that fail on this side each time, and pass on the other.
    pub fn failing(&self, side: Side) -> impl Iterator<Item = &Outcome> {
        self.outcomes.iter().filter(move |outcome| outcome.fails_only_on(side))
    }

    /// Returns the tests that are probably slower: there was no time to confirm it.
    pub fn probably_slower(&self) -> impl Iterator<Item = &Outcome> {
        self.outcomes.iter().filter(|outcome| outcome.is_probably_slower())
    }

    /// Returns the bound within which a test is unchanged that has no other verdict; none if the test may have changed by more,
    /// or is probably slower.
    pub fn unchanged_within(&self, outcome: &Outcome) -> Option<Threshold> {
        let is_open = outcome.verdict == Verdict::Inconclusive && !outcome.is_probably_slower();
        outcome.possible.filter(|_| is_open)?.within(self.bound)
    }

    /// Returns whether a test was measured and may have changed by the bound or more.
    pub fn is_inconclusive(&self, outcome: &Outcome) -> bool {
        outcome.verdict == Verdict::Inconclusive && self.unchanged_within(outcome).is_none()
    }

    /// Returns the tests that may have changed by the bound or more, those that are probably slower included.
    pub fn inconclusive(&self) -> impl Iterator<Item = &Outcome> {
        self.outcomes.iter().filter(|outcome| self.is_inconclusive(outcome))
    }

    /// Sets the change from which on a test is inconclusive, for all comparisons of the run.
    pub fn set_bound(&mut self, bound: Threshold) {
        self.bound = bound;
        let of_ratchet = self.ratchet.as_mut().map(|ratchet| &mut ratchet.comparison);
        let of_calls = self.generated.as_mut().and_then(|generated| generated.comparison.as_mut());
        of_ratchet.into_iter().chain(of_calls).flatten().for_each(|run| run.set_bound(bound));
    }

    /// True if nothing was measured, because tests that were selected fail on base.
    pub fn fails_on_base(&self) -> bool {
        // One that does not end there may only be long.
        let is_long = |reason: &Reason| matches!(reason, Reason::TimedOut { .. });
        let fails = |reason: &Reason| reason.fails_on(Side::Base) && !is_long(reason);
        let fails = |outcome: &Outcome| outcome.reason.as_ref().is_some_and(fails);
        self.outcomes.iter().all(|outcome| outcome.measured.is_none()) && self.outcomes.iter().any(fails)
    }

    /// The functions whose work grows with a larger power of a length than on base.
    pub fn growing(&self) -> impl Iterator<Item = &GrowthFinding> {
        self.growth.iter().flat_map(|growth| &growth.findings)
    }

    /// The metrics that decide a test's verdict.
    pub fn gates_of<'a>(&'a self, outcome: &'a Outcome) -> &'a [Metric] {
        outcome.gates.as_ref().unwrap_or(&self.gates)
    }

    /// The metrics that decide any verdict, in the order of reports.
    pub fn all_gates(&self) -> Vec<Metric> {
        let own = self.outcomes.iter().filter_map(|outcome| outcome.gates.as_ref()).flatten();
        let all: Vec<Metric> = self.gates.iter().chain(own).copied().collect();
        Metric::ALL.into_iter().filter(|metric| all.contains(metric)).collect()
    }

    /// The tests judged by their time that could not have shown a change of the size that was asked for.
    pub fn insensitive(&self) -> impl Iterator<Item = &Measured> {
        let by_time = self.outcomes.iter().filter(|outcome| self.gates_of(outcome).contains(&Metric::Time));
        let known = by_time.filter_map(|outcome| Some((outcome.measured.as_ref()?, outcome.verdict)));
        known.filter(|(measured, verdict)| measured.is_insensitive(*verdict)).map(|(measured, _)| measured)
    }

    /// The tests that are slower than the ratchet's version, and not found to be slower than base: small losses that add up.
    pub fn cumulative_losses(&self) -> Vec<&Outcome> {
        let is_slower = |outcome: &&Outcome| outcome.verdict == Verdict::Slower;
        let known: BTreeSet<&TestId> = self.outcomes.iter().filter(is_slower).map(|outcome| &outcome.test).collect();
        let compared = self.against_ratchet().into_iter().flat_map(|run| &run.outcomes);
        compared.filter(is_slower).filter(|outcome| !known.contains(&outcome.test)).collect()
    }

    /// Whether it is not known if a test is slower than base: its verdict is open, or there is none although its code may
    /// have changed.
    pub fn is_open(&self, test: &TestId) -> bool {
        let outcome = self.outcomes.iter().find(|outcome| outcome.test == *test);
        outcome.is_some_and(|outcome| match (outcome.verdict, &outcome.reason) {
            (Verdict::Inconclusive, _) => true,
            (Verdict::NotMeasured, Some(reason)) => !reason.is_unaffected(),
            _ => false,
        })
    }

    /// Takes back that no test executes functions that an explanation shows executed.
    pub fn drop_executed(&mut self) {
        let Self { outcomes, selection, .. } = self;
        let is_executed = |function: &Function| {
            let mut explanations = outcomes.iter().filter_map(|outcome| outcome.explanation.as_ref());
            explanations.any(|explanation| explanation.executes(function))
        };
        selection.uncovered.retain(|uncovered| !is_executed(&uncovered.function));
    }

    /// How many tests have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.verdict == verdict).count()
    }
}

/// A command that compares the same versions by the same tests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Repeat {
    /// The folder to run it in, from the root of the repository; empty for the root.
    pub folder: String,
    /// The words behind `cargo`.
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
        // A branch may be called like the beginning of a commit.
        assert_eq!(beside("3f2", "3f2a91c0aa"), Some("3f2a91c".to_owned()));
        assert_eq!(beside("main", ""), None);
    }
}
