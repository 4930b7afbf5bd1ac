//! A tool's results for one pair; stored in a file.

use super::contenders::Contender;
use super::pairs::Pair;
use super::program::{Claim, Said};
use serde::{Deserialize, Serialize};
use std::fmt;

/// One comparison of all workloads.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    /// The comparison and the tool.
    pub key: Key,
    /// Results by workload.
    pub said: Vec<Said>,
    /// Time of measuring all workloads in both versions, s.
    pub seconds: f64,
    /// Build time of head; for this tool, the time of all steps before measuring.
    pub build_seconds: f64,
}

/// Key of a row; rows with equal keys are the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Key {
    /// Base and head.
    pub pair: Pair,
    /// Key of the project.
    pub project: String,
    /// Number of the repetition.
    pub repeat: usize,
    /// The tool.
    pub contender: Contender,
    /// Version of the tool; for this tool, a key of the executable and its options.
    pub version: String,
    /// Core, if one was chosen.
    pub core: Option<usize>,
}

impl Key {
    /// Returns the peer with its version; `None` for this tool.
    pub fn peer(&self) -> Option<String> {
        let (name, _) = self.contender.package()?;
        Some(format!("{name} {}", self.version))
    }
}

/// Heading above the rows.
pub const HEADING: &str = "pair                 no.  who                             seconds  changes (* told)";

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Key { pair, repeat, contender, .. } = &self.key;
        let (pair, contender) = (pair.to_string(), contender.to_string());
        write!(f, "{pair:<18}{repeat:>6}  {contender:<30}{:>9.1} ", self.seconds)?;
        for Said { workload, change, claim, .. } in &self.said {
            let mark = match claim {
                Some(Claim::Slower | Claim::Faster) => "*",
                None => "",
            };
            match change {
                Some(change) => write!(f, " {workload} {:+.2}{mark}", 100.0 * change)?,
                None => write!(f, " {workload} -")?,
            }
        }
        Ok(())
    }
}
