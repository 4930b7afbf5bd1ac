//! Reasons for a missing or weaker verdict.

use super::format::{count, limit, some};
use super::{
    CodeChange, FailedOn, Failure, Metric, MetricVerdict, NoDoctest, NoVerdict, NotMetered, Side, Sides, Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;
use strum::EnumDiscriminants;

/// Reason for a missing or weaker verdict. The report has one group for each, in this order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, EnumDiscriminants)]
#[serde(rename_all = "kebab-case", tag = "kind")]
#[strum_discriminants(
    name(ReasonKind),
    derive(PartialOrd, Ord, Serialize, Deserialize, JsonSchema),
    serde(rename_all = "kebab-case"),
    doc = "A [`Reason`] without its details: what a history keeps of it."
)]
pub enum Reason {
    /// The test fails on one side or on both.
    Fails {
        side: FailedOn,
        how: Failure,
        /// True if the test sometimes passes there.
        #[serde(default)]
        intermittent: bool,
    },
    /// The test ended its process: abort, stack overflow, `exit`, signal.
    Crashes {
        side: FailedOn,
        how: Failure,
        /// True if the test sometimes passes there.
        #[serde(default)]
        intermittent: bool,
    },
    /// The test did not end within `--timeout`.
    TimedOut {
        side: FailedOn,
        /// The limit.
        #[serde(deserialize_with = "super::json_forms::float::one")]
        seconds: f64,
        /// True if the test timed out again, while it ends far sooner on the other side.
        #[serde(default)]
        confirmed: bool,
    },
    /// One run takes so long that too few pairs fit into the budget.
    TooLong {
        /// Time of one run on the slower version, in seconds.
        #[serde(deserialize_with = "super::json_forms::float::one")]
        seconds: f64,
        /// The budget per test that would suffice, in seconds.
        #[serde(deserialize_with = "super::json_forms::float::one")]
        needed_seconds: f64,
        /// Time of a call of each version in ns, if both are known.
        #[serde(default, deserialize_with = "super::json_forms::float::sides_if_any")]
        ns: Option<Sides<f64>>,
    },
    /// The run's `--budget` was used up before.
    BudgetUsedUp,
    /// Ctrl-C stopped the run before.
    Interrupted,
    /// No capture method reached the test.
    NotCaptured { why: NotCaptured },
    /// The test's own code differs, and neither version of it builds and passes on both sides. Measuring would compare
    /// two workloads instead of two versions.
    TestChanged { item: TestCodeItem },
    /// The test exists only in head, and does not build or pass on base.
    New,
    /// The test exists only in base, or no longer builds on head.
    Removed,
    /// The time is below the resolution of the loop on both sides: the optimizer removed the work, or there is almost
    /// none.
    FoldedAway {
        /// Time of one run on base.
        #[serde(deserialize_with = "super::json_forms::float::one")]
        ns: f64,
    },
    /// The test runs for a fixed time, and fails with the simulated clock that makes both versions do the same work.
    RunsByClock,
    /// A process that runs no test takes as long on both sides.
    LostInStart {
        /// Time of a process on base.
        ns: f64,
    },
    /// The first pairs showed a change, but the run ended before fresh pairs could confirm it.
    Unconfirmed {
        /// Direction of the first pairs.
        seen: Verdict,
    },
    /// A flagged change was not confirmed by fresh pairs.
    NotConfirmed,
    /// A confirmed change without a change of instructions, which may be an effect of code placement.
    AsPlacesDo {
        /// Direction of the fresh pairs.
        seen: Verdict,
        /// Change of the instructions, or the reason why they are not counted.
        instructions: Result<MetricVerdict, NotMetered>,
    },
    /// The interval was still too wide at the end of the test's budget.
    TooNoisy,
    /// The interval excludes that nothing changed, but not that the change is below the threshold.
    AtThreshold,
    /// A deciding metric (`--metric`) is unavailable or varies from call to call.
    MetricUnknown { metric: Metric, why: NoVerdict },
    /// The test is `#[ignore]`d, without `--run-ignored`.
    Ignored,
    /// The configuration or an attribute of the test excludes it from measuring.
    Skipped {
        /// The given reason.
        why: String,
        /// Place of the rule or attribute.
        place: String,
    },
    /// A filter of the command line or the configuration's default filter excludes the test.
    Filtered,
    /// Another shard of the run measures the test (`--partition`).
    OtherShard {
        /// Number of the shard, from 1.
        shard: usize,
        /// Number of shards.
        shards: usize,
    },
    /// The code is unchanged, but a data file that the test may read differs, so that there is no change of code to
    /// compare.
    DataChanged {
        /// Path of the data file.
        path: String,
    },
    /// The test executable is identical in both versions, and so is everything that it can start, load and read:
    /// binaries, shared libraries, variables that cargo sets, files of build scripts.
    SameExecutable,
    /// The machine code that the test can reach is identical in both versions.
    SameCode,
    /// The test can reach changed machine code, but a run did not execute any.
    NotExecuted {
        /// Number of changed functions that the test can reach.
        functions: usize,
        /// Programs with such functions that the test could start.
        #[serde(default)]
        programs: Vec<String>,
    },
}

