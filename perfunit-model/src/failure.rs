//! How a call failed.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How a call failed, or the process that made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Failure {
    /// What it says: its panic, or its last line.
    Said(String),
    /// It returned an error, or did not panic as it should.
    NotAsExpected,
    /// It passes once and not again.
    PassesOnce,
    /// Its process did not finish.
    Unfinished,
    /// Its process was killed before.
    Killed,
    /// Its process exited.
    Exited { code: i32 },
    /// A signal ended its process.
    Signal { number: i32, name: Option<String> },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Said(text) => f.write_str(text),
            Self::NotAsExpected => f.write_str("returned an error, or did not panic as it should"),
            Self::PassesOnce => f.write_str("passes once and not again"),
            Self::Unfinished => f.write_str("its process did not finish"),
            Self::Killed => f.write_str("killed"),
            Self::Exited { code } => write!(f, "exit status {code}"),
            Self::Signal { number, name: Some(name) } => write!(f, "signal {number} ({name})"),
            Self::Signal { number, name: None } => write!(f, "signal {number}"),
        }
    }
}
