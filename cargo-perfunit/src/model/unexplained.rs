//! Why no function is named for a difference.

use super::{ExplanationNote, Reason, Unsteady};
use serde::{Deserialize, Serialize};

/// `report::unexplained` words it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unexplained {
    /// No function accounts for a part of the difference for certain; what was noted about that.
    Nobody {
        notes: Vec<ExplanationNote>,
    },
    /// It has no figures.
    NotMeasured(Reason),
    /// Calls were stopped before they ended.
    Stopped {
        seconds: f64,
    },
    /// Whole processes were measured.
    WholeProcesses,
    /// First calls alone were measured.
    FirstCalls,
    NoSteadyState,
    /// Too few pairs of calls fit the time of an explanation.
    TooLong {
        pair_seconds: f64,
        pairs: usize,
        longest_seconds: u64,
    },
    BudgetUsed {
        by_measuring: bool,
    },
    /// Nobody asked for it, and it would take longer than measuring did; head's change of instructions, where these were
    /// counted and do not account for the time.
    LongerThanMeasuring {
        instructions: Option<f64>,
    },
    /// The build that explaining needs fails.
    DoesNotBuild {
        with: BuiltWith,
        error: String,
    },
    /// That build does not have the target.
    TargetNotBuilt {
        with: BuiltWith,
    },
    NoTimeLeft,
    /// The test calls no function with a probe whose source changed.
    NoChangeCalled,
    TooFewPairs,
    TooFewCalls,
    /// Later calls of it cannot be had.
    NoLaterCalls(Unsteady),
    /// Its executable cannot be read.
    Unreadable {
        why: String,
    },
    NotReached,
}

/// What is in executables that are built to explain a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BuiltWith {
    Probes,
    Counters,
    DebugInformation,
}
