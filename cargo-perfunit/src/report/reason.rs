//! Why a test has no verdict, or less of one, in words.

use super::format::limit;
use crate::model::{FailedOn, MetricVerdict, NotCaptured, NotMetered, Reason, Sides, Verdict};
use std::fmt;

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
