//! Why machine code or execution could not tell which tests a change reaches: those tests are measured.

use super::LostInputs;
use serde::{Deserialize, Serialize};

/// Why tests cannot be traced on this system; `report::selecting` words it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Untraceable {
    OtherProcessor,
    OtherSystem,
    /// By seccomp, or by `kernel.yama.ptrace_scope`.
    Refused,
    /// With this error of the system.
    Failed(i32),
    /// The budget left no time for so many tests.
    OutOfTime {
        tests: usize,
    },
}

/// Why the machine code of a target's versions was not compared; `report::selecting` words it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Uncompared {
    /// The versions are built with different ones.
    Toolchains,
    /// It is not known what it was linked from.
    UnknownInputs,
    /// Something that it was linked from may not be known.
    IncompleteInputs {
        why: LostInputs,
    },
    /// An option has the linker take one symbol for another.
    RenamedSymbols {
        option: String,
    },
    /// The first ones that differ.
    LinkerOptions {
        differ: Vec<String>,
    },
    LinkerEnvironment,
    LinkerScripts,
    /// An input cannot be read.
    Unreadable {
        why: String,
    },
}
