//! Compares inputs of tests other than their code: data files, files embedded in code, shared libraries and variables.

use super::rules::{Data, TestRules};
use super::target_files::TargetFiles;
use crate::reach::{Graph, PackageNode};
use crate::source::{ChangedInput, InputKind, SourceDiff, is_document};
use perfunit_build::{Inputs, Library, LinkRecord, SideBuild, TestExecutable, contains};
use perfunit_model::error::Result;
use perfunit_model::{Effect, ReachedBy, Side, Sides, TargetId, TargetKind, Warning};
use perfunit_project::cargo::{Package, Workspace};
use perfunit_project::git::Versions;
use perfunit_project::git::path::{is_below, is_rust, join, parent, within};
use perfunit_system::fs;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Changed data files that a rule of the configuration matches.
#[derive(Debug, Default)]
pub struct Ruled {
    /// Files that reach the tests selected by the rule.
    pub reaching: Vec<ChangedInput>,
    /// Files to ignore.
    pub ignored: Vec<Effect>,
    /// Warnings to show to the user.
    pub warnings: Vec<Warning>,
}

/// Removes data files that a rule of the configuration matches from the difference.
///
/// `code` returns all Rust code.
pub fn apply_rules<'a>(code: &dyn Fn() -> &'a [u8], rules: &TestRules, diff: &mut SourceDiff) -> Ruled {
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

/// Checks whether a line or statement of this code includes a file with this name.
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

/// Returns for each target the changed files that its tests may read: neither code nor part of the build.
pub fn data_files(reached: &BTreeMap<TargetId, Vec<ReachedBy>>, diff: &SourceDiff) -> BTreeMap<TargetId, Vec<String>> {
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

/// Filters the changed data files to those that the tests of an executable may read. A document counts only if a
/// program of the project contains its name.
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

/// Folders of packages, by a path or folder.
type Folders = BTreeMap<String, BTreeSet<String>>;

/// Evaluates paths in the code of the packages, for [`Graph::named_by`] and [`Graph::started_by`].
pub fn named_in_code(versions: &Versions, graph: &Graph, diff: &SourceDiff) -> (Folders, Folders) {
    let known = OnceCell::new();
    let parts = || known.get_or_init(|| parts(versions, graph));
    (named_by(&parts, graph, diff), started_by(&parts, graph))
}

/// Returns for changed data files the folders of the packages with a path to them in a string of the code: one that
/// names the file or a folder above it and, if the file is in another package, that package's folder.
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

/// Variables that contain the package's name, which usually is also its binary's.
const OF_PACKAGE: [&str; 2] = ["CARGO_BIN_NAME", "CARGO_PKG_NAME"];

/// Returns for each package with binaries the folders of the packages with code that names one of them.
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

/// Possible path segments in the code of a package, in both versions.
#[derive(Debug, Default)]
struct Parts {
    /// Segments in library, binaries and their unit tests.
    code: BTreeSet<String>,
    /// Segments in the folders of integration tests, benchmarks and examples.
    of_tests: BTreeSet<String>,
}

/// Segments by package folder.
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

/// Adds everything between quotes and slashes.
pub(super) fn parts_of_paths(code: &str, parts: &mut BTreeSet<String>) {
    /// Maximum length of a file name.
    const LONGEST: usize = 255;
    let mut found: Vec<&str> = code.split(['"', '/', '\\']).skip(1).collect();
    found.pop();
    let is_name = |part: &&str| (1..=LONGEST).contains(&part.len()) && !part.contains('\n');
    parts.extend(found.into_iter().filter(is_name).map(str::to_owned));
}

/// Returns all Rust code of both sides, to search for file names.
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

const INCLUDING: [&str; 2] = ["include_bytes!", "include_str!"];
/// Variable with the package's folder, for paths that start there.
const MANIFEST_DIR: &str = "CARGO_MANIFEST_DIR";

/// Code files that embed a changed file as data, by the changed file.
pub type TakenIn = BTreeMap<String, BTreeSet<String>>;

/// Finds changed files that code embeds although they are not data, and removes them from the irrelevant files.
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
        let included = included_files(path, &code);
        let names = script.map(|package| ScriptNames::new(package, &code));
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

/// Names in a build script.
struct ScriptNames<'a> {
    package: &'a Package,
    parts: BTreeSet<String>,
}

impl<'a> ScriptNames<'a> {
    fn new(package: &'a Package, code: &str) -> Self {
        let mut parts = BTreeSet::new();
        parts_of_paths(code, &mut parts);
        Self { package, parts }
    }

    /// Checks whether the script names all folders on the path to a file from their common folder, or the file itself
    /// if there are none. Files of the library reach its dependents anyway.
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

/// Returns the files that this one includes as data, relative to the repository's root. For a path relative to the
/// package's folder, tries all folders above the file.
pub fn included_files(path: &str, code: &str) -> Vec<String> {
    let of = |name: &&str| code.split(*name).skip(1).flat_map(|rest| paths(parent(path), rest)).collect::<Vec<_>>();
    INCLUDING.iter().flat_map(of).collect()
}

/// Returns the paths that the following parentheses may refer to.
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

/// Returns a warning for each changed source file that code of these targets includes as data.
pub fn source_input_warnings<'a>(
    versions: &Versions,
    files: &TargetFiles,
    targets: impl Iterator<Item = &'a TargetId>,
) -> Vec<Warning> {
    let changed: BTreeSet<String> = versions.changed_paths().into_iter().filter(|path| is_rust(path)).collect();
    if changed.is_empty() {
        return Vec::new();
    }
    // The files of a library belong to several targets.
    let mut known: BTreeMap<(Side, &String), Vec<String>> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for target in targets {
        let Some(sides) = files.get(target) else { continue };
        for side in Side::BOTH {
            for path in sides.get(side).keys() {
                let read = known.entry((side, path)).or_insert_with(|| {
                    let text = versions.read_file(versions.files.get(side), path).unwrap_or_default();
                    let mut read = included_files(path, &String::from_utf8_lossy(&text));
                    read.retain(|read| changed.contains(read));
                    read
                });
                found.extend(read.iter().map(|read| (target.clone(), read.clone())));
            }
        }
    }
    found.into_iter().map(|(target, path)| Warning::SourceIsInput { target, path }).collect()
}

/// Shared libraries that the programs of two sides may load and that differ.
#[derive(Debug, Default)]
pub struct Libraries {
    /// Link records of all libraries that they were linked with, if all are known and comparable and some differ.
    pub links: Sides<Vec<LinkRecord>>,
    /// Libraries that count as changed, by file name.
    pub changed: Vec<String>,
    /// Libraries that they may open at run time, with their link records.
    pub opened: Vec<(String, Sides<PathBuf>, Sides<LinkRecord>)>,
}

impl Libraries {
    /// Checks whether no library differs.
    pub fn is_empty(&self) -> bool {
        self.links.base.is_empty() && self.changed.is_empty() && self.opened.is_empty()
    }

    pub fn of(sides: &Sides<SideBuild>, programs: Sides<&Path>) -> Result<Self> {
        let load = |side: Side| sides.get(side).inputs.loaded_by(programs.get(side));
        let loaded = Sides { base: load(Side::Base)?, head: load(Side::Head)? };
        let names = |of: fn(&perfunit_build::Loaded<'_>) -> Vec<String>| -> BTreeSet<String> {
            Side::BOTH.into_iter().flat_map(|side| of(loaded.get(side))).collect()
        };
        let mut libraries = Self::default();
        let (mut differ, mut all_known) = (Vec::new(), true);
        for name in names(|loaded| loaded.needed.keys().map(|name| (*name).to_owned()).collect()) {
            let both = loaded.as_ref().map(|loaded| loaded.needed.get(name.as_str()).copied());
            let known = comparable(both)?;
            if !same(both)? {
                differ.push(name);
            }
            all_known &= known.is_some();
            if let Some(known) = known {
                libraries.links.base.push(known.base);
                libraries.links.head.push(known.head);
            }
        }
        if differ.is_empty() || !all_known {
            // The calls of a library with unknown code are also unknown.
            libraries.links = Sides::default();
            libraries.changed = differ;
        }
        for name in names(|loaded| loaded.opened.keys().map(|name| (*name).to_owned()).collect()) {
            let both = loaded.as_ref().map(|loaded| loaded.opened.get(name.as_str()).copied());
            if same(both)? {
                continue;
            }
            match (both.base, both.head, comparable(both)?) {
                (Some(base), Some(head), Some(links)) => {
                    let paths = Sides { base: base.path.clone(), head: head.path.clone() };
                    libraries.opened.push((name, paths, links));
                }
                _ => libraries.changed.push(name),
            }
        }
        Ok(libraries)
    }
}

fn same(both: Sides<Option<&Library>>) -> Result<bool> {
    match (both.base, both.head) {
        (Some(base), Some(head)) => fs::same_content(&base.path, &head.path),
        _ => Ok(false),
    }
}

/// Returns the link records of both versions, if they can be compared input by input.
fn comparable(both: Sides<Option<&Library>>) -> Result<Option<Sides<LinkRecord>>> {
    let (Some(base), Some(head)) = (both.base, both.head) else { return Ok(None) };
    let (Some(base), Some(head)) = (&base.link, &head.link) else { return Ok(None) };
    let links = Sides { base: LinkRecord::load(base)?, head: LinkRecord::load(head)? };
    Ok(links.base.incomparable(&links.head)?.is_none().then_some(links))
}

/// Returns the variables set by cargo for the tests of an executable that differ and that the tests may read.
///
/// Variables of packages and build scripts are meant for `env!`, which compiles in the value but not the name, so they
/// count only if a program contains the name. Any program may read the others (`[env]` in cargo's configuration).
pub fn variables(sides: &Sides<SideBuild>, executables: Sides<&TestExecutable>) -> Result<Vec<String>> {
    let Sides { base, head } = executables.map(|executable| &executable.env);
    let names: BTreeSet<&String> = base.keys().chain(head.keys()).collect();
    let differ: Vec<&String> =
        names.into_iter().filter(|name| base.get(*name) != head.get(*name) && *name != Inputs::SEARCH).collect();
    let mut programs = Vec::new();
    let mut found = Vec::new();
    for name in differ {
        let is_compiled_in = |side: Side| sides.get(side).inputs.variables.contains(name);
        if name.starts_with("CARGO_") || name == "OUT_DIR" || Side::BOTH.into_iter().any(is_compiled_in) {
            if programs.is_empty() {
                programs = programs_of(sides, executables)?;
            }
            // Such names may be composed at run time.
            let needle = if name.starts_with("CARGO_PKG_") { "CARGO_PKG_" } else { name.as_str() };
            if !programs.iter().any(|bytes| contains(bytes, needle.as_bytes())) {
                continue;
            }
        }
        found.push(name.clone());
    }
    Ok(found)
}

/// Returns files in `OUT_DIR` that differ and that the tests of an executable may read: one for each folder whose path,
/// or variable, some program contains.
pub fn build_script_files(sides: &Sides<SideBuild>, executables: Sides<&TestExecutable>) -> Result<Vec<String>> {
    let made = sides.as_ref().map(|side| &side.inputs.made);
    let (mut found, mut programs) = (Vec::new(), None);
    for (place, base) in made.base {
        let Some(file) = made.head.get(place).and_then(|head| base.differs(head)) else { continue };
        let path = place.to_string_lossy();
        let is_own = executables.base.env.get("OUT_DIR").is_some_and(|own| *own == path);
        let needles = [Some(&*path), is_own.then_some("OUT_DIR")];
        let holds = |bytes: &Vec<u8>| needles.iter().flatten().any(|needle| contains(bytes, needle.as_bytes()));
        // Read only if needed, and once.
        let programs = match &mut programs {
            Some(programs) => programs,
            none => none.insert(programs_of(sides, executables)?),
        };
        if programs.iter().any(holds) {
            found.push(file.display().to_string());
        }
    }
    Ok(found)
}

/// Reads all programs and libraries of the project that may run in these tests.
pub(super) fn programs_of(sides: &Sides<SideBuild>, executables: Sides<&TestExecutable>) -> Result<Vec<Vec<u8>>> {
    let mut programs = Vec::new();
    for side in Side::BOTH {
        let build = sides.get(side);
        programs.push(fs::read(&executables.get(side).path)?);
        for path in build.binaries()?.iter().chain(build.inputs.libraries.values().map(|library| &library.path)) {
            programs.push(fs::read(path)?);
        }
    }
    Ok(programs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::TargetId;
    use perfunit_project::cargo::Target;

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

    #[test]
    fn files_are_included_by_paths_from_where_they_are_named() {
        let code = r#"
            const DATA: &[u8] = include_bytes!("../src/lib.rs");
            const TEXT: &str = include_str!( "data/words.rs" );
            const MADE: &str = include_str!(concat!(env!("OUT_DIR"), "/made.rs"));
            mod lib;
        "#;
        assert_eq!(included_files("hex/benches/hex.rs", code), ["hex/src/lib.rs", "hex/benches/data/words.rs"]);
        assert_eq!(included_files("lib.rs", "include_str!(\"../../x.rs\")"), Vec::<String>::new());
        assert_eq!(included_files("lib.rs", "include_str!(\"/x.rs\")"), Vec::<String>::new());
        let code = "include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/../x\", \".rs\"));";
        assert_eq!(included_files("a/p/src/lib.rs", code), ["a/p/x.rs", "a/x.rs", "x.rs"]);
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
        let names = ScriptNames::new(&package, code);
        for named in ["p/examples/demo.rs", "q/shared/x.rs", "q/shared/y.rs", "Cargo.toml"] {
            assert!(names.has(named), "{named}");
        }
        for other in ["p/src/lib.rs", "q/other/x.rs", "p/tests/demo.rs", "r/src/lib.rs", "p/Cargo.lock"] {
            assert!(!names.has(other), "{other}");
        }
    }
}
