//! Changed data files: which tests may read them, by the configuration or else by their package.

use super::other_inputs::programs_of;
use super::rules::{Data, TestRules};
use crate::build::{SideBuild, TestExecutable, contains};
use crate::error::Result;
use crate::git::Versions;
use crate::git::path::is_rust;
use crate::model::{Effect, ReachedBy, Sides, TargetId, TargetKind, Warning};
use crate::select::reach::{Graph, PackageNode};
use crate::select::source::{ChangedInput, InputKind, SourceDiff, is_document};
use std::collections::{BTreeMap, BTreeSet};

/// The changed data files that the configuration has a rule for.
#[derive(Debug, Default)]
pub struct Ruled {
    /// Those that reach the tests that the rule names.
    pub reaching: Vec<ChangedInput>,
    /// Those that mean nothing.
    pub ignored: Vec<Effect>,
    /// What the user should know.
    pub warnings: Vec<Warning>,
}

/// Takes out of the difference the data files that the configuration has a rule for.
pub fn apart(versions: &Versions, rules: &TestRules, diff: &mut SourceDiff) -> Ruled {
    let mut found = Ruled::default();
    let inputs = std::mem::take(&mut diff.inputs);
    for input in inputs {
        let rule = if input.kind == InputKind::Data { rules.data(&input.path) } else { Data::Unruled };
        match rule {
            Data::Unruled => diff.inputs.push(input),
            Data::Reaches(_) | Data::Ignored(_) if is_compiled_in(versions, &input.path) => {
                found.warnings.push(Warning::CompiledIn { path: input.path.clone() });
                diff.inputs.push(input);
            }
            Data::Reaches(_) => found.reaching.push(input),
            Data::Ignored(from) => found.ignored.push(Effect::Ignored { path: input.path, from: from.to_string() }),
        }
    }
    found
}

/// True if some line of Rust code includes a file of this name.
fn is_compiled_in(versions: &Versions, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let code = all_rust(versions);
    let code = String::from_utf8_lossy(&code);
    code.lines().any(|line| line.contains(name) && line.contains("include"))
}

/// For each target that can see some, the changed files that are neither code nor part of the build.
pub fn files(reached: &BTreeMap<TargetId, Vec<ReachedBy>>, diff: &SourceDiff) -> BTreeMap<TargetId, Vec<String>> {
    let is_data =
        |path: &String| diff.inputs.iter().any(|input| input.path == *path && matches!(input.kind, InputKind::Data));
    let files = |causes: &[ReachedBy]| {
        let paths = causes.iter().filter_map(|cause| match cause {
            ReachedBy::File { path } if is_data(path) => Some(path.clone()),
            _ => None,
        });
        paths.collect::<Vec<_>>()
    };
    let all = reached.iter().map(|(target, causes)| (target.clone(), files(causes)));
    all.filter(|(_, files)| !files.is_empty()).collect()
}

/// Of the changed data files those that the tests of an executable may read: a document only where some program of the
/// project has its name.
pub fn read_by(
    files: Option<&Vec<String>>,
    sides: &Sides<SideBuild>,
    executables: Sides<Option<&TestExecutable>>,
) -> Result<Vec<String>> {
    let mut files = files.cloned().unwrap_or_default();
    if let (Some(base), Some(head)) = (executables.base, executables.head)
        && files.iter().any(|path| is_document(path))
    {
        let programs = programs_of(sides, Sides { base, head })?;
        let has = |name: &str| programs.iter().any(|bytes| contains(bytes, name.as_bytes()));
        files.retain(|path| !is_document(path) || has(path.rsplit('/').next().unwrap_or(path)));
    }
    Ok(files)
}

