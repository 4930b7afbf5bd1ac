//! What a test is called, and the target that holds it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The modules that generated calls are in.
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
    /// The same of a binary.
    BinBench,
    /// The doc tests of the library.
    Doctest,
}

impl TargetKind {
    /// Whether it holds code that tests are about, and not only tests.
    pub fn holds_code(self) -> bool {
        match self {
            // The files of a library are those in which its doc tests and benchmarks stand.
            TargetKind::Lib | TargetKind::Bin | TargetKind::LibBench | TargetKind::BinBench | TargetKind::Doctest => {
                true
            }
            TargetKind::Test | TargetKind::Example | TargetKind::Bench => false,
        }
    }

    /// Whether cargo tells its tests where the package's binaries are (`CARGO_BIN_EXE_*`).
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

    /// For benchmarks that are in one executable with unit tests: the kind of these.
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

    /// For unit tests: the kind of the benchmarks among them.
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
    /// As nextest writes it: `package`, `package::integration_test`, `package::bin/name`.
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
    /// Whether it is a call that the tool made up.
    pub fn is_generated(&self) -> bool {
        self.name.split("::").any(|segment| segment == GENERATED_MODULE)
    }
}

impl fmt::Display for TestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.target, self.name)
    }
}
