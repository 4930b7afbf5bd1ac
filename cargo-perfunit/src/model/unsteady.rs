//! Why later calls of a test cannot be had, where only those will do: for call trees, for counts by callgrind, for
//! proving the rule.

use super::{Failure, Note, Reason};
use serde::{Deserialize, Serialize};

/// `report::unsteady` words it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unsteady {
    NotMeasured(Reason),
    /// Only its first calls are compared, for what the notes say.
    FirstCalls(Vec<Note>),
    Interrupted,
    TooLongInCallgrind {
        seconds: f64,
    },
    FailsInCallgrind {
        how: Failure,
    },
    /// callgrind did not write its counts.
    NoCounts {
        why: String,
    },
}
