//! Why later calls of a test cannot be had, where only those will do: for call trees, for counts by callgrind, for
//! proving the rule.

use super::format::limit;
use super::{Failure, Note, Reason};
use serde::{Deserialize, Serialize};
use std::fmt;

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

impl fmt::Display for Unsteady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotMeasured(reason) => reason.fmt(f),
            Self::FirstCalls(notes) => {
                f.write_str(&notes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
            }
            Self::Interrupted => f.write_str("interrupted"),
            Self::TooLongInCallgrind { seconds } => write!(f, "in callgrind it did not end within {}", limit(*seconds)),
            Self::FailsInCallgrind { how } => write!(f, "in callgrind: {how}"),
            Self::NoCounts { why } => write!(f, "callgrind did not write its counts: {why}"),
        }
    }
}
