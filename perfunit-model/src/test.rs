//! Names of tests and their targets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Name of the module that contains generated calls.
pub const GENERATED_MODULE: &str = "perfunit_generated";

/// The kinds of cargo target that can hold tests.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, strum::Display,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum TargetKind {
    /// Unit tests of the library (`lib`, `rlib`, `dylib`, `cdylib`, `staticlib`, `proc-macro`).
    Lib,
    /// Unit tests of a binary.
    Bin,
    /// An integration test, a file or folder in `tests/`.
    Test,
    /// An example with `test = true`.
    Example,
    /// Benchmarks, a file or folder in `benches/`.
    Bench,
    /// The `#[bench]` functions among the unit tests of the library.
    LibBench,
    /// The `#[bench]` functions among the unit tests of a binary.
    BinBench,
    /// The doc tests of the library.
    Doctest,
}

impl TargetKind {
    /// Returns true if the target contains code under test, not only tests.
    pub fn holds_code(self) -> bool {
        match self {
            // Doc tests and benchmarks of a library are in the files of the library.
            TargetKind::Lib | TargetKind::Bin | TargetKind::LibBench | TargetKind::BinBench | TargetKind::Doctest => {
                true
            }
            TargetKind::Test | TargetKind::Example | TargetKind::Bench => false,
        }
    }

    /// Returns true if cargo passes the paths of the package's binaries to its tests (`CARGO_BIN_EXE_*`).
    pub fn is_told_of_binaries(self) -> bool {
        match self {
            TargetKind::Test | TargetKind::Bench => true,
            TargetKind::Lib
            | TargetKind::Bin
            | TargetKind::Example
            | TargetKind::LibBench
            | TargetKind::BinBench
            | TargetKind::Doctest => false,
        }
    }

    /// Returns the kind of the unit tests that share an executable with these benchmarks.
    pub fn beside(self) -> Option<TargetKind> {
        match self {
            TargetKind::LibBench => Some(TargetKind::Lib),
            TargetKind::BinBench => Some(TargetKind::Bin),
            TargetKind::Lib
            | TargetKind::Bin
            | TargetKind::Test
            | TargetKind::Example
            | TargetKind::Bench
            | TargetKind::Doctest => None,
        }
    }

    /// Returns the kind of the benchmarks among these unit tests.
    pub fn of_benches(self) -> Option<TargetKind> {
        [TargetKind::LibBench, TargetKind::BinBench].into_iter().find(|kind| kind.beside() == Some(self))
    }
}

/// A cargo target of a package.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TargetId {
    /// Package name.
    pub package: String,
    pub kind: TargetKind,
    /// Target name as in the manifest.
    pub name: String,
}

impl fmt::Display for TargetId {
    /// Formats the target like nextest: `package`, `package::integration_test`, `package::bin/name`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { package, kind, name } = self;
        match kind {
            TargetKind::Lib => f.write_str(package),
            TargetKind::Test => write!(f, "{package}::{name}"),
            TargetKind::Bin => write!(f, "{package}::bin/{name}"),
            TargetKind::Example => write!(f, "{package}::example/{name}"),
            TargetKind::Bench | TargetKind::LibBench | TargetKind::BinBench | TargetKind::Doctest => {
                write!(f, "{package}::{kind}/{name}")
            }
        }
    }
}

/// A test: its target and its path inside the crate, as libtest prints it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TestId {
    /// The target that holds the test.
    pub target: TargetId,
    /// `module::path::name`, without the crate's name.
    pub name: String,
}

impl TestId {
    /// Returns true if the test is a generated call.
    pub fn is_generated(&self) -> bool {
        self.name.split("::").any(|segment| segment == GENERATED_MODULE)
    }

    /// Returns true for a symbol of the test itself or of an item inside it: both versions run the same test, so its changes
    /// were inlined.
    pub fn holds(&self, symbol: &str) -> bool {
        let within = symbol.split_once("::").and_then(|(_, path)| path.strip_prefix(self.name.as_str()));
        within.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    }
}

impl TestId {
    /// Returns whether this is the whole name of the test, alone or with its target as in reports.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.to_string() == name
    }
}

impl fmt::Display for TestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.target, self.name)
    }
}
