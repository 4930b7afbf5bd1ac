//! Changed files that are no data by their kind (Rust code, manifests, lock files), and that code takes in as data.
//!
//! `include_str!("../examples/demo.rs")` has them compiled in, comments and all; a build script reads what it names.

use super::data::{each_rust_file, parts_of_paths};
use crate::source::SourceDiff;
use perfunit_model::TargetKind;
use perfunit_project::cargo::{Package, Workspace};
use perfunit_project::git::Versions;
use perfunit_project::git::path::{is_below, join, parent, within};
use std::collections::{BTreeMap, BTreeSet};

const INCLUDING: [&str; 2] = ["include_bytes!", "include_str!"];
/// The folder of the package, for a path that begins there.
const MANIFEST_DIR: &str = "CARGO_MANIFEST_DIR";

/// By changed file the files of code that take it in as data.
pub type TakenIn = BTreeMap<String, BTreeSet<String>>;

/// The changed files that code takes in although they are no data; they are no longer irrelevant.
pub fn taken_in(versions: &Versions, workspace: &Workspace, diff: &mut SourceDiff) -> TakenIn {
    let changed = versions.changed_paths();
    let others: Vec<&str> = changed.iter().map(String::as_str).filter(|path| !diff.is_data(path)).collect();
    let mut found = TakenIn::new();
    if others.is_empty() {
        return found;
    }
    each_rust_file(versions, |path, text| {
        let code = String::from_utf8_lossy(&text);
        let script = workspace.packages.iter().find(|package| package.build_script.as_deref() == Some(path));
        let included = included(path, &code);
        let names = script.map(|package| Names::new(package, &code));
        let is_taken = |other: &&&str| {
            included.iter().any(|included| included == **other)
                || (names.as_ref().is_some_and(|names| names.has(other)) && **other != path)
        };
        for other in others.iter().filter(is_taken) {
            found.entry((*other).to_owned()).or_default().insert(path.to_owned());
        }
    });
    diff.irrelevant.retain(|(path, _)| !found.contains_key(path));
    found
}

/// What a build script names.
struct Names<'a> {
    package: &'a Package,
    parts: BTreeSet<String>,
}

impl<'a> Names<'a> {
    fn new(package: &'a Package, code: &str) -> Self {
        let mut parts = BTreeSet::new();
        parts_of_paths(code, &mut parts);
        Self { package, parts }
    }

    /// Whether all folders are named on the way to a file from where it and the package have one in common, or, without
    /// any, the file. What is part of the library reaches all who have the library without that.
    fn has(&self, path: &str) -> bool {
        let library = self.package.targets.iter().find(|target| target.id.kind == TargetKind::Lib);
        if library.is_some_and(|library| is_below(path, parent(&library.root))) {
            return false;
        }
        let mut above =
            std::iter::successors(Some(self.package.dir.as_str()), |dir| (!dir.is_empty()).then(|| parent(dir)));
        let way = above.find_map(|dir| within(path, dir)).unwrap_or(path);
        let is_named = |part: &str| self.parts.contains(part);
        match way.rsplit_once('/') {
            Some((folders, _)) => folders.split('/').all(is_named),
            None => is_named(way),
        }
    }
}

/// The files that this one includes as data, from the root of the repository. For a path from the package's folder all
/// folders above the file are tried.
pub fn included(path: &str, code: &str) -> Vec<String> {
    let of = |name: &&str| code.split(*name).skip(1).flat_map(|rest| paths(parent(path), rest)).collect::<Vec<_>>();
    INCLUDING.iter().flat_map(of).collect()
}

/// The paths that the parentheses that follow can mean.
fn paths(folder: &str, rest: &str) -> Vec<String> {
    let Some(inside) = rest.trim_start().strip_prefix(['(', '[', '{']).map(str::trim_start) else { return Vec::new() };
    if let Some((text, _)) = inside.strip_prefix('"').and_then(|inside| inside.split_once('"')) {
        return join(folder, text).into_iter().collect();
    }
    let statement = inside.split(';').next().unwrap_or_default();
    let mut texts = statement.split('"').skip(1).step_by(2);
    if !inside.starts_with("concat!") || texts.next() != Some(MANIFEST_DIR) {
        return Vec::new();
    }
    let relative: String = texts.collect();
    let above = std::iter::successors(Some(folder), |folder| (!folder.is_empty()).then(|| parent(folder)));
    above.filter_map(|folder| join(folder, relative.trim_start_matches('/'))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::TargetId;
    use perfunit_project::cargo::Target;

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
        let code = "include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/../x\", \".rs\"));";
        assert_eq!(included("a/p/src/lib.rs", code), ["a/p/x.rs", "a/x.rs", "x.rs"]);
    }

    #[test]
    fn a_build_script_names_files_beside_the_library_or_elsewhere() {
        let library = Target {
            id: TargetId { package: "p".to_owned(), kind: TargetKind::Lib, name: "p".to_owned() },
            root: "p/src/lib.rs".to_owned(),
            tested: true,
            benched: false,
            requires_features: false,
        };
        let package = Package { dir: "p".to_owned(), targets: vec![library], ..Package::default() };
        let code =
            "read(\"src/lib.rs\"); read(\"examples/demo.rs\"); read(\"../q/shared/x.rs\"); read(\"../Cargo.toml\")";
        let names = Names::new(&package, code);
        for named in ["p/examples/demo.rs", "q/shared/x.rs", "q/shared/y.rs", "Cargo.toml"] {
            assert!(names.has(named), "{named}");
        }
        for other in ["p/src/lib.rs", "q/other/x.rs", "p/tests/demo.rs", "r/src/lib.rs", "p/Cargo.lock"] {
            assert!(!names.has(other), "{other}");
        }
    }
}
