//! Words for how a call failed.

use crate::model::Failure;
use std::fmt;

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
