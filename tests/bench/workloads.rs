//! A small crate with tests that spend their time in loops with an adjustable number of operations. A certain
//! percentage of more work must be found, whatever else changed.

use super::{Result, repository};
use std::path::{Path, PathBuf};

const FILES: [(&str, &str); 7] = [
    (".gitignore", "/target\n"),
    ("Cargo.toml", include_str!("workloads/Cargo.toml.fixture")),
    ("src/lib.rs", include_str!("workloads/src/lib.rs")),
    ("src/add.rs", include_str!("workloads/src/add.rs")),
    ("src/allocate.rs", include_str!("workloads/src/allocate.rs")),
    ("src/format.rs", include_str!("workloads/src/format.rs")),
    ("src/mix.rs", include_str!("workloads/src/mix.rs")),
];

/// Number of operations of every workload; 300, so that whole percentages are whole operations.
const OPERATIONS: f64 = 300.0;

/// Writes the crate below `work`.
pub fn write(work: &Path) -> Result<PathBuf> {
    repository::write(&work.join("workloads"), FILES)
}

/// Returns a file with this many percent more operations. The number is opaque to the compiler, so nothing else
/// changes.
pub fn with_more_work(text: &str, percent: f64) -> Result<String> {
    let constant = |operations: f64| format!("const OPERATIONS: u64 = {operations:.0};");
    let more = text.replacen(&constant(OPERATIONS), &constant(OPERATIONS * (1.0 + percent / 100.0)), 1);
    if more == text { Err("no operation more: the effect is too small, or not of this file".into()) } else { Ok(more) }
}
