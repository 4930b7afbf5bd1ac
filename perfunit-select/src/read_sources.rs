//! Tests and benchmarks whose input is the project's own source: another one in each version.
//!
//! `include_bytes!("../src/lib.rs")` is a workload that grows with the library, whatever its speed.

use super::included::included;
use super::target_files::TargetFiles;
use perfunit_model::{Side, TargetId, Warning};
use perfunit_project::git::Versions;
use perfunit_project::git::path::is_rust;
use std::collections::{BTreeMap, BTreeSet};

/// A warning for each changed source file that code of these targets includes as data.
pub fn warnings<'a>(
    versions: &Versions,
    files: &TargetFiles,
    targets: impl Iterator<Item = &'a TargetId>,
) -> Vec<Warning> {
    let changed: BTreeSet<String> = versions.changed_paths().into_iter().filter(|path| is_rust(path)).collect();
    if changed.is_empty() {
        return Vec::new();
    }
    // A library's files are those of several targets.
    let mut known: BTreeMap<(Side, &String), Vec<String>> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for target in targets {
        let Some(sides) = files.get(target) else { continue };
        for side in Side::BOTH {
            for path in sides.get(side).keys() {
                let read = known.entry((side, path)).or_insert_with(|| {
                    let text = versions.read_file(versions.files.get(side), path).unwrap_or_default();
                    let mut read = included(path, &String::from_utf8_lossy(&text));
                    read.retain(|read| changed.contains(read));
                    read
                });
                found.extend(read.iter().map(|read| (target.clone(), read.clone())));
            }
        }
    }
    found.into_iter().map(|(target, path)| Warning::SourceIsInput { target, path }).collect()
}
