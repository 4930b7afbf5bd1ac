//! A workload: the repeated part of a test, with its consequences for listing, comparing and measuring.
//!
//! Stages ask a workload by methods that match on all kinds, so that the compiler reports what a new kind must answer.

use super::{Side, Sides};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How a test became a repeatable workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Capture {
    /// `#[test]` resolved to our attribute macro, so the body is measured, with opaque constants.
    Macro,
    /// Another macro generated the test function, which our test runner calls as a whole.
    Runner,
    /// The target's own harness runs the test, so a whole process is measured.
    Process,
    /// Our stand-in for a benchmark harness repeats what the harness would.
    Bench,
    /// A generated call, whose arguments are built for each call outside the measured time.
    Generated,
}

/// The program that runs the tests of an executable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Harness {
    /// Our runner, which supports tests of both capture methods.
    Runner,
    /// libtest, with which only tests captured by the macro can be measured.
    Libtest,
    /// The target's own main (`harness = false`).
    Own,
    /// The target's own main, through our stand-in for a benchmark harness.
    Bench,
}

/// Reason why a doc test is not in the executable of its library's doc tests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoDoctest {
    Ignored,
    NoRun,
    CompileFail,
    /// The doc test is a test harness itself.
    TestHarness,
    OtherEdition {
        edition: String,
    },
    /// The doc test has an attribute of a whole crate.
    CrateAttribute {
        what: String,
    },
    /// The doc test defines something that a program has only once.
    WholeProgram {
        what: String,
    },
    DoesNotCompile {
        error: String,
    },
    /// The doc test's text does not compile with the other version, which has another text.
    TextChanged {
        error: String,
    },
}

/// Reason why a library's doc tests are unknown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotExtracted {
    /// Cargo did not reach them.
    NotRun,
    /// The toolchain's rustdoc or rustc failed.
    Refused { error: String },
    /// This rustdoc prints them in an unknown format.
    OtherFormat { error: String },
}

/// Reason why the benchmarks of a target are unknown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoBench {
    /// The target does not compile with our stand-in for its harness.
    DoesNotCompile { side: Side, error: String },
}

/// The repeated part of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeated {
    /// The function, in one process or in forked children.
    Function,
    /// A whole process.
    Process,
}

/// The start of a test's executed code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// The test's function, which the executable names.
    Function,
    /// The main function, which all tests of the executable share.
    Main,
}

/// Options with which libtest runs exactly the tests with given names, in turn.
const LIBTEST_OPTIONS: [&str; 4] = ["--exact", "--include-ignored", "--nocapture", "--test-threads=1"];

impl Harness {
    pub fn repeats(self) -> Repeated {
        match self {
            Harness::Runner | Harness::Libtest | Harness::Bench => Repeated::Function,
            Harness::Own => Repeated::Process,
        }
    }

    pub fn starts(self) -> Start {
        match self {
            Harness::Runner | Harness::Libtest => Start::Function,
            Harness::Own | Harness::Bench => Start::Main,
        }
    }

    /// Returns true if the harness runs a requested test even if it is ignored, without an additional argument.
    pub fn runs_ignored(self) -> bool {
        match self {
            Harness::Runner | Harness::Libtest | Harness::Bench => true,
            Harness::Own => false,
        }
    }

    /// Returns the arguments that run these tests one after the other; `None` if the harness may not know them.
    pub fn arguments_of_all<'a>(self, tests: &[&'a str]) -> Option<Vec<&'a str>> {
        (self.starts() == Start::Function).then(|| [tests, &LIBTEST_OPTIONS].concat())
    }

    /// Returns the arguments that run this test alone. Our runner reads none while it serves.
    pub fn arguments(self, test: &str) -> Vec<&str> {
        match self {
            // The same as cargo-nextest, which knows as little about such a harness.
            Harness::Own => vec![test, "--exact", "--nocapture"],
            // The same as cargo's arguments for benchmarks, which the program may read too.
            Harness::Bench => vec!["--bench", "--exact", test],
            Harness::Runner | Harness::Libtest => [&[test], &LIBTEST_OPTIONS[..]].concat(),
        }
    }
}

impl fmt::Display for NoDoctest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoDoctest::Ignored => f.write_str("marked `ignore`"),
            NoDoctest::NoRun => f.write_str("marked `no_run`"),
            NoDoctest::CompileFail => f.write_str("marked `compile_fail`"),
            NoDoctest::TestHarness => f.write_str("marked `test_harness`"),
            NoDoctest::OtherEdition { edition } => {
                write!(f, "marked `edition{edition}`, which differs from the crate's")
            }
            NoDoctest::CrateAttribute { what } => write!(f, "needs its own crate for `#![{what}]`"),
            NoDoctest::WholeProgram { what } => write!(f, "needs its own program for `{what}`"),
            NoDoctest::DoesNotCompile { error } => write!(f, "does not compile together with other doc tests: {error}"),
            NoDoctest::TextChanged { error } => {
                write!(f, "its text differs and does not compile with the other version: {error}")
            }
        }
    }
}

impl fmt::Display for NoBench {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoBench::DoesNotCompile { side, error } => {
                write!(f, "does not compile with the interface that replaces its harness (on {side}): {error}")
            }
        }
    }
}

impl fmt::Display for NotExtracted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotExtracted::NotRun => f.write_str("cargo does not run them"),
            NotExtracted::Refused { error } => write!(f, "this toolchain's rustdoc cannot extract them: {error}"),
            NotExtracted::OtherFormat { error } => {
                write!(f, "this toolchain's rustdoc extracts them in an unknown format: {error}")
            }
        }
    }
}

/// Unit of an amount of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WorkUnit {
    Bytes,
    Elements,
    Chars,
    Bits,
    Cycles,
}

/// Amount of work of a run on each side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throughput {
    pub unit: WorkUnit,
    pub amount: Sides<u64>,
}

impl Throughput {
    /// Returns the throughput if both sides declare an amount in the same unit.
    pub fn of(work: Sides<Option<(WorkUnit, u64)>>) -> Option<Self> {
        let ((unit, base), (of_head, head)) = (work.base?, work.head?);
        (unit == of_head).then_some(Self { unit, amount: Sides { base, head } })
    }

    /// Returns the amounts per second for runs that take these times in ns.
    pub fn per_second(&self, ns: Sides<f64>) -> Sides<f64> {
        let of = |amount: u64, ns: f64| amount as f64 * 1e9 / ns;
        Sides { base: of(self.amount.base, ns.base), head: of(self.amount.head, ns.head) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_different_units_are_not_compared() {
        let of = |unit| Throughput::of(Sides { base: Some((WorkUnit::Bytes, 10)), head: unit });
        assert_eq!(of(Some((WorkUnit::Chars, 10))), None);
        assert_eq!(of(None), None);
        let found = of(Some((WorkUnit::Bytes, 20))).unwrap();
        assert_eq!(found.per_second(Sides { base: 5.0, head: 5.0 }), Sides { base: 2e9, head: 4e9 });
    }
}
