//! Sources of the crates with the wanted functions, and the enabled features.

use perfunit_model::{Function, TargetId, TargetKind};
use perfunit_project::cargo::Features;
use perfunit_project::git::Versions;
use perfunit_project::git::path::is_rust;
use perfunit_select::TargetSelection;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Sources of a crate in head, and its wanted functions.
pub struct Sources {
    pub files: BTreeMap<String, String>,
    pub root: String,
    pub name: String,
    /// Enabled features; `None` if unknown.
    pub features: Option<BTreeSet<String>>,
    pub wanted: Vec<Function>,
}

/// Returns the library or binary whose unit tests can call a function in this file.
pub fn holder<'a>(selected: &'a TargetSelection, package: &str, file: &str) -> Option<(&'a TargetId, &'a str)> {
    selected.target_files.iter().find_map(|(target, sides)| {
        let known = sides.head.get(file).filter(|known| !known.test_only)?;
        let is_code = matches!(target.kind, TargetKind::Lib | TargetKind::Bin);
        let holds = is_code && target.package == package && selected.in_scope.contains(target);
        holds.then_some((target, known.module.as_str()))
    })
}

/// Returns the crates with the functions, and the functions that belong to none.
pub fn sources(
    versions: &Versions,
    selected: &TargetSelection,
    features: Option<&Features>,
    functions: &[Function],
) -> (Vec<Sources>, Vec<Function>) {
    let mut by_target: BTreeMap<&TargetId, Vec<Function>> = BTreeMap::new();
    let mut homeless = Vec::new();
    for function in functions {
        match holder(selected, &function.package, &function.file) {
            Some((target, _)) => by_target.entry(target).or_default().push(function.clone()),
            None => homeless.push(function.clone()),
        }
    }
    let read = |path: &str| String::from_utf8(versions.read_file(&versions.files.head, path)?).ok();
    let crates = by_target.into_iter().filter_map(|(target, wanted)| {
        let package = selected.workspace.packages.iter().find(|package| package.name == target.package)?;
        let folder = Path::new(&package.dir);
        let paths = versions.files.head.entries.keys().filter(|path| path.starts_with(folder));
        let rust = paths.filter(|path| is_rust(path));
        let files = rust.filter_map(|path| Some((path.to_str()?.to_owned(), read(path.to_str()?)?))).collect();
        Some(Sources {
            files,
            root: selected.root(target)?.to_owned(),
            name: target.name.replace('-', "_"),
            features: features.map(|features| features_of(&package.name, features)),
            wanted,
        })
    });
    (crates.collect(), homeless)
}

/// Returns the enabled features of a package.
fn features_of(package: &str, all: &Features) -> BTreeSet<String> {
    let own = all.iter().filter(|(name, _)| name.split(' ').next() == Some(package));
    let names = own.flat_map(|(_, enabled)| enabled.split(',')).filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}
