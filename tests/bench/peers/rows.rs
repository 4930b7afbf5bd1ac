//! What one contender said of one pair; kept in a file as it comes.

use super::contenders::Contender;
use super::pairs::Pair;
use super::program::{Claim, Said};
use serde::{Deserialize, Serialize};
use std::fmt;

/// One comparison of all workloads.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    /// What is compared, and by whom.
    pub key: Key,
    /// By workload.
    pub said: Vec<Said>,
    /// Of measuring all workloads, both versions.
    pub seconds: f64,
    /// Of building head, and for ours of all that comes before measuring.
    pub build_seconds: f64,
}

/// Rows with equal keys are the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Key {
    /// Base and head.
    pub pair: Pair,
    /// Names the project.
    pub project: String,
    /// The so manieth time.
    pub repeat: usize,
    /// Who compares.
    pub contender: Contender,
    /// Its version; of ours, what names the executable and its options.
    pub version: String,
    /// The core, if one was chosen.
    pub core: Option<usize>,
}

impl Key {
    /// The peer with its version, if it is one.
    pub fn peer(&self) -> Option<String> {
        let (name, _) = self.contender.package()?;
        Some(format!("{name} {}", self.version))
    }
}

/// Above the rows.
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
