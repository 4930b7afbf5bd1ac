//! Many short tests of four kinds of work, in a version and in one that does a few percent more.

use super::{Result, copy, repository, workloads};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// The test target of these tests.
pub const TARGET: &str = "many";

/// Functions of the workloads, and assertions on their results.
const WORK: [(&str, &str); 4] = [
    ("add", "assert_ne!(workloads::add::add(), 0)"),
    ("allocate", "assert!(workloads::allocate::allocate() > 1000)"),
    ("format", "assert!(workloads::format::format().starts_with(\"0: fizz\"))"),
    ("mix", "assert_ne!(workloads::mix::mix(), 0)"),
];

/// The two versions as commits.
pub struct Project {
    /// Folder of the repository.
    pub tree: PathBuf,
    /// Commit ID of base.
    pub base: String,
    /// Commit ID of head; equal to base without an effect.
    pub head: String,
}

impl Project {
    /// Writes this many tests of each kind, and head with this many percent more operations.
    pub fn write(work: &Path, tests: usize, effect: Option<f64>) -> Result<Self> {
        let tree = workloads::write(work)?;
        let target = tree.join(format!("tests/{TARGET}.rs"));
        fs::create_dir_all(tree.join("tests"))?;
        fs::write(target, source(tests)?)?;
        repository::commit(&tree, "base")?;
        let base = copy::git(&tree, &["rev-parse", "HEAD"])?;
        if let Some(percent) = effect {
            for (kind, _) in WORK {
                let path = tree.join(format!("src/{kind}.rs"));
                let more = workloads::with_more_work(&fs::read_to_string(&path)?, percent)?;
                fs::write(path, more)?;
            }
            repository::commit(&tree, "head")?;
        }
        let head = copy::git(&tree, &["rev-parse", "HEAD"])?;
        Ok(Self { tree, base, head })
    }
}

fn source(tests: usize) -> Result<String> {
    let mut text = String::new();
    for (kind, body) in WORK {
        for number in 0..tests {
            writeln!(text, "#[test]\nfn {kind}_{number:03}() {{\n    {body};\n}}\n")?;
        }
    }
    Ok(text)
}
