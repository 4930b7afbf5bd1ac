//! Why a test has no verdict, or less of one.

use super::format::limit;
use super::{CodeChange, FailedOn, Metric, MetricVerdict, NoDoctest, NoVerdict, NotMetered, Side, Sides, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
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
        #[serde(deserialize_with = "super::json_forms::float::one")]
        seconds: f64,
        /// Whether that is more than bad luck: it did not end there again, and the other side ends far sooner.
        #[serde(default)]
        confirmed: bool,
    },
    /// One run takes so long that too few pairs fit the budget.
    TooLong {
        /// Time of one run on the slower version.
        #[serde(deserialize_with = "super::json_forms::float::one")]
        seconds: f64,
        /// The budget per test that would suffice.
        #[serde(deserialize_with = "super::json_forms::float::one")]
        needed_seconds: f64,
        /// Time of a call of each version, if both are known.
        #[serde(default, deserialize_with = "super::json_forms::float::sides_if_any")]
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
        #[serde(deserialize_with = "super::json_forms::float::one")]
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

/// Why no capture method reaches a test.
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

const RUNS_BY_CLOCK: &str =
    "runs by the clock: it does as much as its time allows, and fails by a clock that both versions read equally often";

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Ignored => f.write_str("ignored (--run-ignored all measures it)"),
            Reason::FoldedAway { ns } => {
                write!(
                    f,
                    "too short to measure: the optimiser removed the work, or there is hardly any ({ns:.1} ns per run)"
                )
            }
            Reason::LostInStart { ns } => write!(
                f,
                "lost in the start of its process: without any test that takes as long ({:.1} ms); or its harness runs the same whatever it is asked for",
                ns / 1e6
            ),
            Reason::RunsByClock => f.write_str(RUNS_BY_CLOCK),
            Reason::TooLong { seconds, needed_seconds, ns } => {
                let shown = |seconds: f64| if seconds < 1.0 { limit(seconds) } else { format!("{seconds:.1} s") };
                let takes = match ns {
                    Some(Sides { base, head }) => {
                        format!("{} on base and {} on head", shown(base / 1e9), shown(head / 1e9))
                    }
                    None => shown(*seconds),
                };
                write!(f, "too long: one run takes {takes} (--per-test-budget {needed_seconds:.0}s would do)")
            }
            Reason::TimedOut { side, seconds, .. } => {
                write!(f, "did not end within {} on {} (--timeout)", limit(*seconds), failed_on(*side, false))
            }
            Reason::Fails { side, how, intermittent } => {
                write!(f, "fails on {}: {how}", failed_on(*side, *intermittent))
            }
            Reason::Crashes { side, how, intermittent } => {
                write!(f, "ends its process on {}: {how}", failed_on(*side, *intermittent))
            }
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
                write!(f, "the code is the same; {path} differs, and on equal data there is nothing to compare")
            }
            Reason::NotCaptured { why } => write!(f, "not captured: {why}"),
            Reason::BudgetUsedUp => f.write_str("the run's --budget was used up"),
            Reason::Interrupted => f.write_str("interrupted"),
            Reason::Unconfirmed { seen } => {
                let seen = if *seen == Verdict::Faster { "faster" } else { "slower" };
                write!(f, "probably {seen}, not confirmed: the run's --budget was used up")
            }
            Reason::NotConfirmed => f.write_str("a change was seen first and could not be confirmed on fresh pairs"),
            Reason::AsPlacesDo { seen, instructions } => {
                let seen = if *seen == Verdict::Faster { "faster" } else { "slower" };
                write!(f, "{seen}, but no more than moved code can fake, and ")?;
                match instructions {
                    Err(NotMetered::NoCounter(_)) => {
                        f.write_str("its instructions cannot be counted here (valgrind would)")
                    }
                    Err(why) => write!(f, "its instructions were not counted: {why}"),
                    Ok(MetricVerdict::Same) => f.write_str("it executes the same instructions"),
                    Ok(MetricVerdict::ChangedBelowThreshold) => f.write_str("its instructions hardly changed"),
                    Ok(_) => f.write_str("its instructions did not change the same way"),
                }
            }
            Reason::TooNoisy => f.write_str("too noisy to tell within its budget (--per-test-budget)"),
            Reason::MetricUnknown { metric, why } => write!(f, "{} decides and is not known: {why}", metric.name()),
            Reason::Filtered => f.write_str("excluded by the filter"),
            Reason::Skipped { why, place } => write!(f, "skipped: {why} ({place})"),
            Reason::OtherShard { shard, shards } => write!(f, "for shard {shard} of {shards} (--partition)"),
        }
    }
}

impl fmt::Display for NotCaptured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NotCaptured::OtherMacro => {
                "another macro makes this test, and this toolchain or crate does not take our test runner"
            }
            NotCaptured::AttributeDiffers => "its attribute resolves differently in the two versions",
            NotCaptured::OtherRuntime => "runtime of another version",
            NotCaptured::NeverReached => "its body is never reached when it is run alone",
            NotCaptured::Benchmark => "a benchmark, measured on request (--benches)",
            NotCaptured::Doctest(why) => return why.fmt(f),
        })
    }
}

/// On which versions a test fails: `head`, or `head, not always`.
pub fn failed_on(side: FailedOn, intermittent: bool) -> &'static str {
    match (side, intermittent) {
        (FailedOn::Base, false) => "base",
        (FailedOn::Head, false) => "head",
        (FailedOn::Both, false) => "both",
        (FailedOn::Base, true) => "base, not always",
        (FailedOn::Head, true) => "head, not always",
        (FailedOn::Both, true) => "either side, not always",
    }
}

/// How a test's own code differs between the versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum TestCodeDifference {
    GoneInHead,
    NewInHead,
    Changed { item: TestCodeItem },
}

/// An item of a test's own code that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TestCodeItem {
    /// The last part of its name: the function is spelled out in one version, or in both and differs.
    Function(String),
    Doctest(String),
    Macro(CodeChange),
    MacroCall(CodeChange),
    /// A function, type or constant of test code that it names.
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
            Self::GoneInHead => f.write_str("it is gone in head"),
            Self::NewInHead => f.write_str("it is new in head"),
            Self::Changed { item } => write!(f, "its own code changed: {item}"),
        }
    }
}

/// How a call failed, or the process that made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Failure {
    /// What it says: its panic, or its last line.
    Said(String),
    /// It returned an error, or did not panic as it should.
    NotAsExpected,
    /// It passes once and not again.
    PassesOnce,
    /// Its process did not finish.
    Unfinished,
    /// Its process was killed before.
    Killed,
    /// Its process exited.
    Exited { code: i32 },
    /// A signal ended its process.
    Signal { number: i32, name: Option<String> },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Said(text) => f.write_str(text),
            Self::NotAsExpected => f.write_str("returned an error, or did not panic as it should"),
            Self::PassesOnce => f.write_str("passes once and not again"),
            Self::Unfinished => f.write_str("its process did not finish"),
            Self::Killed => f.write_str("killed"),
            Self::Exited { code } => write!(f, "exit status {code}"),
            Self::Signal { number, name: Some(name) } => write!(f, "signal {number} ({name})"),
            Self::Signal { number, name: None } => write!(f, "signal {number}"),
        }
    }
}
