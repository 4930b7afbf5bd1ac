//! A small crate with items that tests of real crates seldom reach: a build script that writes code, a path dependency,
//! `#[no_mangle]`, tables of functions.

use super::{Result, repository};
use std::path::{Path, PathBuf};

const FILES: [(&str, &str); 9] = [
    (".gitignore", "/target\n"),
    ("Cargo.toml", include_str!("sample/Cargo.toml.fixture")),
    ("build.rs", include_str!("sample/build.rs")),
    ("src/lib.rs", include_str!("sample/src/lib.rs")),
    ("src/shapes.rs", include_str!("sample/src/shapes.rs")),
    ("src/state.rs", include_str!("sample/src/state.rs")),
    ("src/words.rs", include_str!("sample/src/words.rs")),
    ("tests/all.rs", include_str!("sample/tests/all.rs")),
    ("helper/src/lib.rs", include_str!("sample/helper/src/lib.rs")),
];

/// Folder of the dependency.
pub const DEPENDENCY: &str = "helper";

/// Writes the crate below `work`.
pub fn write(work: &Path) -> Result<PathBuf> {
    let manifest = ("helper/Cargo.toml", include_str!("sample/helper/Cargo.toml.fixture"));
    repository::write(&work.join("sample"), FILES.into_iter().chain([manifest]))
}