/// Reason why no capture method reaches a test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotCaptured {
    /// Another macro defines the test, and the toolchain or the crate does not support our test runner.
    OtherMacro,
    /// The test's attribute differs on head.
    AttributeDiffers,
    /// The process uses another version of our protocol.
    OtherRuntime,
    /// The test ends before its body when run alone.
    NeverReached,
    /// The test is a benchmark among unit tests, which were requested.
    Benchmark,
    Doctest(NoDoctest),
}

impl Reason {
    /// Returns the versions on which the test always fails or times out.
    pub fn always_fails_on(&self) -> Option<FailedOn> {
        match self {
            Reason::Fails { side, intermittent: false, .. }
            | Reason::Crashes { side, intermittent: false, .. }
            | Reason::TimedOut { side, confirmed: true, .. } => Some(*side),
            _ => None,
        }
    }

    /// Returns the version on which the test always fails, if it passes on the other one.
    pub fn failing_side(&self) -> Option<Side> {
        self.always_fails_on()?.only()
    }

    /// Returns true if the test failed or timed out on this version at least once.
    pub fn fails_on(&self, wanted: Side) -> bool {
        let (Reason::Fails { side, .. } | Reason::Crashes { side, .. } | Reason::TimedOut { side, .. }) = self else {
            return false;
        };
        side.includes(wanted)
    }

    /// Returns true if the test itself, rather than options, time or a regression, is the reason that its executed code
    /// is unknown.
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
            | Reason::AtThreshold
            | Reason::MetricUnknown { .. }
            | Reason::Filtered
            | Reason::Skipped { .. }
            | Reason::OtherShard { .. } => false,
        }
    }

    /// Returns true if a test without figures for this reason may have got slower. A test is not open if selection, a filter
    /// or a shard leaves it out, if it has no counterpart or no work, or if it runs for a fixed time.
    pub fn leaves_open(&self) -> bool {
        match self {
            Reason::Fails { .. }
            | Reason::Crashes { .. }
            | Reason::TimedOut { .. }
            | Reason::TooLong { .. }
            | Reason::BudgetUsedUp
            | Reason::Interrupted
            | Reason::TestChanged { .. }
            | Reason::LostInStart { .. }
            | Reason::Unconfirmed { .. }
            | Reason::NotConfirmed
            | Reason::AsPlacesDo { .. }
            | Reason::TooNoisy
            | Reason::AtThreshold
            | Reason::MetricUnknown { .. } => true,
            Reason::NotCaptured { why } => !matches!(
                why,
                NotCaptured::Benchmark
                    | NotCaptured::Doctest(NoDoctest::Ignored | NoDoctest::NoRun | NoDoctest::CompileFail)
            ),
            Reason::New
            | Reason::Removed
            | Reason::FoldedAway { .. }
            | Reason::RunsByClock
            | Reason::Ignored
            | Reason::Skipped { .. }
            | Reason::Filtered
            | Reason::OtherShard { .. }
            | Reason::DataChanged { .. }
            | Reason::SameExecutable
            | Reason::SameCode
            | Reason::NotExecuted { .. } => false,
        }
    }

    /// Returns true if the change cannot have reached the test.
    pub fn is_unaffected(&self) -> bool {
        matches!(self, Reason::SameExecutable | Reason::SameCode | Reason::NotExecuted { .. })
    }

    /// Returns true if only data files of the test changed, so that there is no change of code to measure.
    pub fn is_only_data_changed(&self) -> bool {
        matches!(self, Reason::DataChanged { .. })
    }

    /// Returns the same reason for a test that passes on neither version.
    #[must_use]
    pub fn on_both(mut self) -> Self {
        if let Reason::Fails { side, .. } | Reason::Crashes { side, .. } | Reason::TimedOut { side, .. } = &mut self {
            *side = FailedOn::Both;
        }
        self
    }

    /// Returns the same reason for a test that sometimes passes.
    #[must_use]
    pub fn now_and_then(mut self) -> Self {
        if let Reason::Fails { intermittent, .. } | Reason::Crashes { intermittent, .. } = &mut self {
            *intermittent = true;
        }
        self
    }

    /// Returns the reason of a test that timed out.
    pub fn timed_out(side: FailedOn, limit: Duration) -> Self {
        Self::TimedOut { side, seconds: limit.as_secs_f64(), confirmed: false }
    }

    /// Returns the reason without its details.
    pub fn kind(&self) -> ReasonKind {
        self.into()
    }
}

