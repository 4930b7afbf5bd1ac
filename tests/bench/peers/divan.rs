//! Divan: one version at a time. Which difference of two medians is a change it leaves to who reads them.

use super::program::{self, Said};
use super::project::{Executables, WORKLOADS};
use super::{Result, printed};
use perfunit_model::Sides;
use std::path::Path;

/// Name of the benchmark.
const NAME: &str = "divan";
/// Columns are divided by this.
const BAR: char = '│';
/// The column of the medians, after the name with the fastest.
const MEDIAN: usize = 2;

/// `cargo bench` on base and on head.
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

/// In nanoseconds.
fn median(printed: &str, workload: &str) -> Option<f64> {
    let is_row = |line: &&str| line.split_whitespace().nth(1) == Some(workload);
    let column = printed.lines().find(is_row)?.split(BAR).nth(MEDIAN)?;
    printed::nanoseconds(column)
}
