//! Why tests are not captured, in words.

use crate::model::{NoDoctest, NotCaptured, NotExtracted};
use std::fmt;

impl fmt::Display for NotCaptured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotCaptured::WithoutRunner => {
                f.write_str("another macro makes this test, and this toolchain or crate does not take our test runner")
            }
            NotCaptured::OtherAttribute => f.write_str("its attribute resolves differently in the two versions"),
            NotCaptured::OtherRuntime => f.write_str("runtime of another version"),
            NotCaptured::NeverReached => f.write_str("its body is never reached when it is run alone"),
            NotCaptured::Doctest(why) => why.fmt(f),
        }
    }
}

impl fmt::Display for NoDoctest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoDoctest::Ignored => f.write_str("marked `ignore`"),
            NoDoctest::NoRun => f.write_str("marked `no_run`"),
            NoDoctest::CompileFail => f.write_str("marked `compile_fail`"),
            NoDoctest::StandaloneCrate => f.write_str("marked `standalone_crate`"),
            NoDoctest::TestHarness => f.write_str("marked `test_harness`"),
            NoDoctest::OtherEdition { edition } => write!(f, "marked `edition{edition}`, which is not the crate's"),
            NoDoctest::CrateAttribute { what } => write!(f, "needs a crate of its own for `#![{what}]`"),
            NoDoctest::MacroUse => f.write_str("needs a crate of its own for `#[macro_use] extern crate`"),
            NoDoctest::WholeProgram { what } => write!(f, "needs a program of its own for `{what}`"),
            NoDoctest::DoesNotCompile { error } => write!(f, "does not compile beside other doc tests: {error}"),
            NoDoctest::TextChanged { error } => {
                write!(f, "its text differs, and does not compile with the other version: {error}")
            }
        }
    }
}

impl fmt::Display for NotExtracted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotExtracted::NotRun => f.write_str("cargo does not run them here"),
            NotExtracted::Refused { error } => write!(f, "rustdoc of this toolchain does not extract them: {error}"),
            NotExtracted::OtherFormat { error } => {
                write!(f, "rustdoc of this toolchain extracts them in another format: {error}")
            }
        }
    }
}
