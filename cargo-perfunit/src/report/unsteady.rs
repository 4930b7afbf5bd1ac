//! Why later calls of a test cannot be had, in words.

use super::format::limit;
use crate::model::Unsteady;
use std::fmt;

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
