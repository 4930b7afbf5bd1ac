//! Failures of calls.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Failure of a call or of its process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Failure {
    /// The panic message, or the last line of output.
    Said(String),
    /// The call returned an error, or did not panic as expected.
    NotAsExpected,
    /// The call passes only once.
    PassesOnce,
    /// The process did not finish.
    Unfinished,
    /// The process was killed.
    Killed,
    /// The process exited.
    Exited { code: i32 },
    /// A signal ended the process.
    Signal { number: i32, name: Option<String> },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Said(text) => f.write_str(text),
            Self::NotAsExpected => f.write_str("returned an error or did not panic as expected"),
            Self::PassesOnce => f.write_str("passes only once"),
            Self::Unfinished => f.write_str("process did not finish"),
            Self::Killed => f.write_str("killed"),
            Self::Exited { code } => write!(f, "exit status {code}"),
            Self::Signal { number, name: Some(name) } => write!(f, "signal {number} ({name})"),
            Self::Signal { number, name: None } => write!(f, "signal {number}"),
        }
    }
}
