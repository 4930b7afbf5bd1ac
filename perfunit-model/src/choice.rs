//! Options with a few named values, shared by the command line, the configuration and saved runs.

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tests to explain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Explain {
    /// Up to three slower tests, one for each cause first.
    #[default]
    Auto,
    /// All slower and faster tests.
    Always,
    /// None.
    Never,
}

/// Functions to generate calls for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Generated {
    /// None.
    #[default]
    Never,
    /// Changed functions that no test executes.
    Uncovered,
}

/// Use of link-time optimization (LTO) from the project's profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Lto {
    /// Build without it, unless it differs between the versions.
    #[default]
    Off,
    /// Build with it.
    Keep,
}

/// Source of instruction counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Instructions {
    /// The processor's counter, if available.
    #[default]
    Auto,
    /// callgrind, in a process of each version.
    Callgrind,
    /// Do not count instructions.
    Never,
}

/// Which ignored tests to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ignored {
    /// Run only tests that are not ignored.
    #[default]
    Default,
    /// Run only ignored tests.
    #[value(alias = "ignored-only")]
    Only,
    /// Run all tests.
    All,
}

/// Placement of code in the measured executables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Match the addresses of unchanged code in both versions.
    #[default]
    Matched,
    /// Keep the linker's placement, for experiments.
    Natural,
}

/// Which functions to time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// All functions at once.
    Complete,
    /// Callees of the test, then callees of changed functions, and so on.
    Levelwise,
    /// Functions on paths from the test to functions with changed source.
    UntilSourceChange,
}

/// How to find the responsible functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// Time, by a probe in each function.
    #[default]
    Probes,
    /// Instructions, including inlined functions and those too small for a probe (requires valgrind).
    Callgrind,
    /// System calls of a test and the programs that it starts, by callgrind.
    #[value(skip)]
    SystemCalls,
    /// Time in these system calls.
    #[value(skip)]
    SystemTime,
}

crate::deserialized_by_name!(Explain, Generated, Ignored, Instructions, Lto);
