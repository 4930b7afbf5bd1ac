//! Reasons for not naming a responsible function.

use super::format::limit;
use super::{Engine, Failure, Note, Reason, Side, format};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fmt::{Display, Formatter, Result};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unexplained {
    /// No function certainly accounts for part of the difference; contains the notes on it.
    Nobody {
        notes: Vec<ExplanationNote>,
    },
    /// The test has no figures.
    NotMeasured(Reason),
    /// Calls were stopped before they ended.
    Stopped {
        seconds: f64,
    },
    /// Whole processes were measured.
    WholeProcesses,
    /// Only first calls were measured.
    FirstCalls,
    NoSteadyState,
    /// Too few pairs of calls fit into the time of an explanation.
    TooLong {
        pair_seconds: f64,
        pairs: usize,
        longest_seconds: u64,
    },
    BudgetUsed {
        by_measuring: bool,
    },
    /// Explaining was not requested and would take longer than measuring did. Contains the change of instructions if they
    /// were counted and do not account for the time.
    LongerThanMeasuring {
        instructions: Option<f64>,
    },
    /// The build for explaining fails.
    DoesNotBuild {
        with: BuiltWith,
        error: String,
    },
    /// The build does not contain the target.
    TargetNotBuilt {
        with: BuiltWith,
    },
    NoTimeLeft,
    /// The test calls no changed function that has a probe.
    NoChangeCalled,
    TooFewPairs,
    TooFewCalls,
    /// Later calls of the test cannot be made.
    NoLaterCalls(Unsteady),
    /// The executable cannot be read.
    Unreadable {
        why: String,
    },
    NotReached,
}

/// Addition to executables that are built for explaining.
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
    /// Number of calls that did not fit into the call tree. Their time is counted for their callers.
    NoRoom { calls: u64 },
    /// The counts change by this fraction, in the opposite direction of the test's time.
    OtherWay {
        #[serde(default)]
        engine: Engine,
        change: f64,
    },
    /// The counts show no difference.
    DoesNotShow { engine: Engine },
    /// The interval of the change with probes, a fraction, contains both 0 and the change to be explained.
    LeftOpen { low: f64, high: f64 },
    /// With probes the test takes this many times as long, even without the probes' own time.
    Distorted { factor: f64 },
    /// This share of the difference is in the test itself and in code that is not timed separately.
    InTest { engine: Engine, share: f64 },
    /// Counts do not tell which function of the programs that it starts is responsible; these changed ones are executed.
    Executes { functions: Vec<String> },
    /// With debug information this many functions have different instructions than the measured ones.
    OtherInstructions { side: Side, functions: usize },
    /// It is unknown whether the instructions are those that were measured.
    UnknownInstructions { side: Side, why: String },
}

/// Reason why a function has no probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unprobed {
    /// A `const fn`, or a function in a trait or impl block that can be used in constants.
    Const,
    Naked,
    /// A function with variable arguments: `unsafe extern "C" fn f(a: u8, ...)`.
    Variadic,
    /// The `main` function of a program.
    Main,
    /// A function with `#[proc_macro]`, `#[panic_handler]` or similar attributes.
    CompilerHook,
    /// A method of `GlobalAlloc`.
    Allocator,
    /// An `async fn` that an attribute macro may turn into a function that returns a future.
    RewrittenAsync,
    NoPrelude,
    /// A function in a macro definition, or in the tokens of a macro call.
    InMacro,
    /// Unknown syntax of a function or of a whole file.
    Unparsed,
    /// The function is not selected and too small to be timed.
    Trivial,
    /// The function is not selected for instrumentation.
    Unwanted,
}

