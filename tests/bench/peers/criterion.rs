//! Criterion: saves a baseline on base and compares head with it.

use super::program::{self, Claim, Said};
use super::project::{Executables, WORKLOADS};
use super::{Result, ours, printed};
use perfunit_model::Sides;
use std::path::Path;

/// Name of the benchmark.
const NAME: &str = "criterion";

/// Runs `cargo bench -- --save-baseline base`, then on head `cargo bench -- --baseline base`.
pub fn measure(sides: &Sides<Executables>, folder: &Path, scratch: &Path) -> Result<Vec<Said>> {
    if scratch.exists() {
        std::fs::remove_dir_all(scratch)?;
    }
    let run = |executables: &Executables, option: &str| {
        let mut command = program::bench(&executables[NAME], folder);
        program::printed(command.env("CRITERION_HOME", scratch).args([option, "base"]))
    };
    run(&sides.base, "--save-baseline")?;
    read(&run(&sides.head, "--baseline")?)
}

/// Parses the output: a name before its time, then the change and criterion's judgment.
fn read(printed: &str) -> Result<Vec<Said>> {
    let mut said: Vec<Said> = Vec::new();
    for line in printed.lines() {
        let first = line.split_whitespace().next().unwrap_or_default();
        if WORKLOADS.contains(&first) && line.contains("time:") {
            said.push(ours::nothing(first));
        }
        let Some(last) = said.last_mut() else { continue };
        if line.contains("change:") {
            let [low, change, high] = printed::changes(line).ok_or_else(|| format!("cannot read this: {line}"))?;
            (last.change, last.interval) = (Some(change), Some([low, high]));
            last.is_significant = Some(line.contains(" < 0.05)"));
        }
        if line.contains("Performance has") {
            last.claim = Some(if line.contains("regressed") { Claim::Slower } else { Claim::Faster });
        }
    }
    let said = program::complete(said, printed)?;
    let is_compared = said.iter().all(|said| said.change.is_some());
    if is_compared { Ok(said) } else { Err(format!("without a comparison:\n{printed}").into()) }
}
