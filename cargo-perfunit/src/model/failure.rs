//! How a call failed.

use serde::{Deserialize, Serialize};

/// How a call failed, or the process that made it. `report::failure` words it.
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
