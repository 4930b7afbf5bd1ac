//! Runs a peer's executables as `cargo bench` does, and parses their output.

use super::project::WORKLOADS;
use super::{Result, tool};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::process::Command;

/// A change that is reported to the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Claim {
    /// Head takes longer.
    Slower,
    /// Head takes less time.
    Faster,
}

/// A tool's result for one workload.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Said {
    /// Name of the workload.
    pub workload: String,
    /// Change of head as a fraction of base; `None` without figures.
    pub change: Option<f64>,
    /// Bounds of the interval, if there is one.
    pub interval: Option<[f64; 2]>,
    /// True if the change is significant, regardless of its size; `None` if the tool does not test this.
    pub is_significant: Option<bool>,
    /// Claim with default settings; `None` if the tool leaves the claim to the user.
    pub claim: Option<Claim>,
}

impl Claim {
    /// Returns the claim for a change beyond the threshold.
    pub fn of(change: f64) -> Self {
        if change > 0.0 { Self::Slower } else { Self::Faster }
    }
}

/// Returns a benchmark executable as started by `cargo bench`.
pub fn bench(executable: &Path, folder: &Path) -> Command {
    let mut command = tool::clean(executable, folder);
    command.env("NO_COLOR", "1").arg("--bench");
    command
}

/// Returns the output of a command. An exit code that reports findings is not an error.
pub fn printed(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    if output.status.code().is_none_or(|code| code > 1) {
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?}: {}\n{error}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Returns the results of all workloads in order. Fails if one is missing.
pub fn complete(said: Vec<Said>, printed: &str) -> Result<Vec<Said>> {
    let names: Vec<&str> = said.iter().map(|said| said.workload.as_str()).collect();
    let is_complete = names.len() == WORKLOADS.len() && WORKLOADS.iter().all(|workload| names.contains(workload));
    if is_complete { Ok(said) } else { Err(format!("cannot read this:\n{printed}").into()) }
}