/// Wording of reasons: [`Reason::summary`] has what the tests of a group share, [`Reason::detail`] what distinguishes
/// them. `Display` has both.
impl Reason {
    /// Returns the reason in a few words without its details, for one test or several.
    pub fn summary(&self) -> &'static str {
        match self.failing_side() {
            Some(Side::Head) => return "pass on base and fail on head",
            Some(Side::Base) => return "fail on base and pass on head",
            None => {}
        }
        match self {
            Reason::Fails { .. } => "fail",
            Reason::Crashes { .. } => "exit or crash the process",
            Reason::TimedOut { .. } => "timed out (--timeout)",
            Reason::TooLong { .. } => "too long for the budget (--per-test-budget)",
            Reason::BudgetUsedUp => "the run's --budget was used up",
            Reason::Interrupted => "interrupted",
            Reason::NotCaptured { .. } => "not captured",
            Reason::TestChanged { .. } => "changed test code: neither version runs on both sides",
            Reason::New => "new",
            Reason::Removed => "removed",
            Reason::FoldedAway { .. } => {
                "too short to measure: the optimizer removed the work, or there is almost none"
            }
            Reason::RunsByClock => "run for a fixed time: not comparable",
            Reason::LostInStart { .. } => "dominated by process start",
            Reason::NotConfirmed | Reason::Unconfirmed { .. } => "not confirmed",
            Reason::AsPlacesDo { .. } => "within code-alignment noise",
            Reason::TooNoisy => "too noisy",
            Reason::AtThreshold => "changed by about the threshold",
            Reason::MetricUnknown { .. } => "a deciding metric is not available",
            Reason::Ignored => "ignored",
            Reason::Skipped { .. } => "skipped",
            Reason::Filtered => "excluded by the filter",
            Reason::OtherShard { .. } => "for other shards (--partition)",
            Reason::DataChanged { .. } => "only data files changed",
            Reason::SameExecutable => "cannot have changed: unchanged executable",
            Reason::SameCode => "cannot have changed: unchanged machine code",
            Reason::NotExecuted { .. } => "do not execute changed code",
        }
    }

    /// Returns the details that distinguish tests with the same summary; empty if there are none.
    pub fn detail(&self) -> String {
        match self {
            Reason::Fails { side, how, intermittent } | Reason::Crashes { side, how, intermittent } => {
                format!("on {}: {how}", failed_on(*side, *intermittent))
            }
            Reason::TimedOut { side, seconds, .. } => {
                format!("on {}, within {}", failed_on(*side, false), limit(*seconds))
            }
            Reason::TooLong { seconds, needed_seconds, ns } => {
                let shown = |seconds: f64| if seconds < 1.0 { limit(seconds) } else { format!("{seconds:.1} s") };
                let takes = match ns {
                    Some(Sides { base, head }) => {
                        format!("{} on base and {} on head", shown(base / 1e9), shown(head / 1e9))
                    }
                    None => shown(*seconds),
                };
                format!("one run takes {takes} (--per-test-budget {needed_seconds:.0}s would do)")
            }
            Reason::NotCaptured { why } => why.to_string(),
            Reason::TestChanged { item } => item.to_string(),
            Reason::DataChanged { path } => path.clone(),
            Reason::Skipped { why, .. } => why.clone(),
            Reason::FoldedAway { ns } => format!("{ns:.1} ns per run"),
            _ => String::new(),
        }
    }

    /// Describes how a test failed on a side known from the context; empty if it did not fail.
    pub fn failure(&self) -> String {
        match self {
            Reason::Fails { how, .. } => how.to_string(),
            Reason::Crashes { how, .. } => format!("exits or crashes the process: {how}"),
            Reason::TimedOut { seconds, .. } => format!("times out after {} (--timeout)", limit(*seconds)),
            _ => String::new(),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (summary, detail) = (self.summary(), self.detail());
        match self {
            Reason::Ignored => f.write_str("ignored (measured with --run-ignored all)"),
            Reason::FoldedAway { .. } => write!(f, "{summary} ({detail})"),
            Reason::LostInStart { ns } => write!(
                f,
                "dominated by process start: a process without tests takes as long ({:.1} ms), or its harness ignores the requested test",
                ns / 1e6
            ),
            Reason::RunsByClock => f.write_str(
                "runs for a fixed time, and fails with a simulated clock that makes both versions do the same work",
            ),
            Reason::TooLong { .. } => write!(f, "too long: {detail}"),
            Reason::TimedOut { side, seconds, .. } => {
                write!(f, "timed out after {} on {} (--timeout)", limit(*seconds), failed_on(*side, false))
            }
            Reason::Fails { .. } => write!(f, "fails {detail}"),
            Reason::Crashes { .. } => write!(f, "ends its process {detail}"),
            Reason::New => f.write_str("new, does not build or pass on base"),
            Reason::Removed => f.write_str("removed in head"),
            Reason::TestChanged { .. } => {
                write!(f, "its own code changed ({detail}), and neither version of it runs on both sides")
            }
            Reason::SameExecutable => f.write_str("cannot have changed: identical executable"),
            Reason::SameCode => f.write_str("cannot have changed: all reachable machine code is identical"),
            Reason::NotExecuted { functions, programs } => {
                let functions = count(*functions, "changed function");
                write!(f, "has not changed: it can reach {functions} but executes none")?;
                if programs.is_empty() {
                    return Ok(());
                }
                write!(f, ", and starts no program that does ({})", some(programs.iter().cloned()))
            }
            Reason::DataChanged { .. } => {
                write!(f, "the code is unchanged; only the data file {detail} differs")
            }
            Reason::NotCaptured { .. } => write!(f, "{summary}: {detail}"),
            Reason::Unconfirmed { seen } => {
                write!(
                    f,
                    "probably {}, not confirmed: the run ended, or its time was used up (--budget, --per-test-budget)",
                    direction(*seen)
                )
            }
            Reason::NotConfirmed => f.write_str("a change was seen but not confirmed by fresh pairs"),
            Reason::AsPlacesDo { seen, instructions } => {
                write!(f, "{}, but {summary}, and ", direction(*seen))?;
                match instructions {
                    Err(NotMetered::NoCounter(_)) => {
                        f.write_str("its instructions cannot be counted (install valgrind)")
                    }
                    Err(why) => write!(f, "its instructions were not counted: {why}"),
                    Ok(MetricVerdict::Same) => f.write_str("it executes the same number of instructions"),
                    Ok(MetricVerdict::ChangedBelowThreshold) => f.write_str("its instructions hardly changed"),
                    Ok(_) => f.write_str("its instructions did not change in the same direction"),
                }
            }
            Reason::TooNoisy => write!(f, "{summary} for its budget (--per-test-budget)"),
            Reason::MetricUnknown { metric, why } => write!(f, "{} decides but is unknown: {why}", metric.name()),
            Reason::Skipped { place, .. } => write!(f, "{summary}: {detail} ({place})"),
            Reason::OtherShard { shard, shards } => write!(f, "for shard {shard} of {shards} (--partition)"),
            Reason::BudgetUsedUp | Reason::Interrupted | Reason::Filtered | Reason::AtThreshold => f.write_str(summary),
        }
    }
}

