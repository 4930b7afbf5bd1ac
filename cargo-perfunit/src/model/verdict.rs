//! What we say about a test, and why we say nothing.

use super::{Side, Sides};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The smallest change that counts unless the user says otherwise, as a fraction of base.
pub const DEFAULT_THRESHOLD: f64 = 0.02;

/// The answer for one test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The interval excludes 0, the estimate is at or beyond the threshold, and fresh pairs confirmed it.
    Slower,
    /// As `Slower`, in the other direction.
    Faster,
    /// The interval excludes 0 and lies wholly inside the threshold: shown, never gated.
    ChangedBelowThreshold,
    /// The whole interval lies inside the threshold.
    Same,
    /// Measured, but the interval is too wide to tell, or reaches across the threshold.
    Inconclusive,
    /// Not measured, with a [`Reason`].
    NotMeasured,
}

/// How a test was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The body is repeated in each process; the steady state is compared.
    Steady,
    /// First calls are compared, each in a child that is forked just before the body: it cannot be repeated, or only its
    /// first call holds work.
    FirstCall,
    /// The body cannot be repeated, nor can its process fork; its first call in each process is compared.
    Cold,
    /// A harness of its own runs it: whole processes are compared, from their start to their end.
    Process,
}

/// Why a test has no verdict, or less of one. Each variant is one line in the report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Reason {
    /// `#[ignore]`d and `--run-ignored` not given.
    Ignored,
    /// The optimiser removed the workload on both sides.
    FoldedAway {
        /// Time of one run on base.
        #[serde(deserialize_with = "super::float::one")]
        ns: f64,
    },
    /// A process that is asked for no test at all takes as long, on both sides.
    LostInStart {
        /// Time of a process on base.
        ns: f64,
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
    /// Did not end within `--timeout`.
    TimedOut {
        /// `base` or `head`.
        side: String,
        /// The limit.
        #[serde(deserialize_with = "super::float::one")]
        seconds: f64,
    },
    /// Fails on one side, or on both.
    Fails {
        /// `base`, `head` or `both`.
        side: String,
        /// Panic message or exit status.
        detail: String,
    },
    /// Killed its process: abort, stack overflow, `exit`, signal.
    Crashes {
        /// `base`, `head` or `both`.
        side: String,
        /// Signal or exit status.
        detail: String,
    },
    /// Exists only in head, and does not build or pass on base.
    New,
    /// Exists only in base, or does not build on head any more.
    Removed,
    /// The test's own code differs, and neither version of it builds and passes on both versions of the rest: two workloads
    /// would be compared and not two versions.
    TestChanged {
        /// The changed item.
        item: String,
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
    /// Its code is the same, but a file that it may read differs: on equal data there is nothing to compare.
    DataChanged {
        /// The file.
        path: String,
    },
    /// Neither door captured it.
    NotCaptured {
        /// What stood in the way.
        detail: String,
    },
    /// The whole run's `--budget` was used up before.
    BudgetUsedUp,
    /// Ctrl-C came before.
    Interrupted,
    /// A flagged change did not show on fresh pairs.
    NotConfirmed,
    /// The interval was still too wide when the test's budget ended.
    TooNoisy,
    /// A metric that decides (`--metric`) is not known, or differs from call to call.
    MetricUnknown {
        /// Its name.
        metric: String,
        /// Why.
        detail: String,
    },
    /// Excluded by a filter of the command line, or by the configuration's default filter.
    Filtered,
    /// The configuration or an attribute of the test says that it is not to be measured.
    Skipped {
        /// The reason given there.
        why: String,
        /// Where that stands.
        place: String,
    },
    /// For another shard of the run to measure (`--partition`).
    OtherShard {
        /// Its number, from 1.
        shard: usize,
        /// Of how many.
        shards: usize,
    },
}

impl Reason {
    /// The side on which a test fails each time while it passes on the other.
    pub fn failing_side(&self) -> Option<Side> {
        match self {
            Reason::Fails { side, .. } | Reason::Crashes { side, .. } => {
                Side::BOTH.into_iter().find(|known| known.to_string() == *side)
            }
            _ => None,
        }
    }

    /// The same of a test that passes there, too, now and then.
    #[must_use]
    pub fn now_and_then(self) -> Self {
        match self {
            Reason::Fails { side, detail } => Reason::Fails { side: format!("{side}, not always"), detail },
            Reason::Crashes { side, detail } => Reason::Crashes { side: format!("{side}, not always"), detail },
            other => other,
        }
    }

    /// The kind as one word, the same as in JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Reason::Ignored => "ignored",
            Reason::FoldedAway { .. } => "folded-away",
            Reason::LostInStart { .. } => "lost-in-start",
            Reason::TooLong { .. } => "too-long",
            Reason::TimedOut { .. } => "timed-out",
            Reason::Fails { .. } => "fails",
            Reason::Crashes { .. } => "crashes",
            Reason::New => "new",
            Reason::Removed => "removed",
            Reason::TestChanged { .. } => "test-changed",
            Reason::SameExecutable => "same-executable",
            Reason::SameCode => "same-code",
            Reason::NotExecuted { .. } => "not-executed",
            Reason::DataChanged { .. } => "data-changed",
            Reason::NotCaptured { .. } => "not-captured",
            Reason::BudgetUsedUp => "budget-used-up",
            Reason::Interrupted => "interrupted",
            Reason::NotConfirmed => "not-confirmed",
            Reason::TooNoisy => "too-noisy",
            Reason::MetricUnknown { .. } => "metric-unknown",
            Reason::Filtered => "filtered",
            Reason::Skipped { .. } => "skipped",
            Reason::OtherShard { .. } => "other-shard",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Ignored => f.write_str("ignored (--run-ignored measures it)"),
            Reason::FoldedAway { ns } => {
                write!(f, "nothing left to measure: the optimiser removed the work ({ns:.1} ns per run)")
            }
            Reason::LostInStart { ns } => write!(
                f,
                "lost in the start of its process: without any test that takes as long ({:.1} ms); or its harness runs the same whatever it is asked for",
                ns / 1e6
            ),
            Reason::TooLong { seconds, needed_seconds, ns } => {
                let takes = match ns {
                    Some(Sides { base, head }) => {
                        format!("{:.1} s on base and {:.1} s on head", base / 1e9, head / 1e9)
                    }
                    None => format!("{seconds:.1} s"),
                };
                write!(f, "too long: one run takes {takes} (--per-test-budget {needed_seconds:.0}s would do)")
            }
            Reason::TimedOut { side, seconds } => write!(f, "did not end within {seconds:.0} s on {side} (--timeout)"),
            Reason::Fails { side, detail } => write!(f, "fails on {side}: {detail}"),
            Reason::Crashes { side, detail } => write!(f, "ends its process on {side}: {detail}"),
            Reason::New => f.write_str("new, and does not build or pass on base: there is nothing to compare with"),
            Reason::Removed => f.write_str("removed in head"),
            Reason::TestChanged { item } => {
                write!(f, "its own code changed ({item}), and neither its old nor its new code works on both versions")
            }
            Reason::SameExecutable => f.write_str("cannot have changed: its executable is the same, byte for byte"),
            Reason::SameCode => f.write_str("cannot have changed: all machine code that it can reach is the same"),
            Reason::NotExecuted { functions } => {
                let plural = if *functions == 1 { "" } else { "s" };
                write!(
                    f,
                    "has not changed: it can reach {functions} changed function{plural}, but does not execute any"
                )
            }
            Reason::DataChanged { path } => {
                write!(f, "its code is the same; {path} differs, and on equal data there is nothing to compare")
            }
            Reason::NotCaptured { detail } => write!(f, "not captured: {detail}"),
            Reason::BudgetUsedUp => f.write_str("the run's --budget was used up"),
            Reason::Interrupted => f.write_str("interrupted"),
            Reason::NotConfirmed => f.write_str("a change was seen first and could not be confirmed on fresh pairs"),
            Reason::TooNoisy => f.write_str("too noisy to tell within its budget (--per-test-budget)"),
            Reason::MetricUnknown { metric, detail } => write!(f, "{metric} decides and is not known: {detail}"),
            Reason::Filtered => f.write_str("excluded by the filter"),
            Reason::Skipped { why, place } => write!(f, "skipped: {why} ({place})"),
            Reason::OtherShard { shard, shards } => write!(f, "for shard {shard} of {shards} (--partition)"),
        }
    }
}
