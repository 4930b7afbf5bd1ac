//! What calls are made from: the sources of the crates that hold the functions, and the features that are on.

use perfunit_model::{Function, TargetId, TargetKind};
use perfunit_project::git::Versions;
use perfunit_project::git::path::is_rust;
use perfunit_select::Selected;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use toml::Table;

/// The sources of a crate in head, with the functions wanted of it.
pub struct Sources {
    pub files: BTreeMap<String, String>,
    pub root: String,
    pub name: String,
    pub features: BTreeSet<String>,
    pub wanted: Vec<Function>,
}

/// The library or binary whose unit tests can have calls of a function in this file.
pub fn holder<'a>(selected: &'a Selected, package: &str, file: &str) -> Option<(&'a TargetId, &'a str)> {
    selected.target_files.iter().find_map(|(target, sides)| {
        let known = sides.head.get(file).filter(|known| !known.test_only)?;
        let is_code = matches!(target.kind, TargetKind::Lib | TargetKind::Bin);
        let holds = is_code && target.package == package && selected.in_scope.contains(target);
        holds.then_some((target, known.module.as_str()))
    })
}

/// The crates that hold the functions, and the functions that none does. `arguments` are cargo's.
pub fn sources(
    versions: &Versions,
    selected: &Selected,
    arguments: &[String],
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
        let manifest = read(folder.join("Cargo.toml").to_str()?)?;
        Some(Sources {
            files,
            root: selected.root(target)?.to_owned(),
            name: target.name.replace('-', "_"),
            features: features(&manifest, &package.name, arguments),
            wanted,
        })
    });
    (crates.collect(), homeless)
}

/// The features of a package that are on by its manifest and cargo's arguments; those that other packages turn on are not
/// known here.
fn features(manifest: &str, package: &str, arguments: &[String]) -> BTreeSet<String> {
    let manifest: Table = manifest.parse().unwrap_or_default();
    let declared = manifest.get("features").and_then(toml::Value::as_table).cloned().unwrap_or_default();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    if has("--all-features") {
        return declared.keys().cloned().collect();
    }
    let typed = arguments.windows(2).filter(|pair| pair[0] == "--features");
    let typed = typed.flat_map(|pair| pair[1].split([' ', ','])).map(str::to_owned);
    let default = (!has("--no-default-features")).then(|| "default".to_owned());
    let mut left: Vec<String> = typed.chain(default).collect();
    let mut on = BTreeSet::new();
    while let Some(feature) = left.pop() {
        let feature = match feature.split_once('/') {
            Some((of, own)) if of == package => own.to_owned(),
            // Of a dependency, which this turns on.
            Some((of, _)) if !of.ends_with('?') => of.to_owned(),
            _ => feature,
        };
        let implied = declared.get(&feature).and_then(toml::Value::as_array);
        left.extend(
            implied
                .into_iter()
                .flatten()
                .filter_map(toml::Value::as_str)
                .filter(|name| !on.contains(*name))
                .map(str::to_owned),
        );
        on.insert(feature);
    }
    on
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(arguments: &[&str], expected: &[&str]) {
        let manifest = "[features]\ndefault = ['std']\nstd = ['alloc']\nalloc = []\nmore = ['std', 'dep:x']\n";
        let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        let on: Vec<String> =
            features(manifest, "demo", &arguments).into_iter().filter(|name| !name.contains(':')).collect();
        assert_eq!(on, expected);
    }

    #[test]
    fn features_imply_others() {
        check(&[], &["alloc", "default", "std"]);
        check(&["--no-default-features"], &[]);
        check(&["--no-default-features", "--features", "more"], &["alloc", "more", "std"]);
        check(&["--no-default-features", "--features", "demo/alloc,serde/derive"], &["alloc", "serde"]);
        check(&["--all-features"], &["alloc", "default", "more", "std"]);
    }
}