fn direction(seen: Verdict) -> &'static str {
    if seen == Verdict::Faster { "faster" } else { "slower" }
}

impl fmt::Display for NotCaptured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NotCaptured::OtherMacro => {
                "defined by another macro, and this toolchain or crate does not support our test runner"
            }
            NotCaptured::AttributeDiffers => "its attribute resolves differently in both versions",
            NotCaptured::OtherRuntime => "built with another version of the runtime",
            NotCaptured::NeverReached => "its body is not reached when it runs alone",
            NotCaptured::Benchmark => "a benchmark, measured on request (--benches)",
            NotCaptured::Doctest(why) => return why.fmt(f),
        })
    }
}

/// Formats the versions on which a test fails: `head`, or `head, not always`.
fn failed_on(side: FailedOn, intermittent: bool) -> &'static str {
    match (side, intermittent) {
        (FailedOn::Base, false) => "base",
        (FailedOn::Head, false) => "head",
        (FailedOn::Both, false) => "both",
        (FailedOn::Base, true) => "base, not always",
        (FailedOn::Head, true) => "head, not always",
        (FailedOn::Both, true) => "either side, not always",
    }
}

/// Difference of a test's own code between the versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum TestCodeDifference {
    GoneInHead,
    NewInHead,
    Changed { item: TestCodeItem },
}

