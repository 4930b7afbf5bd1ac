//! Runs a peer's executables as `cargo bench` does, and reads what they print.

use super::project::WORKLOADS;
use super::{Result, tool};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::process::Command;

/// A change that is told to the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Claim {
    /// Head takes longer.
    Slower,
    /// Head takes less time.
    Faster,
}

/// What somebody said about one workload.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Said {
    /// The workload.
    pub workload: String,
    /// Head against base, as a fraction of base; none if there are no figures.
    pub change: Option<f64>,
    /// The interval's ends, if there is one.
    pub interval: Option<[f64; 2]>,
    /// Whether the change is significant whatever its size; none where that is not asked.
    pub is_significant: Option<bool>,
    /// What is told with default settings; nothing of who leaves that to the user.
    pub claim: Option<Claim>,
}

impl Claim {
    /// What a change is that is beyond a threshold.
    pub fn of(change: f64) -> Self {
        if change > 0.0 { Self::Slower } else { Self::Faster }
    }
}

/// A benchmark executable as `cargo bench` starts it.
pub fn bench(executable: &Path, folder: &Path) -> Command {
    let mut command = tool::clean(executable, folder);
    command.env("NO_COLOR", "1").arg("--bench");
    command
}

/// What a command prints; of who says by its exit code what it found that is no failure.
pub fn printed(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    if output.status.code().is_none_or(|code| code > 1) {
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?}: {}\n{error}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// All workloads, in their order.
pub fn complete(said: Vec<Said>, printed: &str) -> Result<Vec<Said>> {
    let names: Vec<&str> = said.iter().map(|said| said.workload.as_str()).collect();
    let is_complete = names.len() == WORKLOADS.len() && WORKLOADS.iter().all(|workload| names.contains(workload));
    if is_complete { Ok(said) } else { Err(format!("cannot read this:\n{printed}").into()) }
}
