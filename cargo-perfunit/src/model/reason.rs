//! Why a test has no verdict, or less of one.

use super::{
    FailedOn, Failure, Metric, MetricVerdict, NoDoctest, NoVerdict, NotMetered, Side, Sides, TestCodeItem, Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use strum::EnumDiscriminants;

/// Why a test has no verdict, or less of one: one group in the report for each, in this order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, EnumDiscriminants)]
#[serde(rename_all = "kebab-case", tag = "kind")]
#[strum_discriminants(
    name(ReasonKind),
    derive(PartialOrd, Ord, Serialize, Deserialize, JsonSchema),
    serde(rename_all = "kebab-case"),
    doc = "A [`Reason`] without its details: what a history keeps of it."
)]
pub enum Reason {
    /// Fails on one side, or on both.
    Fails {
        side: FailedOn,
        how: Failure,
        /// Whether it passes there, too, now and then.
        #[serde(default)]
        intermittent: bool,
    },
    /// Killed its process: abort, stack overflow, `exit`, signal.
    Crashes {
        side: FailedOn,
        how: Failure,
        /// Whether it passes there, too, now and then.
        #[serde(default)]
        intermittent: bool,
    },
    /// Did not end within `--timeout`.
    TimedOut {
        side: FailedOn,
        /// The limit.
        #[serde(deserialize_with = "super::float::one")]
        seconds: f64,
        /// Whether that is more than bad luck: it did not end there again, and the other side ends far sooner.
        #[serde(default)]
        confirmed: bool,
    },
    /// One run takes so long that too few pairs fit the budget.
    TooLong {
        /// Time of one run on the slower version.
        #[serde(deserialize_with = "super::float::one")]
        seconds: f64,
        /// The budget per test that would suffice.
        #[serde(deserialize_with = "super::float::one")]
        needed_seconds: f64,
        /// Time of a call of each version, if both are known.
        #[serde(default, deserialize_with = "super::float::sides_if_any")]
        ns: Option<Sides<f64>>,
    },
    /// The whole run's `--budget` was used up before.
    BudgetUsedUp,
    /// Ctrl-C came before.
    Interrupted,
    /// No capture method reached it.
    NotCaptured { why: NotCaptured },
    /// The test's own code differs, and neither version of it builds and passes on both versions of the rest: two workloads
    /// would be compared and not two versions.
    TestChanged { item: TestCodeItem },
    /// Exists only in head, and does not build or pass on base.
    New,
    /// Exists only in base, or does not build on head any more.
    Removed,
    /// Below what can be told from the loop on both sides: the optimiser removed the workload, or there is hardly any.
    FoldedAway {
        /// Time of one run on base.
        #[serde(deserialize_with = "super::float::one")]
        ns: f64,
    },
    /// It does as much as its time allows, and fails by a clock with which both versions would do the same work.
    RunsByClock,
    /// A process that is asked for no test at all takes as long, on both sides.
    LostInStart {
        /// Time of a process on base.
        ns: f64,
    },
    /// The first pairs showed a change, and the run's `--budget` was used up before fresh pairs could confirm it.
    Unconfirmed {
        /// What the first pairs said.
        seen: Verdict,
    },
    /// A flagged change did not show on fresh pairs.
    NotConfirmed,
    /// A confirmed change without other instructions: nothing shows that it is more than the place of code can do.
    AsPlacesDo {
        /// What fresh pairs said.
        seen: Verdict,
        /// How its instructions changed, or why they are not counted.
        instructions: Result<MetricVerdict, NotMetered>,
    },
    /// The interval was still too wide when the test's budget ended.
    TooNoisy,
    /// A metric that decides (`--metric`) is not known, or differs from call to call.
    MetricUnknown { metric: Metric, why: NoVerdict },
    /// `#[ignore]`d and `--run-ignored` not given.
    Ignored,
    /// The configuration or an attribute of the test says that it is not to be measured.
    Skipped {
        /// The reason given there.
        why: String,
        /// Where that stands.
        place: String,
    },
    /// Excluded by a filter of the command line, or by the configuration's default filter.
    Filtered,
    /// For another shard of the run to measure (`--partition`).
    OtherShard {
        /// Its number, from 1.
        shard: usize,
        /// Of how many.
        shards: usize,
    },
    /// Its code is the same, but a file that it may read differs: on equal data there is nothing to compare.
    DataChanged {
        /// The file.
        path: String,
    },
    /// The test executable is the same in both versions, byte for byte, and so is what it can start, load and read: binaries,
    /// shared libraries, variables that cargo sets, files of build scripts.
    SameExecutable,
    /// The machine code that the test can reach is the same in both versions.
    SameCode,
    /// The test can reach changed machine code, but a run of it did not execute any.
    NotExecuted {
        /// Changed functions that it can reach.
        functions: usize,
    },
}

