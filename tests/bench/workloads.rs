//! A small crate of our own whose tests spend their time in loops, with a number of operations that can be raised: so
//! many per cent more work, which must be found whatever else changed.

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

/// How every workload says how much it does; 300, so that whole per cents are whole operations.
const OPERATIONS: f64 = 300.0;

/// Writes the crate below `work`.
pub fn write(work: &Path) -> Result<PathBuf> {
    repository::write(&work.join("workloads"), FILES)
}

/// A file with so many per cent more operations. The number is opaque to the compiler: nothing else changes.
pub fn with_more_work(text: &str, percent: f64) -> Result<String> {
    let constant = |operations: f64| format!("const OPERATIONS: u64 = {operations:.0};");
    let more = text.replacen(&constant(OPERATIONS), &constant(OPERATIONS * (1.0 + percent / 100.0)), 1);
    if more == text { Err("no operation more: the effect is too small, or not of this file".into()) } else { Ok(more) }
}
