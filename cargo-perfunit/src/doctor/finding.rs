//! One thing that was looked at, and how good it is.

use schemars::JsonSchema;
use serde::Serialize;

/// How good a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// As it should be, or without influence.
    Ok,
    /// Verdicts hold, but take longer or say less.
    Warn,
    /// The tool does not work, or what it says is doubtful.
    Bad,
}

/// One thing looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// What, as a word with hyphens that stays the same.
    pub what: &'static str,
    pub value: String,
    /// How good that is.
    pub level: Level,
    pub why: &'static str,
    /// What to do, if there is something.
    pub advice: Option<&'static str>,
}
