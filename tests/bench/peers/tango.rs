//! Tango: head's executable runs against base's, both at the same time.

use super::Result;
use super::program::{self, Claim, Said};
use super::project::{Executables, WORKLOADS};
use cargo_perfunit::model::Sides;
use std::path::Path;

/// Name of the benchmark.
const NAME: &str = "tango";
/// Below it a difference is noise to tango, unless it is told otherwise.
const NOISE_THRESHOLD: f64 = 0.01;

/// `cargo bench -- compare BASE`. The threshold does not enter the measurement: with 0 the mark tells of significance
/// alone, and any threshold can be applied to what is printed.
pub fn measure(sides: &Sides<Executables>, folder: &Path, options: &[&str]) -> Result<Vec<Said>> {
    let mut command = program::bench(&sides.head[NAME], folder);
    command.arg("compare").arg(&sides.base[NAME]).args(["--noise-threshold", "0"]).args(options);
    let printed = program::printed(&mut command)?;
    program::complete(printed.lines().filter_map(read).collect(), &printed)
}

/// `add    [ 375.5 ns ... 369.0 ns ]      -1.58%*`
fn read(line: &str) -> Option<Said> {
    let workload = line.split_whitespace().next().filter(|name| WORKLOADS.contains(name))?;
    let last = line.split_whitespace().last()?;
    let is_significant = last.ends_with('*');
    let change = last.trim_end_matches('*').trim_end_matches('%').parse::<f64>().ok()? / 100.0;
    Some(Said {
        workload: workload.to_owned(),
        change: Some(change),
        interval: None,
        is_significant: Some(is_significant),
        claim: (is_significant && change.abs() > NOISE_THRESHOLD).then(|| Claim::of(change)),
    })
}