/// For changed data files the folders of the packages, apart from their own, whose code has a path to them in a text: that
/// names the file or its folder and, if it lies in another package, that package's folder.
pub fn named_by(versions: &Versions, graph: &Graph, diff: &SourceDiff) -> BTreeMap<String, BTreeSet<String>> {
    let data: Vec<&ChangedInput> = diff.inputs.iter().filter(|input| input.kind == InputKind::Data).collect();
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    if data.is_empty() {
        return found;
    }
    let is_other = |path: &str, package: &PackageNode| !is_of(graph, path, &package.dir);
    if !data.iter().any(|input| graph.packages.iter().any(|package| is_other(&input.path, package))) {
        return found;
    }
    let parts = parts(versions, graph);
    for ChangedInput { path, .. } in data {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let folder = folder.rsplit('/').next().unwrap_or_default();
        let home = graph.nearest_package(path).map(|position| graph.packages[position].dir.as_str());
        let home = home.and_then(|dir| dir.rsplit('/').next()).unwrap_or_default();
        for package in graph.packages.iter().filter(|package| is_other(path, package)) {
            let names = |part: &str| parts.get(package.dir.as_str()).is_some_and(|known| known.contains(part));
            if (names(name) || names(folder)) && (home.is_empty() || names(home)) {
                found.entry(path.clone()).or_default().insert(package.dir.clone());
            }
        }
    }
    found
}

fn is_of(graph: &Graph, path: &str, dir: &str) -> bool {
    graph.nearest_package(path).is_some_and(|position| graph.packages[position].dir == dir)
}

/// By the folder of each package with binaries those of the packages whose code names one of them.
pub fn started_by(versions: &Versions, graph: &Graph) -> BTreeMap<String, BTreeSet<String>> {
    let mut started: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let programs = |package: &PackageNode| package.targets.iter().any(|target| target.id.kind == TargetKind::Bin);
    if !graph.packages.iter().any(programs) {
        return started;
    }
    let parts = parts(versions, graph);
    for package in &graph.packages {
        let binaries = package.targets.iter().filter(|target| target.id.kind == TargetKind::Bin);
        for binary in binaries.map(|target| &target.id.name) {
            let by = parts.iter().filter(|(_, parts)| parts.contains(binary)).map(|(dir, _)| (*dir).to_owned());
            started.entry(package.dir.clone()).or_default().extend(by);
        }
    }
    started.retain(|_, by| !by.is_empty());
    started
}

/// What can be a part of a path in the code of each package, in both versions, by its folder.
fn parts<'a>(versions: &Versions, graph: &'a Graph) -> BTreeMap<&'a str, BTreeSet<String>> {
    let mut parts: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    each_rust_file(versions, |path, text| {
        if let Some(position) = graph.nearest_package(path) {
            let known = parts.entry(&graph.packages[position].dir).or_default();
            parts_of_paths(&String::from_utf8_lossy(&text), known);
        }
    });
    parts
}

/// Adds what stands between quotes and slashes.
fn parts_of_paths(code: &str, parts: &mut BTreeSet<String>) {
    /// Names of files are not longer.
    const LONGEST: usize = 255;
    let mut found: Vec<&str> = code.split(['"', '/', '\\']).skip(1).collect();
    found.pop();
    let is_name = |part: &&str| (1..=LONGEST).contains(&part.len()) && !part.contains('\n');
    parts.extend(found.into_iter().filter(is_name).map(str::to_owned));
}

/// All Rust code of both sides, to look for file names in.
pub fn all_rust(versions: &Versions) -> Vec<u8> {
    let mut all = Vec::new();
    each_rust_file(versions, |_, text| all.extend(text));
    all
}

fn each_rust_file(versions: &Versions, mut each: impl FnMut(&str, Vec<u8>)) {
    let Versions { repository, files, .. } = versions;
    let mut seen = BTreeSet::new();
    for (path, entry) in files.base.entries.iter().chain(&files.head.entries) {
        if is_rust(path) && seen.insert((path, entry.id)) {
            each(&path.to_string_lossy(), repository.read(entry, path).unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_by_a_part_of_a_path() {
        let names = |code: &str, part: &str| {
            let mut parts = BTreeSet::new();
            parts_of_paths(code, &mut parts);
            parts.contains(part)
        };
        assert!(names("open(\"../testdata/words.csv\")", "words.csv"));
        assert!(names("root.join(\"testdata\").read_dir()", "testdata"));
        assert!(!names("let testdata = \"words.csv.gz\";", "testdata"));
        assert!(!names("open(\"words.csv.gz\")", "words.csv"));
        assert!(!names("open(\"a\")", ""));
    }
}
