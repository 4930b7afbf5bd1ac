//! Why no function is named, or has no time of its own, in words.

use super::format;
use crate::model::{BuiltWith, Engine, ExplanationNote, Unexplained, Unprobed};
use std::fmt::{Display, Formatter, Result};

impl Display for Unexplained {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Nobody { notes } if notes.is_empty() => {
                f.write_str("no function accounts for a part of the difference for certain")
            }
            Self::Nobody { notes } => {
                f.write_str(&notes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
            }
            Self::NotMeasured(reason) => write!(f, "it was not measured: {reason}"),
            Self::Stopped { seconds } => {
                write!(f, "calls were stopped after {seconds:.1} s, and only whole ones can be explained")
            }
            Self::WholeProcesses => f.write_str("whole processes were measured, and only calls can be explained"),
            Self::FirstCalls => f.write_str("only first calls were measured"),
            Self::NoSteadyState => f.write_str("it has no figures in steady state"),
            Self::TooLong { pair_seconds, pairs, longest_seconds } => write!(
                f,
                "a pair of calls takes {pair_seconds:.1} s, and {pairs} at least would have to fit {longest_seconds} s"
            ),
            Self::BudgetUsed { by_measuring: true } => f.write_str("the budget was used up by measuring"),
            Self::BudgetUsed { by_measuring: false } => f.write_str("the budget was used up"),
            Self::LongerThanMeasuring { instructions } => {
                if let Some(change) = instructions {
                    write!(f, "executed instructions ({}) do not explain it; ", format::percent(*change))?;
                }
                f.write_str(
                    "timing its functions would take longer than measuring did, `cargo perfunit explain` does it",
                )
            }
            Self::DoesNotBuild { with, error } => write!(f, "it does not build with {with}: {error}"),
            Self::TargetNotBuilt { with } => write!(f, "its target was not built with {with}"),
            Self::NoTimeLeft => f.write_str("no time was left"),
            Self::NoChangeCalled => f.write_str("the test calls no function with a probe whose source changed"),
            Self::TooFewPairs => f.write_str("too few pairs of processes fit the time"),
            Self::TooFewCalls => f.write_str("too few calls of it were counted"),
            Self::NoLaterCalls(why) => why.fmt(f),
            Self::Unreadable { why } => f.write_str(why),
            Self::NotReached => f.write_str("it was not reached"),
        }
    }
}

impl Display for ExplanationNote {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::NoRoom { calls } => {
                write!(f, "{calls} calls found no room in the call tree: their time is their callers'")
            }
            Self::DoesNotShow { engine: Engine::Probes } => f.write_str("with probes the difference does not show"),
            Self::DoesNotShow { engine: Engine::Callgrind } => {
                f.write_str("both versions execute about as many instructions")
            }
            Self::OtherWay { engine: Engine::Probes, change } => write!(
                f,
                "with probes the test changes by {}, the other way than without them: its functions' times do not explain it",
                format::percent(*change)
            ),
            Self::OtherWay { engine: Engine::Callgrind, change } => write!(
                f,
                "its instructions change by {}, the other way than its time, which they do not explain",
                format::percent(*change)
            ),
            Self::Distorted { factor } => write!(
                f,
                "with probes the test takes {factor:.1} times as long, their own time left out: calls that are inlined without them are not"
            ),
            Self::InTest { engine, share } => {
                let place = match engine {
                    Engine::Probes => "code without a probe that the test calls itself",
                    Engine::Callgrind => "the test itself and code of others that it calls",
                };
                write!(f, "{:.0} % of the difference is in {place}", 100.0 * share)
            }
            Self::OtherInstructions { side, functions } => {
                write!(f, "with debug information {functions} functions of {side} have other instructions")
            }
            Self::UnknownInstructions { side, why } => {
                write!(f, "it is not known whether {side} has the measured instructions: {why}")
            }
        }
    }
}

impl Display for BuiltWith {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Self::Probes => "probes",
            Self::Counters => "counters",
            Self::DebugInformation => "debug information",
        })
    }
}

impl Display for Unprobed {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Self::Const => "a const fn cannot read the clock",
            Self::Naked => "a naked function has no body of Rust",
            Self::Variadic => "a function with variable arguments",
            Self::Main => "the main function of a program",
            Self::CompilerHook => "called by the compiler",
            Self::Allocator => "part of the memory allocator",
            Self::RewrittenAsync => "an async fn that an attribute macro rewrites",
            Self::NoPrelude => "below no_implicit_prelude, where the probe has no name",
            Self::InMacro => "written by a macro",
            Self::Unparsed => "not Rust that we can parse",
            Self::Trivial => "too small to be timed",
            Self::Unwanted => "not asked for",
        })
    }
}
