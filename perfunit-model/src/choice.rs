//! Options that are one word of a few: the same on the command line, in the configuration and in saved runs.

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// For which tests to find the responsible functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Explain {
    /// For three that got slower, of each cause one first.
    #[default]
    Auto,
    /// For all slower and faster tests.
    Always,
    /// For none.
    Never,
}

/// For which functions to compare generated calls, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Generated {
    /// For none.
    #[default]
    Never,
    /// For changed functions that no test executes.
    Uncovered,
}

/// What becomes of the link-time optimization (LTO) of the project's profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Lto {
    /// Measured builds leave it out, unless it differs between the versions.
    #[default]
    Off,
    /// Measured builds have it.
    Keep,
}

/// Where instructions come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Instructions {
    /// The processor's counter, where there is one.
    #[default]
    Auto,
    /// callgrind, in a process of each version.
    Callgrind,
    /// Not at all.
    Never,
}

/// Which ignored tests to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ignored {
    /// None.
    #[default]
    Default,
    /// Only those.
    #[value(alias = "ignored-only")]
    Only,
    /// Those too.
    All,
}

/// Where the code of the measured executables lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// What is the same in both versions at the same places.
    #[default]
    Matched,
    /// Wherever the linker put it: for experiments on what matching is worth.
    Natural,
}

/// Which functions to time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// All at once.
    Complete,
    /// What the test calls, then what those call that changed, and so on.
    Levelwise,
    /// Those on the ways from the test to functions whose source changed.
    UntilSourceChange,
}

/// What to count to find the responsible functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// Time, by a probe in each function.
    #[default]
    Probes,
    /// Instructions, also of functions that are inlined or too small for a probe (needs valgrind).
    Callgrind,
}

crate::deserialized_by_name!(Explain, Generated, Ignored, Instructions, Lto);
