//! Tango: runs head's executable against base's. Since 0.8 these are two processes that run at the same time on two
//! cores; until 0.7 one process loaded the other executable and called both in turn.

use super::Result;
use super::program::{self, Claim, Said};
use super::project::{Executables, WORKLOADS};
use perfunit_model::Sides;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Difference below which tango reports noise by default. In 0.7 it is fixed and part of the mark.
const NOISE_THRESHOLD: f64 = 0.01;

/// Design of a version of tango.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Design {
    /// Version 0.9.
    TwoProcesses,
    /// Version 0.7.
    OneProcess,
}

/// Runs `cargo bench -- compare BASE`. The threshold does not affect the measurement: with 0, the mark shows
/// significance alone, and any threshold can be applied to the output.
pub fn measure(sides: &Sides<Executables>, tree: &Path, design: Design, options: &[&str]) -> Result<Vec<Said>> {
    let (name, package, threshold): (_, _, &[&str]) = match design {
        Design::TwoProcesses => ("tango", "peers", &["--noise-threshold", "0"]),
        Design::OneProcess => ("tango7", "tango7", &[]),
    };
    let mut command = program::bench(&sides.head[name], &tree.join(package));
    command.arg("compare").arg(&sides.base[name]).args(threshold).args(options);
    let printed = program::printed(&mut command)?;
    program::complete(printed.lines().filter_map(|line| read(line, design)).collect(), &printed)
}

/// Parses a line such as `add    [ 375.5 ns ... 369.0 ns ]      -1.58%*`.
fn read(line: &str, design: Design) -> Option<Said> {
    let workload = line.split_whitespace().next().filter(|name| WORKLOADS.contains(name))?;
    let last = line.split_whitespace().last()?;
    let is_significant = last.ends_with('*');
    let change = last.trim_end_matches('*').trim_end_matches('%').parse::<f64>().ok()? / 100.0;
    let is_told = match design {
        Design::TwoProcesses => is_significant && change.abs() > NOISE_THRESHOLD,
        Design::OneProcess => is_significant,
    };
    Some(Said {
        workload: workload.to_owned(),
        change: Some(change),
        interval: None,
        is_significant: Some(is_significant),
        claim: is_told.then(|| Claim::of(change)),
    })
}
