//! Why a test has no verdict, or less of one.

use super::format::{count, limit, some};
use super::{
    CodeChange, FailedOn, Failure, Metric, MetricVerdict, NoDoctest, NoVerdict, NotMetered, Side, Sides, Verdict,
};
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
        /// Whether it also passes there at times.
        #[serde(default)]
        intermittent: bool,
    },
    /// Killed its process: abort, stack overflow, `exit`, signal.
    Crashes {
        side: FailedOn,
        how: Failure,
        /// Whether it also passes there at times.
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
        /// The programs that have some of them and that it could start.
        #[serde(default)]
        programs: Vec<String>,
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
    /// Returns the versions on which the test fails, or does not end, each time.
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

    /// Returns whether the test failed on this version at least once, or did not end there.
    pub fn fails_on(&self, wanted: Side) -> bool {
        let (Reason::Fails { side, .. } | Reason::Crashes { side, .. } | Reason::TimedOut { side, .. }) = self else {
            return false;
        };
        side.includes(wanted)
    }

    /// Returns whether the test itself is the reason that nothing is known of the code it executes: not the options, not the
    /// time that was available, and not a regression.
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

    /// Returns whether the change cannot have reached the test.
    pub fn is_unaffected(&self) -> bool {
        matches!(self, Reason::SameExecutable | Reason::SameCode | Reason::NotExecuted { .. })
    }

    /// Returns the same reason for a test that passes on neither version.
    #[must_use]
    pub fn on_both(mut self) -> Self {
        if let Reason::Fails { side, .. } | Reason::Crashes { side, .. } | Reason::TimedOut { side, .. } = &mut self {
            *side = FailedOn::Both;
        }
        self
    }

    /// Returns the same reason for a test that also passes at times.
    #[must_use]
    pub fn now_and_then(mut self) -> Self {
        if let Reason::Fails { intermittent, .. } | Reason::Crashes { intermittent, .. } = &mut self {
            *intermittent = true;
        }
        self
    }

    /// Returns the reason of a test that did not end within a limit.
    pub fn timed_out(side: FailedOn, limit: Duration) -> Self {
        Self::TimedOut { side, seconds: limit.as_secs_f64(), confirmed: false }
    }

    /// Returns the reason without its details.
    pub fn kind(&self) -> ReasonKind {
        self.into()
    }
}

/// The words of a reason: [`Reason::summary`] names what the tests of a group share, [`Reason::detail`] what tells them apart.
/// The whole reason, by `Display`, has both.
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
            Reason::TestChanged { .. } => "changed test code: neither version of it works on both sides",
            Reason::New => "new",
            Reason::Removed => "removed",
            Reason::FoldedAway { .. } => "too short to measure: the optimiser removed the work, or there is hardly any",
            Reason::RunsByClock => "run by the clock: not comparable",
            Reason::LostInStart { .. } => "dominated by process start",
            Reason::NotConfirmed | Reason::Unconfirmed { .. } => "not confirmed",
            Reason::AsPlacesDo { .. } => "no more than moved code can fake",
            Reason::TooNoisy => "too noisy",
            Reason::MetricUnknown { .. } => "a deciding metric is not available",
            Reason::Ignored => "ignored",
            Reason::Skipped { .. } => "skipped",
            Reason::Filtered => "excluded by the filter",
            Reason::OtherShard { .. } => "for other shards (--partition)",
            Reason::DataChanged { .. } => "unchanged code, changed data files",
            Reason::SameExecutable => "cannot have changed: unchanged executable",
            Reason::SameCode => "cannot have changed: unchanged machine code",
            Reason::NotExecuted { .. } => "do not execute changed code",
        }
    }

    /// Returns what tells a test from others with the same summary; empty where nothing does.
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

    /// Returns how a test failed on the side that is known from the context; empty if it did not fail.
    pub fn failure(&self) -> String {
        match self {
            Reason::Fails { how, .. } => how.to_string(),
            Reason::Crashes { how, .. } => format!("exits or crashes the process: {how}"),
            Reason::TimedOut { seconds, .. } => format!("does not end within {} (--timeout)", limit(*seconds)),
            _ => String::new(),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (summary, detail) = (self.summary(), self.detail());
        match self {
            Reason::Ignored => f.write_str("ignored (--run-ignored all measures it)"),
            Reason::FoldedAway { .. } => write!(f, "{summary} ({detail})"),
            Reason::LostInStart { ns } => write!(
                f,
                "lost in the start of its process: without any test that takes as long ({:.1} ms); or its harness runs the same whatever it is asked for",
                ns / 1e6
            ),
            Reason::RunsByClock => f.write_str(
                "runs by the clock: it does as much as its time allows, and fails by a clock that both versions read equally often",
            ),
            Reason::TooLong { .. } => write!(f, "too long: {detail}"),
            Reason::TimedOut { side, seconds, .. } => {
                write!(f, "did not end within {} on {} (--timeout)", limit(*seconds), failed_on(*side, false))
            }
            Reason::Fails { .. } => write!(f, "fails {detail}"),
            Reason::Crashes { .. } => write!(f, "ends its process {detail}"),
            Reason::New => f.write_str("new, and does not build or pass on base: there is nothing to compare with"),
            Reason::Removed => f.write_str("removed in head"),
            Reason::TestChanged { .. } => {
                write!(f, "its own code changed ({detail}), and neither its old nor its new code works on both versions")
            }
            Reason::SameExecutable => f.write_str("cannot have changed: its executable is the same, byte for byte"),
            Reason::SameCode => f.write_str("cannot have changed: all machine code that it can reach is the same"),
            Reason::NotExecuted { functions, programs } => {
                let functions = count(*functions, "changed function");
                write!(f, "has not changed: it can reach {functions}, but does not execute any")?;
                if programs.is_empty() {
                    return Ok(());
                }
                write!(f, ", nor starts a program that does ({})", some(programs.iter().cloned()))
            }
            Reason::DataChanged { .. } => {
                write!(f, "the code is the same; {detail} differs, and on equal data there is nothing to compare")
            }
            Reason::NotCaptured { .. } => write!(f, "{summary}: {detail}"),
            Reason::Unconfirmed { seen } => {
                write!(f, "probably {}, not confirmed: the run's --budget was used up", direction(*seen))
            }
            Reason::NotConfirmed => f.write_str("a change was seen first and could not be confirmed on fresh pairs"),
            Reason::AsPlacesDo { seen, instructions } => {
                write!(f, "{}, but {summary}, and ", direction(*seen))?;
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
            Reason::TooNoisy => write!(f, "{summary} to tell within its budget (--per-test-budget)"),
            Reason::MetricUnknown { metric, why } => write!(f, "{} decides and is not known: {why}", metric.name()),
            Reason::Skipped { place, .. } => write!(f, "{summary}: {detail} ({place})"),
            Reason::OtherShard { shard, shards } => write!(f, "for shard {shard} of {shards} (--partition)"),
            Reason::BudgetUsedUp | Reason::Interrupted | Reason::Filtered => f.write_str(summary),
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

/// Returns the versions on which a test fails: `head`, or `head, not always`.
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
