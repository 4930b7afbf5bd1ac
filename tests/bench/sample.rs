//! A small crate of our own, for what real crates seldom have in reach of their tests: a build script that writes code,
//! a dependency by path, `#[no_mangle]`, tables of functions.

use super::{Result, copy};
use std::fs;
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

/// The folder of the dependency.
pub const DEPENDENCY: &str = "helper";

/// Writes the crate below `work` as a repository of one commit; one that is there with the same content stays.
pub fn write(work: &Path) -> Result<PathBuf> {
    let clone = work.join("sample");
    let manifest = ("helper/Cargo.toml", include_str!("sample/helper/Cargo.toml.fixture"));
    for (path, content) in FILES.into_iter().chain([manifest]) {
        let path = clone.join(path);
        fs::create_dir_all(path.parent().unwrap_or(&clone))?;
        fs::write(path, content)?;
    }
    if !clone.join(".git").exists() {
        copy::git(&clone, &["init", "--quiet"])?;
    }
    copy::git(&clone, &["add", "--all"])?;
    if !copy::git(&clone, &["status", "--porcelain"])?.is_empty() {
        let author = ["-c", "user.name=Tester", "-c", "user.email=tester@example.org"];
        copy::git(&clone, &[&author[..], &["commit", "--quiet", "--message", "sample"]].concat())?;
    }
    Ok(clone)
}
