//! Changed data files: which tests may read them, by the configuration or else by their package.

use super::other_inputs::programs_of;
use super::rules::{Data, TestRules};
use crate::reach::{Graph, PackageNode};
use crate::source::{ChangedInput, InputKind, SourceDiff, is_document};
use perfunit_build::{SideBuild, TestExecutable, contains};
use perfunit_model::error::Result;
use perfunit_model::{Effect, ReachedBy, Sides, TargetId, TargetKind, Warning};
use perfunit_project::git::Versions;
use perfunit_project::git::path::{is_rust, within};
use std::cell::OnceCell;
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
///
/// `code` gives all Rust code.
pub fn apart<'a>(code: &dyn Fn() -> &'a [u8], rules: &TestRules, diff: &mut SourceDiff) -> Ruled {
    let mut found = Ruled::default();
    let inputs = std::mem::take(&mut diff.inputs);
    for input in inputs {
        let rule = if input.kind == InputKind::Data { rules.data(&input.path) } else { Data::Unruled };
        match rule {
            Data::Unruled => diff.inputs.push(input),
            Data::Reaches(_) | Data::Ignored(_) if is_compiled_in(&String::from_utf8_lossy(code()), &input.path) => {
                found.warnings.push(Warning::CompiledIn { path: input.path.clone() });
                diff.inputs.push(input);
            }
            Data::Reaches(_) => found.reaching.push(input),
            Data::Ignored(from) => found.ignored.push(Effect::Ignored { path: input.path, from: from.to_string() }),
        }
    }
    found
}

/// True if some line or statement of this code includes a file of this name.
fn is_compiled_in(code: &str, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    code.match_indices(name).any(|(at, _)| {
        let before = &code[..at];
        let line = before.rfind('\n').unwrap_or(0);
        let statement = before.rfind([';', '{', '}']).unwrap_or(0);
        let end = code[at..].find('\n').map_or(code.len(), |length| at + length);
        code[line.min(statement)..end].contains("include")
    })
}