/// A changed item of a test's own code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TestCodeItem {
    /// Last segment of its name. The function is written out in one version, or in both with differences.
    Function(String),
    Doctest(String),
    Macro(CodeChange),
    MacroCall(CodeChange),
    /// A function, type or constant of test code that the test uses.
    Helper(CodeChange),
}

impl fmt::Display for TestCodeItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, CodeChange { item, path, line, .. }) = match self {
            Self::Function(name) => return f.write_str(name),
            Self::Doctest(name) => return write!(f, "doc test {name}"),
            Self::Macro(change) => ("macro", change),
            Self::MacroCall(change) => ("call of", change),
            Self::Helper(change) => ("helper", change),
        };
        write!(f, "{what} {item} ({path}:{line})")
    }
}

impl fmt::Display for TestCodeDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GoneInHead => f.write_str("removed in head"),
            Self::NewInHead => f.write_str("new in head"),
            Self::Changed { item } => write!(f, "its own code changed: {item}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_reasons_against_measuring_leave_a_test_open() {
        let fails = Reason::Fails { side: FailedOn::Both, how: Failure::Said("no".into()), intermittent: false };
        let doctest = |why| Reason::NotCaptured { why: NotCaptured::Doctest(why) };
        let whole = NoDoctest::WholeProgram { what: "a global allocator".into() };
        let open = [Reason::BudgetUsedUp, Reason::Interrupted, Reason::TooNoisy, fails, doctest(whole)];
        assert!(open.iter().all(Reason::leaves_open));
        let benchmark = Reason::NotCaptured { why: NotCaptured::Benchmark };
        let other_shard = Reason::OtherShard { shard: 2, shards: 3 };
        let closed = [Reason::New, Reason::Removed, Reason::Ignored, Reason::Filtered, Reason::SameCode, other_shard];
        let closed = closed.into_iter().chain([benchmark, doctest(NoDoctest::NoRun)]);
        assert!(!closed.into_iter().any(|reason| reason.leaves_open()));
    }
}
