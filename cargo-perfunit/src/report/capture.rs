//! Why doc tests and benchmarks are not captured, in words.

use crate::model::{NoBench, NoDoctest, NotExtracted};
use std::fmt;

impl fmt::Display for NoDoctest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoDoctest::Ignored => f.write_str("marked `ignore`"),
            NoDoctest::NoRun => f.write_str("marked `no_run`"),
            NoDoctest::CompileFail => f.write_str("marked `compile_fail`"),
            NoDoctest::TestHarness => f.write_str("marked `test_harness`"),
            NoDoctest::OtherEdition { edition } => write!(f, "marked `edition{edition}`, which is not the crate's"),
            NoDoctest::CrateAttribute { what } => write!(f, "needs a crate of its own for `#![{what}]`"),
            NoDoctest::WholeProgram { what } => write!(f, "needs a program of its own for `{what}`"),
            NoDoctest::DoesNotCompile { error } => write!(f, "does not compile beside other doc tests: {error}"),
            NoDoctest::TextChanged { error } => {
                write!(f, "its text differs, and does not compile with the other version: {error}")
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
            NotExtracted::NotRun => f.write_str("cargo does not run them here"),
            NotExtracted::Refused { error } => write!(f, "rustdoc of this toolchain does not extract them: {error}"),
            NotExtracted::OtherFormat { error } => {
                write!(f, "rustdoc of this toolchain extracts them in another format: {error}")
            }
        }
    }
}