/// For each target that can see some, the changed files that are neither code nor part of the build.
pub fn files(reached: &BTreeMap<TargetId, Vec<ReachedBy>>, diff: &SourceDiff) -> BTreeMap<TargetId, Vec<String>> {
    let files = |causes: &[ReachedBy]| {
        let paths = causes.iter().filter_map(|cause| match cause {
            ReachedBy::File { path } if diff.is_data(path) => Some(path.clone()),
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

/// By a path or folder those of packages.
type Folders = BTreeMap<String, BTreeSet<String>>;

/// What paths in the code of the packages lead to: what is in [`Graph::named_by`] and [`Graph::started_by`].
pub fn named_in_code(versions: &Versions, graph: &Graph, diff: &SourceDiff) -> (Folders, Folders) {
    let known = OnceCell::new();
    let parts = || known.get_or_init(|| parts(versions, graph));
    (named_by(&parts, graph, diff), started_by(&parts, graph))
}

/// For changed data files the folders of the packages whose code has a path to them in a text: that names the file or a
/// folder above it and, if it lies in another package, that package's folder.
fn named_by<'p>(parts: &dyn Fn() -> &'p PartsOfPackages<'p>, graph: &Graph, diff: &SourceDiff) -> Folders {
    let data: Vec<&ChangedInput> = diff.inputs.iter().filter(|input| input.kind == InputKind::Data).collect();
    let mut found = Folders::new();
    if data.is_empty() {
        return found;
    }
    let is_other = |path: &str, package: &PackageNode| !is_of(graph, path, &package.dir);
    if !data.iter().any(|input| graph.packages.iter().any(|package| is_other(&input.path, package))) {
        return found;
    }
    let parts = parts();
    for ChangedInput { path, .. } in data {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let home = graph.nearest_package(path).map(|position| graph.packages[position].dir.as_str());
        let home = home.and_then(|dir| dir.rsplit('/').next()).unwrap_or_default();
        for package in &graph.packages {
            let Some(Parts { code, of_tests }) = parts.get(package.dir.as_str()) else { continue };
            let is_named = if is_other(path, package) {
                let names = |part: &str| code.contains(part) || of_tests.contains(part);
                (names(name) || folder.split('/').any(names)) && (home.is_empty() || names(home))
            } else {
                let below = within(folder, &package.dir).unwrap_or_default();
                code.contains(name) || below.split('/').any(|folder| code.contains(folder))
            };
            if is_named {
                found.entry(path.clone()).or_default().insert(package.dir.clone());
            }
        }
    }
    found
}

fn is_of(graph: &Graph, path: &str, dir: &str) -> bool {
    graph.nearest_package(path).is_some_and(|position| graph.packages[position].dir == dir)
}

/// Variables with the name of the package, which its binary mostly has, too.
const OF_PACKAGE: [&str; 2] = ["CARGO_BIN_NAME", "CARGO_PKG_NAME"];

/// By the folder of each package with binaries those of the packages whose code names one of them.
fn started_by<'p>(parts: &dyn Fn() -> &'p PartsOfPackages<'p>, graph: &Graph) -> Folders {
    let mut started = Folders::new();
    let programs = |package: &PackageNode| package.targets.iter().any(|target| target.id.kind == TargetKind::Bin);
    if !graph.packages.iter().any(programs) {
        return started;
    }
    let parts = parts();
    for package in &graph.packages {
        let binaries = package.targets.iter().filter(|target| target.id.kind == TargetKind::Bin);
        for binary in binaries.map(|target| &target.id.name) {
            let is = |own: bool, name: &str| name == binary.as_str() || (own && OF_PACKAGE.contains(&name));
            let names = |(dir, parts): &(&&str, &Parts)| {
                parts.code.iter().chain(&parts.of_tests).any(|name| is(**dir == package.dir, name))
            };
            let by = parts.iter().filter(names).map(|(dir, _)| (*dir).to_owned());
            started.entry(package.dir.clone()).or_default().extend(by);
        }
    }
    started.retain(|_, by| !by.is_empty());
    started
}

/// What can be a part of a path in the code of a package, in both versions.
#[derive(Debug, Default)]
struct Parts {
    /// In library, binaries and their unit tests.
    code: BTreeSet<String>,
    /// In the folders of integration tests, benchmarks and examples.
    of_tests: BTreeSet<String>,
}

/// By the package's folder.
type PartsOfPackages<'a> = BTreeMap<&'a str, Parts>;

fn parts<'a>(versions: &Versions, graph: &'a Graph) -> PartsOfPackages<'a> {
    let mut parts = PartsOfPackages::new();
    each_rust_file(versions, |path, text| {
        if let Some(position) = graph.nearest_package(path) {
            let known = parts.entry(&graph.packages[position].dir).or_default();
            let known = if graph.is_beside_the_library(path) { &mut known.of_tests } else { &mut known.code };
            parts_of_paths(&String::from_utf8_lossy(&text), known);
        }
    });
    parts
}

/// Adds what stands between quotes and slashes.
pub(super) fn parts_of_paths(code: &str, parts: &mut BTreeSet<String>) {
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

pub(super) fn each_rust_file(versions: &Versions, mut each: impl FnMut(&str, Vec<u8>)) {
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
    fn a_file_is_compiled_in_where_a_statement_includes_it() {
        let check = |code: &str, expected| assert_eq!(is_compiled_in(code, "data/x.bin"), expected, "{code}");
        check("const X: &[u8] = include_bytes!(\"x.bin\");", true);
        check("f();\nconst X: &[u8] = include_bytes!(concat!(\n    env!(\"DIR\"),\n    \"/x.bin\"\n));", true);
        check("include_str! { \"x.bin\" }", true);
        check("include!(\"a.rs\");\nopen(\"x.bin\");", false);
        check("x.bin", false);
    }

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