impl Display for Unexplained {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Nobody { notes } if notes.is_empty() => {
                f.write_str("no function certainly accounts for part of the difference")
            }
            Self::Nobody { notes } => {
                f.write_str(&notes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
            }
            Self::NotMeasured(reason) => write!(f, "it was not measured: {reason}"),
            Self::Stopped { seconds } => {
                write!(f, "calls were stopped after {seconds:.1} s, and only complete calls can be explained")
            }
            Self::WholeProcesses => f.write_str("whole processes were measured, but only calls can be explained"),
            Self::FirstCalls => f.write_str("only first calls were measured"),
            Self::NoSteadyState => f.write_str("it has no steady-state figures"),
            Self::TooLong { pair_seconds, pairs, longest_seconds } => write!(
                f,
                "a pair of calls takes {pair_seconds:.1} s; at least {pairs} pairs must fit into {longest_seconds} s"
            ),
            Self::BudgetUsed { by_measuring: true } => f.write_str("measuring used up the budget"),
            Self::BudgetUsed { by_measuring: false } => f.write_str("the budget was used up"),
            Self::LongerThanMeasuring { instructions } => {
                if let Some(change) = instructions {
                    write!(f, "executed instructions ({}) do not explain it; ", format::percent(*change))?;
                }
                f.write_str("explaining it would take longer than measuring did; `cargo perfunit explain` does it")
            }
            Self::DoesNotBuild { with, error } => write!(f, "it does not build with {with}: {error}"),
            Self::TargetNotBuilt { with } => write!(f, "its target was not built with {with}"),
            Self::NoTimeLeft => f.write_str("no time was left"),
            Self::NoChangeCalled => f.write_str("the test calls no changed function that has a probe"),
            Self::TooFewPairs => f.write_str("too few pairs of processes fit into the time"),
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
                write!(f, "{calls} calls did not fit into the call tree; their time is counted for their callers")
            }
            Self::DoesNotShow { engine: Engine::Probes } => f.write_str("the difference disappears with probes"),
            Self::DoesNotShow { engine: Engine::Callgrind } => {
                f.write_str("both versions execute about the same number of instructions")
            }
            Self::DoesNotShow { engine: Engine::SystemCalls } => {
                f.write_str("both versions make about as many system calls")
            }
            Self::DoesNotShow { engine: Engine::SystemTime } => {
                f.write_str("both versions spend about as much time in system calls")
            }
            Self::LeftOpen { low, high } => {
                let [low, high] = [low, high].map(|end| format::percent(*end));
                write!(f, "times with probes vary too much: the test changed by {low} to {high}")
            }
            Self::OtherWay { engine: Engine::Probes, change } => write!(
                f,
                "with probes the test changes by {}, in the opposite direction than without probes, so function times do not explain it",
                format::percent(*change)
            ),
            Self::OtherWay { engine: Engine::Callgrind, change } => write!(
                f,
                "its instructions change by {}, in the opposite direction of its time, so instructions do not explain it",
                format::percent(*change)
            ),
            Self::OtherWay { engine: Engine::SystemCalls | Engine::SystemTime, change } => write!(
                f,
                "its system calls change by {}, the other way than its time, which they do not explain",
                format::percent(*change)
            ),
            Self::Distorted { factor } => write!(
                f,
                "with probes the test takes {factor:.1} times as long even without the probes' own time, because they prevent inlining"
            ),
            Self::InTest { engine, share } => {
                let place = match engine {
                    Engine::Probes => "code without probes that the test calls directly",
                    Engine::Callgrind | Engine::SystemCalls | Engine::SystemTime => {
                        "the test itself and foreign code that it calls"
                    }
                };
                write!(f, "{:.0} % of the difference is in {place}", 100.0 * share)
            }
            Self::Executes { functions } => {
                let names = format::some(functions.iter().cloned());
                write!(f, "its counts name no changed function; the programs that it starts execute changed {names}")
            }
            Self::OtherInstructions { side, functions } => {
                write!(f, "with debug information {functions} functions of {side} have different instructions")
            }
            Self::UnknownInstructions { side, why } => {
                write!(f, "it is unknown whether {side} has the measured instructions: {why}")
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
            Self::Naked => "a naked function has no Rust body",
            Self::Variadic => "a function with variable arguments",
            Self::Main => "the main function of a program",
            Self::CompilerHook => "called by the compiler",
            Self::Allocator => "part of the memory allocator",
            Self::RewrittenAsync => "an async fn that an attribute macro rewrites",
            Self::NoPrelude => "below no_implicit_prelude, where probes cannot be named",
            Self::InMacro => "written by a macro",
            Self::Unparsed => "cannot be parsed",
            Self::Trivial => "too small to be timed",
            Self::Unwanted => "not selected",
        })
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unsteady {
    NotMeasured(Reason),
    /// Only first calls are compared, for the reasons in the notes.
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
            Self::TooLongInCallgrind { seconds } => write!(f, "timed out in callgrind after {}", limit(*seconds)),
            Self::FailsInCallgrind { how } => write!(f, "in callgrind: {how}"),
            Self::NoCounts { why } => write!(f, "callgrind did not write its counts: {why}"),
        }
    }
}
