//! A small crate with its own harness, which runs each test in a process.

use super::{Result, repository};
use std::path::{Path, PathBuf};

const FILES: [(&str, &str); 4] = [
    (".gitignore", "/target\n"),
    ("Cargo.toml", include_str!("processes/Cargo.toml.fixture")),
    ("src/lib.rs", include_str!("processes/src/lib.rs")),
    ("tests/own.rs", include_str!("processes/tests/own.rs")),
];

/// Writes the crate below `work`.
pub fn write(work: &Path) -> Result<PathBuf> {
    repository::write(&work.join("processes"), FILES)
}
