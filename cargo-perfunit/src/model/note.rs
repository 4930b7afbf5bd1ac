//! What is remarkable about the way in which a test was measured, besides its verdict.

use super::{AcceptedLoss, Change, Failure, Metric, Reason, Side, Sides, TestCodeDifference, Threshold};
use serde::{Deserialize, Serialize};

/// A remark on a test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Note {
    /// With equal random numbers base and head get into each other's way, so each draws its own.
    OwnRandomNumbers,
    /// First calls are compared, each in a forked child; or, if something keeps it from forking, in a process of its own.
    FirstCalls { because: FirstCallsBecause, obstacle: Option<ForkObstacle> },
    /// Beside its later calls, its first call changed, too.
    FirstCallToo { ns: Sides<f64>, change: Change },
    /// Its first call changed, and its later calls did not, or got faster while it got slower.
    FirstCallDecides {
        /// Time of later calls.
        later_ns: Sides<f64>,
    },
    /// Its first calls were not compared apart from its later ones.
    FirstCallUnknown { because: FirstCallUnknown },
    /// A change of its first call did not show again on fresh pairs and layouts.
    FirstCallTakenBack,
    /// Fresh pairs and layouts left open whether its first call changed.
    FirstCallNotConfirmed,
    /// Its first call seemed to change, and fresh pairs failed.
    FirstCallNotMeasuredAgain { why: Reason },
    /// Much of its process is start and harness.
    MostlyStart {
        /// As a fraction of the process's time on base.
        share: f64,
    },
    /// It is so short that smaller differences are not judged.
    LeastDifference { ns: f64 },
    /// It does as much as its time allows, so both versions were given a clock that they read equally often.
    RunsByClock,
    /// Its runs do not all do the same.
    UnequalWork {
        between: Between,
        /// Whether base and head were given equal random numbers.
        equal_seeds: bool,
    },
    /// Pairs that were left out.
    FailedPairs {
        failed: usize,
        /// Of how many.
        pairs: usize,
        /// Why the first of them failed.
        why: Reason,
    },
    /// Changed code has no common place in both versions, so the test was judged over several layouts.
    Layouts { layouts: usize },
    /// It passes only in the executables that the project's linker made, which have no matched layouts.
    AsBuilt,
    /// It seemed slower or faster until fresh pairs and layouts showed less.
    TakenBack,
    /// It does not pass with the data files of the other version.
    DataFiles {
        /// Whose data files it was measured with.
        of: Side,
    },
    /// Its harness lists several tests of its name, and runs all of them when one is asked for.
    SharedName {
        /// How many.
        tests: Sides<usize>,
    },
    /// It is judged by a threshold of its own.
    OwnThreshold {
        threshold: Threshold,
        /// Where that is set.
        from: String,
    },
    /// It is judged by what goes beyond a loss that was accepted.
    AcceptedLoss(AcceptedLoss),
    /// A loss was accepted that was measured in another way, so it does not count.
    AcceptedOtherwise(AcceptedLoss),
    /// It is judged by metrics of its own.
    OwnMetrics {
        metrics: Vec<Metric>,
        /// Where that is set.
        from: String,
    },
    /// Its own code changed, so one version's was measured on both.
    TestCode {
        /// Whose.
        of: Side,
        difference: TestCodeDifference,
    },
}

/// Why the first calls of a test are compared and not its later ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum FirstCallsBecause {
    /// A later call in the same process does not end.
    LaterCallHangs,
    LaterCallFails {
        how: Failure,
    },
    /// Base and head do not run side by side.
    NotSideBySide,
    /// Later calls hold no work.
    OnlyFirstHoldsWork,
}

/// What keeps first calls from being made in forked children.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForkObstacle {
    /// The process has threads that a child would lack.
    Threads,
    /// The process may not fork.
    Forbidden,
    /// A child does not end.
    Hangs,
    /// The test fails in children.
    Fails,
    /// Too few calls fit a pair.
    TooLong,
}

/// Why the first calls of a test were not compared apart from its later ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum FirstCallUnknown {
    /// The run's budget was used up before.
    BudgetUsedUp,
    NotForked {
        obstacle: ForkObstacle,
    },
    /// One pair of them differs, and more could not be measured.
    OnePairDiffers {
        why: Reason,
    },
}

/// Between what the work of a test differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Between {
    /// Calls in one process.
    Calls,
    /// Processes; the calls in one do the same.
    Processes,
}