/// Why no capture method reaches a test; `report::reason` words it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotCaptured {
    /// Another macro makes it, and the toolchain or the crate does not take our test runner.
    OtherMacro,
    /// Its attribute is another one on head.
    AttributeDiffers,
    /// Its process serves another version of our protocol.
    OtherRuntime,
    /// Run alone it ends before its body.
    NeverReached,
    /// It is a benchmark among unit tests, and these were asked for.
    Benchmark,
    Doctest(NoDoctest),
}

impl Reason {
    /// Where a test fails or does not end each time.
    pub fn always_fails_on(&self) -> Option<FailedOn> {
        match self {
            Reason::Fails { side, intermittent: false, .. }
            | Reason::Crashes { side, intermittent: false, .. }
            | Reason::TimedOut { side, confirmed: true, .. } => Some(*side),
            _ => None,
        }
    }

    /// The side on which that is so while the test passes on the other.
    pub fn failing_side(&self) -> Option<Side> {
        self.always_fails_on()?.only()
    }

    /// Whether the test did not pass on this side, or did not end there, each time or now and then.
    pub fn fails_on(&self, wanted: Side) -> bool {
        let (Reason::Fails { side, .. } | Reason::Crashes { side, .. } | Reason::TimedOut { side, .. }) = self else {
            return false;
        };
        side.includes(wanted)
    }

    /// Whether nothing is known of the code that the test executes because of the test itself: not of what was asked for, of
    /// the time that there was, or of a failure that counts as one.
    pub fn hides_code(&self) -> bool {
        match self {
            Reason::Ignored
            | Reason::FoldedAway { .. }
            | Reason::LostInStart { .. }
            | Reason::RunsByClock
            | Reason::TooLong { .. }
            | Reason::New
            | Reason::Removed
            | Reason::TestChanged { .. }
            | Reason::NotCaptured { .. } => true,
            Reason::Fails { .. } | Reason::Crashes { .. } | Reason::TimedOut { .. } => {
                self.failing_side() != Some(Side::Head)
            }
            Reason::SameExecutable
            | Reason::SameCode
            | Reason::NotExecuted { .. }
            | Reason::DataChanged { .. }
            | Reason::BudgetUsedUp
            | Reason::Interrupted
            | Reason::Unconfirmed { .. }
            | Reason::NotConfirmed
            | Reason::AsPlacesDo { .. }
            | Reason::TooNoisy
            | Reason::MetricUnknown { .. }
            | Reason::Filtered
            | Reason::Skipped { .. }
            | Reason::OtherShard { .. } => false,
        }
    }

    /// Whether the change cannot have reached the test.
    pub fn is_unaffected(&self) -> bool {
        matches!(self, Reason::SameExecutable | Reason::SameCode | Reason::NotExecuted { .. })
    }

    /// The same of a test that does not pass on either side.
    #[must_use]
    pub fn on_both(mut self) -> Self {
        if let Reason::Fails { side, .. } | Reason::Crashes { side, .. } | Reason::TimedOut { side, .. } = &mut self {
            *side = FailedOn::Both;
        }
        self
    }

    /// The same of a test that passes there, too, now and then.
    #[must_use]
    pub fn now_and_then(mut self) -> Self {
        if let Reason::Fails { intermittent, .. } | Reason::Crashes { intermittent, .. } = &mut self {
            *intermittent = true;
        }
        self
    }

    /// That a test did not end within a limit.
    pub fn timed_out(side: FailedOn, limit: Duration) -> Self {
        Self::TimedOut { side, seconds: limit.as_secs_f64(), confirmed: false }
    }

    /// Without its details.
    pub fn kind(&self) -> ReasonKind {
        self.into()
    }
}
