//! Divan: measures one version at a time and leaves the comparison of medians to the user.

use super::program::{self, Said};
use super::project::{Executables, WORKLOADS};
use super::{Result, printed};
use perfunit_model::Sides;
use std::path::Path;

/// Name of the benchmark.
const NAME: &str = "divan";
/// Separator of columns.
const BAR: char = '│';
/// Column of the medians; the first column has the name and the fastest time.
const MEDIAN: usize = 2;

/// Runs `cargo bench` on base and on head.
pub fn measure(sides: &Sides<Executables>, folder: &Path, options: &[&str]) -> Result<Vec<Said>> {
    let run = |executables: &Executables| program::printed(program::bench(&executables[NAME], folder).args(options));
    let printed = Sides { base: run(&sides.base)?, head: run(&sides.head)? };
    let said = WORKLOADS.into_iter().filter_map(|workload| {
        let change = median(&printed.head, workload)? / median(&printed.base, workload)? - 1.0;
        Some(Said {
            workload: workload.to_owned(),
            change: Some(change),
            interval: None,
            is_significant: None,
            claim: None,
        })
    });
    program::complete(said.collect(), &printed.head)
}

/// Returns the median in ns.
fn median(printed: &str, workload: &str) -> Option<f64> {
    let is_row = |line: &&str| line.split_whitespace().nth(1) == Some(workload);
    let column = printed.lines().find(is_row)?.split(BAR).nth(MEDIAN)?;
    printed::nanoseconds(column)
}
