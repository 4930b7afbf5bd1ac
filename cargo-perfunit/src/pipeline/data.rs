//! Changed data files: which tests may read them, by the configuration or else by their package.

use super::rules::{Data, TestRules};
use super::setup::Setup;
use crate::git::{FileSet, Repository};
use crate::impact::{Cause, Graph, PackageNode};
use crate::model::{Sides, TargetId};
use crate::source::{ChangedInput, InputKind, SourceDiff};
use std::collections::{BTreeMap, BTreeSet};

/// Takes out of the difference the data files that the configuration has a rule for: first those that reach the tests that
/// the rule names, then, in words, those that mean nothing.
pub fn apart(setup: &mut Setup, rules: &TestRules, diff: &mut SourceDiff) -> (Vec<ChangedInput>, Vec<String>) {
    let (mut data, mut ignored) = (Vec::new(), Vec::new());
    let inputs = std::mem::take(&mut diff.inputs);
    for input in inputs {
        let rule = if input.kind == InputKind::Data { rules.data(&input.path) } else { Data::Unruled };
        match rule {
            Data::Unruled => diff.inputs.push(input),
            Data::Reaches(_) | Data::Ignored(_) if is_compiled_in(setup, &input.path) => {
                let path = &input.path;
                setup.warnings.push(format!("{path} is compiled in: it counts in spite of the rule about its path"));
                diff.inputs.push(input);
            }
            Data::Reaches(_) => data.push(input),
            Data::Ignored(from) => ignored.push(format!("{}: ignored ({from})", input.path)),
        }
    }
    (data, ignored)
}

/// True if some line of Rust code includes a file of this name.
fn is_compiled_in(setup: &Setup, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let code = all_rust(&setup.repository, &setup.files);
    let code = String::from_utf8_lossy(&code);
    code.lines().any(|line| line.contains(name) && line.contains("include"))
}

/// For each target that can see some, the changed files that are neither code nor part of the build.
pub fn files(reached: &BTreeMap<TargetId, Vec<Cause>>, diff: &SourceDiff) -> BTreeMap<TargetId, Vec<String>> {
    let is_data =
        |path: &String| diff.inputs.iter().any(|input| input.path == *path && matches!(input.kind, InputKind::Data));
    let files = |causes: &[Cause]| {
        let paths = causes.iter().filter_map(|cause| match cause {
            Cause::File { path } if is_data(path) => Some(path.clone()),
            _ => None,
        });
        paths.collect::<Vec<_>>()
    };
    let all = reached.iter().map(|(target, causes)| (target.clone(), files(causes)));
    all.filter(|(_, files)| !files.is_empty()).collect()
}

/// For changed data files the folders of the packages, apart from their own, whose code has a path to them in a text: that
/// names the file or its folder and, if it lies in another package, that package's folder.
pub fn named_by(setup: &Setup, graph: &Graph, diff: &SourceDiff) -> BTreeMap<String, BTreeSet<String>> {
    let data: Vec<&ChangedInput> = diff.inputs.iter().filter(|input| input.kind == InputKind::Data).collect();
    let mut named: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    if data.is_empty() {
        return named;
    }
    let is_other = |path: &str, package: &PackageNode| !is_of(graph, path, &package.dir);
    if !data.iter().any(|input| graph.packages.iter().any(|package| is_other(&input.path, package))) {
        return named;
    }
    let texts: BTreeMap<&str, Vec<u8>> =
        graph.packages.iter().map(|package| (package.dir.as_str(), rust_of(setup, graph, &package.dir))).collect();
    for ChangedInput { path, .. } in data {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let folder = folder.rsplit('/').next().unwrap_or_default();
        let home = graph.nearest_package(path).map(|position| graph.packages[position].dir.as_str());
        let home = home.and_then(|dir| dir.rsplit('/').next()).unwrap_or_default();
        for package in graph.packages.iter().filter(|package| is_other(path, package)) {
            let names = |part: &str| texts.get(package.dir.as_str()).is_some_and(|text| has_in_path(text, part));
            if (names(name) || names(folder)) && (home.is_empty() || names(home)) {
                named.entry(path.clone()).or_default().insert(package.dir.clone());
            }
        }
    }
    named
}

fn is_of(graph: &Graph, path: &str, dir: &str) -> bool {
    graph.nearest_package(path).is_some_and(|position| graph.packages[position].dir == dir)
}

/// True if a text in the code has this as a part of a path: between quotes and slashes.
fn has_in_path(code: &[u8], part: &str) -> bool {
    let is_end = |byte: Option<&u8>| matches!(byte, Some(b'"' | b'/' | b'\\'));
    let found = |at: usize| {
        at.checked_sub(1).is_some_and(|before| is_end(code.get(before))) && is_end(code.get(at + part.len()))
    };
    !part.is_empty() && code.windows(part.len()).enumerate().any(|(at, window)| window == part.as_bytes() && found(at))
}

/// The Rust code of a package in both versions.
fn rust_of(setup: &Setup, graph: &Graph, dir: &str) -> Vec<u8> {
    let is_here = |path: &str| is_of(graph, path, dir);
    rust(&setup.repository, &setup.files, &is_here)
}

/// All Rust code of both sides, to look for file names in.
pub fn all_rust(repository: &Repository, files: &Sides<FileSet>) -> Vec<u8> {
    rust(repository, files, &|_| true)
}

fn rust(repository: &Repository, files: &Sides<FileSet>, wanted: &dyn Fn(&str) -> bool) -> Vec<u8> {
    let mut text = Vec::new();
    let mut seen = BTreeSet::new();
    for (path, entry) in files.base.entries.iter().chain(&files.head.entries) {
        let is_rust = path.extension().is_some_and(|extension| extension == "rs");
        if is_rust && wanted(&path.to_string_lossy()) && seen.insert(entry.id) {
            text.extend(repository.read(entry, path).unwrap_or_default());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_by_a_part_of_a_path() {
        let names = |code: &str, part: &str| has_in_path(code.as_bytes(), part);
        assert!(names("open(\"../testdata/words.csv\")", "words.csv"));
        assert!(names("root.join(\"testdata\").read_dir()", "testdata"));
        assert!(!names("let testdata = \"words.csv.gz\";", "testdata"));
        assert!(!names("open(\"words.csv.gz\")", "words.csv"));
        assert!(!names("open(\"a\")", ""));
    }
}
