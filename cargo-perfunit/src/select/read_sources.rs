//! Tests and benchmarks whose input is the project's own source: another one in each version.
//!
//! `include_bytes!("../src/lib.rs")` is a workload that grows with the library, whatever its speed.

use super::target_files::TargetFiles;
use crate::git::Versions;
use crate::git::path::{is_rust, join, parent};
use crate::model::{Side, TargetId, Warning};
use std::collections::{BTreeMap, BTreeSet};

const INCLUDING: [&str; 2] = ["include_bytes!", "include_str!"];

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

/// The files that this one includes as data, from the root of the repository.
fn included(path: &str, code: &str) -> Vec<String> {
    let of = |name: &&str| code.split(*name).skip(1).filter_map(|rest| literal(rest)).collect::<Vec<_>>();
    INCLUDING.iter().flat_map(of).filter_map(|relative| join(parent(path), relative)).collect()
}

/// The text in the parentheses that follow, if that is all they hold.
fn literal(rest: &str) -> Option<&str> {
    let rest = rest.trim_start().strip_prefix(['(', '[', '{'])?.trim_start().strip_prefix('"')?;
    rest.split_once('"').map(|(text, _)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_included_by_paths_from_where_they_are_named() {
        let code = r#"
            const DATA: &[u8] = include_bytes!("../src/lib.rs");
            const TEXT: &str = include_str!( "data/words.rs" );
            const MADE: &str = include_str!(concat!(env!("OUT_DIR"), "/made.rs"));
            mod lib;
        "#;
        assert_eq!(included("hex/benches/hex.rs", code), ["hex/src/lib.rs", "hex/benches/data/words.rs"]);
        assert_eq!(included("lib.rs", "include_str!(\"../../x.rs\")"), Vec::<String>::new());
        assert_eq!(included("lib.rs", "include_str!(\"/x.rs\")"), Vec::<String>::new());
    }
}
