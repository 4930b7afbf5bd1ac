//! Why no function is named for a difference.

use super::format::limit;
use super::{Engine, Failure, Note, Reason, Side, format};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fmt::{Display, Formatter, Result};

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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExplanationNote {
    /// Calls that found no room in the call tree: their time is their callers'.
    NoRoom { calls: u64 },
    /// What was counted changes by this fraction, the other way than the test's time.
    OtherWay {
        #[serde(default)]
        engine: Engine,
        change: f64,
    },
    /// What was counted shows no difference.
    DoesNotShow { engine: Engine },
    /// With probes the test takes so many times as long, their own time left out.
    Distorted { factor: f64 },
    /// This share of the difference is in the test itself, and in code that is not told apart from it.
    InTest { engine: Engine, share: f64 },
    /// With debug information this many functions have other instructions than those that were measured.
    OtherInstructions { side: Side, functions: usize },
    /// It is not known whether they have.
    UnknownInstructions { side: Side, why: String },
}

/// Why a function has no probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unprobed {
    /// `const fn`, and all of a trait or impl block that can be used in constants.
    Const,
    Naked,
    /// `unsafe extern "C" fn f(a: u8, ...)`.
    Variadic,
    /// `fn main` of a program.
    Main,
    /// `#[proc_macro]`, `#[panic_handler]` and the like.
    CompilerHook,
    /// A method of `GlobalAlloc`.
    Allocator,
    /// An `async fn` that an attribute macro, on it or around it, can turn into a function that returns a future.
    RewrittenAsync,
    NoPrelude,
    /// In a macro definition, or in the tokens of a macro call.
    InMacro,
    /// Syntax unknown to us: of a function, or of the whole file.
    Unparsed,
    /// Not wanted, and too small to be timed.
    Trivial,
    /// Not wanted by who instruments.
    Unwanted,
}

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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unsteady {
    NotMeasured(Reason),
    /// Only its first calls are compared, for what the notes say.
    FirstCalls(Vec<Note>),
    Interrupted,
    TooLongInCallgrind {
        seconds: f64,
    },
    FailsInCallgrind {
        how: Failure,
    },
    /// callgrind did not write its counts.
    NoCounts {
        why: String,
    },
}

impl fmt::Display for Unsteady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotMeasured(reason) => reason.fmt(f),
            Self::FirstCalls(notes) => {
                f.write_str(&notes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
            }
            Self::Interrupted => f.write_str("interrupted"),
            Self::TooLongInCallgrind { seconds } => write!(f, "in callgrind it did not end within {}", limit(*seconds)),
            Self::FailsInCallgrind { how } => write!(f, "in callgrind: {how}"),
            Self::NoCounts { why } => write!(f, "callgrind did not write its counts: {why}"),
        }
    }
}
