//! Changes other than those of timed functions, and the share of a difference that each of them may cause.
//!
//! A responsible function with unchanged source became slower by something else: by a changed function that calls it with
//! other arguments, or by a dependency, a setting, or code of the project without a probe. The call tree shows changed
//! callers. Figures cannot tell which of the other changes it was, but the package graph tells which can reach the function.

use super::assemble::{Known, OfTest, function_of};
use super::attribute::{Attribution, Part};
use super::question::Inquiry;
use perfunit_measure::ROOT;
use perfunit_model::{Cause, ChangeKind, Changed, CodeChange, Explanation, Function, Side, Sides};
use perfunit_project::git::path::parent;
use perfunit_project::git::{FileSet, Mode, Versions};
use perfunit_select::reach::{Graph, NameIndex};
use perfunit_select::source::{self, ChangedInput, ChangedItem, FileInTarget, InputKind, ItemKind, Place};
use perfunit_select::{TargetSelection, index_of_head};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use toml::Table;

/// Share of the test's difference below which a cause is not named.
const LEAST_SHARE: f64 = 0.05;

/// Changes, independent of the explained test.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// Changes that may affect the time of unchanged functions.
    pub suspects: Vec<Suspect>,
    /// The names of head.
    pub index: NameIndex,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Suspect {
    pub changed: Changed,
    /// Packages with functions that the change can reach.
    pub packages: BTreeSet<String>,
    /// Place of the item, if the change is an item of a member.
    pub place: Option<ItemPlace>,
}

/// An item of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemPlace {
    pub file: String,
    /// Inline modules, type or trait, and name.
    pub name: String,
    /// Name by which other code refers to it.
    pub ident: String,
    /// True for a function; one with a probe is attributed separately.
    pub is_function: bool,
}

/// Ranks of causes, most likely first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Nearness {
    /// It calls a slower or faster function.
    Calls,
    /// The source of a slower or faster function names the item.
    Named,
    SameFile,
    Elsewhere,
    /// Elsewhere, and only in one version.
    NewOrGone,
}

impl Suspect {
    /// Returns whether the change is code of the workspace's members.
    fn is_own_code(&self) -> bool {
        matches!(self.changed, Changed::Code(_))
    }

    /// Returns whether the change is this function.
    fn is(&self, function: &Function) -> bool {
        let place = self.place.as_ref().filter(|place| place.is_function);
        place.is_some_and(|place| function.file == place.file && function.is_named(&place.name))
    }

    /// Returns the rank with respect to the functions that the change can reach.
    fn nearness(&self, reached: &[&Unchanged<'_>]) -> Nearness {
        let Some(place) = &self.place else { return Nearness::Elsewhere };
        if reached.iter().any(|part| part.names.binary_search(&place.ident).is_ok()) {
            return Nearness::Named;
        }
        if reached.iter().any(|part| part.file == Some(place.file.as_str())) {
            return Nearness::SameFile;
        }
        match &self.changed {
            // Code that uses it, or did, has changed too.
            Changed::Code(CodeChange {
                change: ChangeKind::Added | ChangeKind::Removed | ChangeKind::Moved, ..
            }) => Nearness::NewOrGone,
            _ => Nearness::Elsewhere,
        }
    }
}

/// Adds the causes to an explanation, changed callers first, then by share, and whether code of the project changed.
pub fn add_causes(explanation: &mut Explanation, attribution: &Attribution, known: &Known<'_>, facts: &Facts) {
    let package = &known.test.target.package;
    let reaching: Vec<&Suspect> = facts.suspects.iter().filter(|suspect| suspect.packages.contains(package)).collect();
    explanation.code_changed = Some(reaching.iter().any(|suspect| suspect.is_own_code()));
    if !attribution.whole.is_certain() {
        return;
    }
    let of_test = (known.of_test)();
    let mut parts = unchanged_parts(attribution, known, of_test.as_ref());
    for part in &mut parts {
        part.callers = part.function.map_or_else(Vec::new, |function| changed_callers(explanation, function, known));
    }
    let responsible = explanation.responsible.iter().map(|responsible| &explanation.functions[responsible.function]);
    let responsible: Vec<&Function> = responsible.collect();
    let is_unreached = |suspect: &&Suspect| {
        let item = suspect.place.as_ref().map(|place| (place.file.clone(), place.name.clone()));
        of_test.as_ref().zip(item).is_some_and(|(test, item)| test.unreached.contains(&item))
    };
    // Those are named already, with what they pass on.
    let is_named = |suspect: &&Suspect| responsible.iter().any(|function| suspect.is(function));
    let others = reaching.into_iter().filter(|suspect| !is_named(suspect) && !is_unreached(suspect));
    let others: Vec<&Suspect> = others.collect();
    let mut causes = causes_among(&others, &parts, |suspect| is_timed(suspect, known));
    let is_caller = |(_, nearness): &(Cause, Nearness)| *nearness == Nearness::Calls;
    if !causes.iter().any(is_caller) && responsible.iter().all(|function| (known.changed)(function).is_none()) {
        // A changed function that calls none of them can give them more work by what it returns, or when it runs at build time.
        let is_executed = |suspect: &Suspect| explanation.functions.iter().any(|function| suspect.is(function));
        let may_be = |suspect: &&&Suspect| !is_timed(suspect, known) || is_executed(suspect);
        let likelier: Vec<&Suspect> = others.iter().filter(may_be).copied().collect();
        causes = causes_among(&likelier, &parts, |_| false);
        if causes.is_empty() {
            causes = causes_among(&others, &parts, |_| false);
        }
    }
    // A changed caller does not prove that nothing else had an effect, but is seen to lead there.
    let rank = |near: &Nearness| *near != Nearness::Calls;
    causes.sort_by(|(a, near), (b, nearer)| {
        rank(near).cmp(&rank(nearer)).then(b.share.total_cmp(&a.share)).then(near.cmp(nearer))
    });
    explanation.causes = causes.into_iter().map(|(cause, _)| cause).collect();
}

/// Returns the changes that reach these parts, each with its rank: a `timed` function reaches those that it calls, any other
/// change those of the packages that depend on it.
fn causes_among(
    suspects: &[&Suspect],
    parts: &[Unchanged<'_>],
    timed: impl Fn(&Suspect) -> bool,
) -> Vec<(Cause, Nearness)> {
    let causes = suspects.iter().map(|suspect| {
        let is_timed = timed(suspect);
        let is_reached = |part: &&Unchanged<'_>| {
            if is_timed {
                part.callers.iter().any(|caller| suspect.is(caller))
            } else {
                suspect.packages.contains(part.package)
            }
        };
        let reached: Vec<_> = parts.iter().filter(is_reached).collect();
        let share = reached.iter().map(|part| part.share).sum();
        let nearness = if is_timed { Nearness::Calls } else { suspect.nearness(&reached) };
        (Cause { changed: suspect.changed.clone(), share }, nearness)
    });
    causes.filter(|(cause, _)| cause.share >= LEAST_SHARE).collect()
}

/// The part of an unchanged function.
struct Unchanged<'a> {
    /// `None` for the test.
    function: Option<&'a Function>,
    /// The nearest changed functions that call it, directly or not.
    callers: Vec<Function>,
    package: &'a str,
    /// `None` for a test that is not found.
    file: Option<&'a str>,
    /// Names in its source, sorted.
    names: Cow<'a, [String]>,
    /// Share of the test's difference.
    share: f64,
}

/// Returns the certain parts of functions with unchanged source, and of the test, whose code both versions share.
fn unchanged_parts<'a>(
    attribution: &Attribution,
    known: &'a Known<'_>,
    of_test: Option<&'a OfTest>,
) -> Vec<Unchanged<'a>> {
    let certain = attribution.parts.iter().filter(|part| part.change.is_certain());
    certain
        .filter_map(|part| {
            let share = attribution.share(part);
            if part.key == ROOT {
                let file = of_test.map(|test| test.file.as_str());
                let names = Cow::Borrowed(of_test.map_or(&[][..], |test| &test.names));
                let package = &known.test.target.package;
                return Some(Unchanged { function: None, callers: Vec::new(), package, file, names, share });
            }
            let function = unchanged_function(part, known)?;
            let names = Cow::Owned((known.names)(function));
            let (package, file) = (&function.package, Some(function.file.as_str()));
            Some(Unchanged { function: Some(function), callers: Vec::new(), package, file, names, share })
        })
        .collect()
}

/// Returns the changed functions that are the nearest such callers of a function at its places in the call tree.
fn changed_callers(explanation: &Explanation, function: &Function, known: &Known<'_>) -> Vec<Function> {
    let nodes = &explanation.nodes;
    let of = |node: usize| nodes[node].function.map(|place| &explanation.functions[place]);
    let mut parents = vec![None; nodes.len()];
    for (node, child) in
        nodes.iter().enumerate().flat_map(|(node, of)| of.children.iter().map(move |child| (node, *child)))
    {
        parents[child] = Some(node);
    }
    let nearest = |node: usize| {
        let callers = std::iter::successors(parents[node], |caller| parents[*caller]);
        callers.filter_map(of).find(|caller| (known.changed)(caller).is_some())
    };
    let places = (0..nodes.len()).filter(|node| of(*node) == Some(function));
    places.filter_map(nearest).cloned().collect()
}

/// Returns the function, unless its source changed.
fn unchanged_function<'a>(part: &Part, known: &'a Known<'_>) -> Option<&'a Function> {
    let function = function_of(known.functions, part.key)?;
    (known.changed)(function).is_none().then_some(function)
}

/// Returns whether the change is a function with a probe.
fn is_timed(suspect: &Suspect, known: &Known<'_>) -> bool {
    Side::BOTH.iter().any(|side| known.functions.get(*side).values().any(|function| suspect.is(function)))
}

/// A file of the project's own code.
pub struct SourceFile {
    pub package: String,
    /// Path from the package's folder.
    pub place: String,
    /// Module path in the first target that contains it.
    pub module: String,
    pub is_root: bool,
}

impl SourceFile {
    /// Returns the place of the file for the keys of functions.
    pub fn place(&self) -> Place<'_> {
        Place { package: &self.package, path: &self.place }
    }

    /// Returns a function of the file with its full name.
    pub fn function(&self, path: &str, name: &str, line: usize) -> Function {
        let name = if self.module.is_empty() { name.to_owned() } else { format!("{}::{name}", self.module) };
        Function { package: self.package.clone(), file: path.to_owned(), line, name }
    }
}

pub fn text(versions: &Versions, files: &FileSet, path: &str) -> Option<String> {
    let is_file = files.entries.get(Path::new(path)).is_some_and(|entry| entry.mode != Mode::Symlink);
    is_file.then(|| versions.read_file(files, path)).flatten().and_then(|content| String::from_utf8(content).ok())
}

/// Returns the files of all targets of the workspace by path.
pub fn sources(selected: &TargetSelection, side: Side) -> BTreeMap<String, SourceFile> {
    let mut found = BTreeMap::new();
    let folders: BTreeMap<&str, &str> =
        selected.workspace.packages.iter().map(|package| (package.name.as_str(), package.dir.as_str())).collect();
    let roots = selected.roots();
    for (target, files) in &selected.target_files {
        let folder = folders.get(target.package.as_str()).copied().unwrap_or_default();
        for (path, FileInTarget { module, .. }) in files.get(side) {
            found.entry(path.clone()).or_insert_with(|| SourceFile {
                package: target.package.clone(),
                place: Path::new(path).strip_prefix(folder).unwrap_or(Path::new(path)).to_string_lossy().into_owned(),
                module: module.clone(),
                is_root: roots.contains(path),
            });
        }
    }
    found
}

/// Collects all differences between the two versions that a test can see.
pub fn facts(inquiry: &Inquiry<'_>) -> Facts {
    let Inquiry { versions, selected, .. } = *inquiry;
    let graph = &selected.graph;
    let path = in_folder(&graph.root, "Cargo.lock");
    let read = |side: Side| versions.read_file(versions.files.get(side), &path).unwrap_or_default();
    let locks = Sides { base: read(Side::Base), head: read(Side::Head) };
    let locked = source::locked_changes(&locks.base, &locks.head);
    let dependents = [&locks.base, &locks.head].map(|lock| source::Dependents::of(lock));
    let inputs = Inputs { versions, graph, dependents, locked, profile: &inquiry.build.profile };
    let mut suspects = inputs.dependencies();
    suspects.extend(selected.diff.inputs.iter().filter_map(|input| inputs.suspect(input)));
    suspects.extend(code(selected));
    Facts { suspects, index: index_of_head(versions, selected) }
}

fn in_folder(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// Changed files other than Rust code.
struct Inputs<'a> {
    versions: &'a Versions,
    graph: &'a Graph,
    /// Dependents by the lock files of base and head; none where there is no such file.
    dependents: [source::Dependents; 2],
    locked: Vec<source::LockedChange>,
    profile: &'a str,
}

impl Inputs<'_> {
    fn dependencies(&self) -> Vec<Suspect> {
        let suspects = self.locked.iter().map(|change| Suspect {
            changed: Changed::Dependency {
                package: change.name.clone(),
                base: change.base.clone(),
                head: change.head.clone(),
            },
            packages: {
                // Engines that distinguish functions of external packages attribute to the package itself.
                let of_package = |dependents: &source::Dependents| dependents.of_package(&change.name);
                self.dependents.iter().flat_map(of_package).chain([change.name.clone()]).collect()
            },
            place: None,
        });
        suspects.collect()
    }

    fn suspect(&self, input: &ChangedInput) -> Option<Suspect> {
        let path = input.path.clone();
        if self.graph.is_outside(&path) {
            return None;
        }
        let is_at_root = parent(&path) == self.graph.root;
        let (changed, packages) = match input.kind {
            // Both versions are built by one toolchain.
            InputKind::CargoConfig if path.contains("rust-toolchain") => return None,
            // Packages are listed one by one, and a version number does not affect time.
            InputKind::LockFile { .. } | InputKind::ManifestVersion => return None,
            InputKind::CargoConfig => (self.configuration(&path)?, everything(self.graph)),
            InputKind::Manifest | InputKind::WorkspaceManifest if is_at_root => {
                (self.configuration(&path)?, everything(self.graph))
            }
            InputKind::Manifest | InputKind::WorkspaceManifest => {
                let around = self.around(&path)?;
                (self.configuration(&path)?, around)
            }
            InputKind::BuildScript => (Changed::BuildScript { path: path.clone() }, self.around(&path)?),
            InputKind::Data => (Changed::File { path: path.clone() }, self.around(&path)?),
        };
        Some(Suspect { changed, packages, place: None })
    }

    /// Returns the package of a file and all packages that depend on it.
    fn around(&self, path: &str) -> Option<BTreeSet<String>> {
        Some(self.graph.dependents(self.graph.nearest_package(path)?))
    }

    /// Returns a changed settings file; `None` if all of its differences are listed elsewhere or do not count.
    fn configuration(&self, path: &str) -> Option<Changed> {
        let read = |side: Side| self.versions.read_file(self.versions.files.get(side), path);
        let (base, head) = (read(Side::Base), read(Side::Head));
        let Some(keys) = source::changed_keys(base.as_deref(), head.as_deref()) else {
            return Some(Changed::Configuration { path: path.to_owned(), keys: Vec::new() });
        };
        let profiles = profiles(self.profile, head.as_deref().unwrap_or_default());
        let counts = |key: &String| !is_requirement(key, &self.locked) && !is_of_another_profile(key, &profiles);
        let keys: Vec<String> = keys.into_iter().filter(counts).collect();
        (!keys.is_empty()).then(|| Changed::Configuration { path: path.to_owned(), keys })
    }
}

fn everything(graph: &Graph) -> BTreeSet<String> {
    graph.packages.iter().map(|package| package.name.clone()).collect()
}

/// Returns whether a manifest's key requires another version of a package that is listed anyway.
fn is_requirement(key: &str, locked: &[source::LockedChange]) -> bool {
    let parts: Vec<&str> = key.split('.').collect();
    let Some(table) = parts.iter().position(|part| part.ends_with("dependencies")) else { return false };
    let is_version = matches!(parts.get(table + 2..), None | Some([] | ["version"]));
    let name = parts.get(table + 1).copied().unwrap_or_default();
    is_version && locked.iter().any(|change| change.name == name)
}

/// Returns the profile and those that it inherits from, according to the manifest.
fn profiles(profile: &str, manifest: &[u8]) -> Vec<String> {
    let manifest = std::str::from_utf8(manifest).ok().and_then(|text| text.parse::<Table>().ok()).unwrap_or_default();
    let mut found = vec![profile.to_owned()];
    loop {
        let last = found.last().map(String::as_str).unwrap_or_default();
        let given = manifest.get("profile").and_then(|profiles| profiles.get(last)?.get("inherits")?.as_str());
        let next = match (given, last) {
            (Some(given), _) => given,
            (None, "bench") => "release",
            (None, "test") => "dev",
            (None, _) => return found,
        };
        if found.iter().any(|known| known == next) {
            return found;
        }
        found.push(next.to_owned());
    }
}

fn is_of_another_profile(key: &str, profiles: &[String]) -> bool {
    let of = key.strip_prefix("profile.").map(|rest| rest.split('.').next().unwrap_or(rest));
    of.is_some_and(|name| !profiles.iter().any(|known| known == name))
}

/// Returns changed code outside of tests: items of members, which may have no probe, and packages that never have one.
fn code(selected: &TargetSelection) -> Vec<Suspect> {
    let graph = &selected.graph;
    let mut suspects = Vec::new();
    let mut others: BTreeMap<usize, Vec<CodeChange>> = BTreeMap::new();
    for item in selected.diff.items.iter().filter(|item| counts(item, selected)) {
        let Some(position) = graph.nearest_package(&item.path) else { continue };
        let package = &graph.packages[position];
        let is_script = package.build_script.as_deref() == Some(item.path.as_str());
        // Only a macro's own tests execute it; those of others execute what it makes.
        let is_of_macro = package.is_macro && !is_script;
        let is_outside = !package.member && !is_script;
        if is_outside || is_of_macro {
            others.entry(position).or_default().push(item.code_change());
        }
        if is_outside {
            continue;
        }
        let changed = if is_script {
            Changed::BuildScript { path: item.path.clone() }
        } else {
            Changed::Code(item.code_change())
        };
        let is_function = matches!(item.kind, ItemKind::Function | ItemKind::Method);
        let place =
            ItemPlace { file: item.path.clone(), name: item.name.clone(), ident: item.ident.clone(), is_function };
        let packages = if is_of_macro { BTreeSet::from([package.name.clone()]) } else { graph.dependents(position) };
        suspects.push(Suspect { changed, packages, place: Some(place) });
    }
    suspects.dedup();
    suspects.extend(others.into_iter().map(|(position, changes)| {
        let package = &graph.packages[position];
        let mut packages = graph.dependents(position);
        if package.is_macro {
            packages.remove(&package.name);
        }
        Suspect { changed: Changed::LocalDependency { package: package.name.clone(), changes }, packages, place: None }
    }));
    suspects
}

/// Returns whether an item can affect a measurement. Imports and module declarations do so only through the items that
/// they name, and test code is the same in both versions.
fn counts(item: &ChangedItem, selected: &TargetSelection) -> bool {
    !item.test_only && !matches!(item.kind, ItemKind::Use | ItemKind::Module) && !is_of_tests(&item.path, selected)
}

/// Returns whether only tests contain the file.
fn is_of_tests(path: &str, selected: &TargetSelection) -> bool {
    let mut held = false;
    for (target, files) in &selected.target_files {
        let infos = [&files.base, &files.head].into_iter().filter_map(|files| files.get(path));
        for info in infos {
            held = true;
            if target.kind.holds_code() && !info.test_only {
                return false;
            }
        }
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assemble::{Plain, told, unless_contrary};
    use crate::attribute::{attribute, differences};
    use crate::merge::Merged;
    use perfunit_measure::{Recorded, RecordedNode};
    use perfunit_model::{Engine, ExplanationNote, MainCause, Strategy, TargetId, TargetKind, TestId};
    use perfunit_select::source::LockedChange;
    use std::collections::BTreeMap;

    /// Explains self times on base and head by key: the test 0; `app::run` 2 calls `app::parse` 3 and `codec::read` 4.
    fn explain_sample(times: [[f64; 2]; 4], changed: &str, facts: &Facts) -> Explanation {
        let tree = |side: usize| {
            let node = |key: u64, parent: usize, calls: f64, index: usize| RecordedNode {
                parent,
                calls,
                self_cost: times[index][side],
                ..RecordedNode::root(key)
            };
            Recorded { nodes: vec![node(ROOT, 0, 0.0, 0), node(2, 0, 1.0, 1), node(3, 1, 1.0, 2), node(4, 1, 1.0, 3)] }
        };
        let mut merged = Merged::default();
        (0..4).for_each(|_| merged.add(&Sides { base: tree(0), head: tree(1) }));
        let function = |package: &str, name: &str| Function {
            package: package.into(),
            file: format!("{package}/src/lib.rs"),
            line: 1,
            name: name.into(),
        };
        let functions = BTreeMap::from([
            (2, function("app", "run")),
            (3, function("app", "text::parse")),
            (4, function("codec", "read")),
        ]);
        let functions = Sides { base: functions.clone(), head: functions };
        let target = TargetId { package: "app".into(), kind: TargetKind::Lib, name: "app".into() };
        let test = TestId { target, name: "t".into() };
        let attribution = attribute(&merged, 0.01).unwrap();
        let known = Known {
            test: &test,
            engine: Engine::Probes,
            strategy: Strategy::Complete,
            seconds: 0.0,
            plain: Some(Plain { base_ns: 100.0, difference: attribution.whole }),
            probe_cost: Sides { base: 0.0, head: 0.0 },
            functions: &functions,
            overflow: 0,
            without_probe: BTreeMap::new(),
            changed: &|function| (function.name == changed).then_some(ChangeKind::Changed),
            names: &|function| if function.name == "run" { vec!["LIMIT".to_owned()] } else { Vec::new() },
            of_test: &|| {
                Some(OfTest {
                    file: "app/tests/t.rs".to_owned(),
                    names: vec!["checked".to_owned()],
                    unreached: BTreeSet::from([("app/src/lib.rs".to_owned(), "elsewhere".to_owned())]),
                })
            },
        };
        let mut explanation = told(&merged, &differences(&merged, 0.01).unwrap(), &attribution, &known);
        add_causes(&mut explanation, &attribution, &known, facts);
        explanation
    }

    fn facts_of(suspects: Vec<Suspect>) -> Facts {
        Facts { suspects, index: NameIndex::default() }
    }

    fn dependency(name: &str, packages: &[&str]) -> Suspect {
        let versions = |version: &str| vec![version.to_owned()];
        suspect(Changed::Dependency { package: name.into(), base: versions("1"), head: versions("2") }, packages)
    }

    fn suspect(changed: Changed, packages: &[&str]) -> Suspect {
        Suspect { changed, packages: packages.iter().map(ToString::to_string).collect(), place: None }
    }

    fn code(file: &str, name: &str) -> Suspect {
        item(file, name, ChangeKind::Changed)
    }

    fn item(file: &str, name: &str, change: ChangeKind) -> Suspect {
        let is_function = name != "LIMIT";
        let place = Some(ItemPlace { file: file.into(), name: name.into(), ident: name.into(), is_function });
        let changed = CodeChange { change, item: name.into(), path: file.into(), line: 3 };
        Suspect { place, ..suspect(Changed::Code(changed), &["app"]) }
    }

    fn short(changed: &Changed) -> String {
        match changed {
            Changed::Dependency { package, .. } => package.clone(),
            Changed::Code(CodeChange { change, item, .. }) => format!("{change} {item}"),
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn check(explanation: &Explanation, expected: &[(&str, f64)]) {
        let found: Vec<_> = explanation.causes.iter().map(|cause| (short(&cause.changed), cause.share)).collect();
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for ((found, share), (name, expected)) in found.iter().zip(expected) {
            assert!(found == name && (share - expected).abs() < 1e-9, "{found} {share}");
        }
    }

    /// `read` is slower by 60 ns, `parse` by 30 ns, the test by 10 ns.
    const SLOWER: [[f64; 2]; 4] = [[10.0, 20.0], [5.0, 5.0], [10.0, 40.0], [10.0, 70.0]];

    #[test]
    fn a_dependency_can_be_behind_those_that_depend_on_it() {
        let facts = facts_of(vec![dependency("memchr", &["app", "codec"]), dependency("serde", &["app"])]);
        let found = explain_sample(SLOWER, "", &facts);
        check(&found, &[("memchr", 1.0), ("serde", 0.4)]);
        assert_eq!(found.code_changed, Some(false));
    }

    #[test]
    fn who_changed_pays_for_himself() {
        let facts = facts_of(vec![dependency("memchr", &["app", "codec"]), code("app/src/lib.rs", "parse")]);
        let found = explain_sample(SLOWER, "text::parse", &facts);
        check(&found, &[("memchr", 0.7)]);
        assert_eq!(found.code_changed, Some(true));
    }

    #[test]
    fn a_changed_caller_of_unchanged_functions_is_the_cause() {
        let facts = facts_of(vec![dependency("memchr", &["app", "codec"]), code("app/src/lib.rs", "run")]);
        // The test calls `run`, not the other way.
        check(&explain_sample(SLOWER, "run", &facts), &[("changed run", 0.9), ("memchr", 1.0)]);
    }

    #[test]
    fn a_changed_function_that_calls_none_of_them_is_behind_it_if_nothing_else_is() {
        // `run` is slower by 60 ns and calls `parse`, which changed.
        let slower = [[10.0, 10.0], [5.0, 65.0], [10.0, 10.0], [10.0, 10.0]];
        let found = explain_sample(slower, "text::parse", &facts_of(vec![code("app/src/lib.rs", "parse")]));
        check(&found, &[("changed parse", 1.0)]);
        let is_parse = |cause: &MainCause<'_>| matches!(cause, MainCause::Item(change) if change.item == "parse");
        assert!(found.main_cause().as_ref().is_some_and(is_parse), "{:?}", found.main_cause());
        let facts = facts_of(vec![code("app/src/lib.rs", "parse"), code("app/src/lib.rs", "LIMIT")]);
        let both = explain_sample(slower, "text::parse", &facts);
        check(&both, &[("changed LIMIT", 1.0), ("changed parse", 1.0)]);
        // Either can be meant.
        assert!(matches!(both.main_cause(), Some(MainCause::Function { is_changed: false, .. })));
    }

    #[test]
    fn who_is_responsible_is_not_another_cause() {
        let facts = facts_of(vec![code("app/src/lib.rs", "run")]);
        // `run` itself is slower, too.
        let found = explain_sample([[10.0, 10.0], [5.0, 65.0], [10.0, 40.0], [10.0, 70.0]], "run", &facts);
        let function = |index: usize| &found.functions[found.responsible[index].function].name;
        assert!((0..found.responsible.len()).any(|index| function(index) == "run"), "{found:?}");
        check(&found, &[]);
    }

    #[test]
    fn code_that_no_names_lead_to_is_not_behind_it() {
        let facts = facts_of(vec![code("app/src/lib.rs", "LIMIT"), code("app/src/lib.rs", "elsewhere")]);
        let found = explain_sample(SLOWER, "", &facts);
        check(&found, &[("changed LIMIT", 0.4)]);
        // It does not reach `read`, which has the largest part.
        assert!(matches!(found.main_cause(), Some(MainCause::Function { .. })));
    }

    #[test]
    fn code_without_a_probe_can_be_behind_it() {
        let facts = facts_of(vec![code("app/src/lib.rs", "LIMIT"), code("app/src/other.rs", "parse")]);
        check(&explain_sample(SLOWER, "", &facts), &[("changed LIMIT", 0.4), ("changed parse", 0.4)]);
    }

    /// The times of `run` and `parse` differ; `run` names `LIMIT`.
    #[test]
    fn the_likelier_cause_comes_first() {
        let item = |file: &str, name: &str, change| item(file, name, change);
        let suspects = vec![
            item("app/src/old.rs", "gone", ChangeKind::Removed),
            item("app/src/other.rs", "other", ChangeKind::Changed),
            item("app/src/lib.rs", "beside", ChangeKind::Removed),
            item("app/src/other.rs", "LIMIT", ChangeKind::Added),
        ];
        let times = [[10.0, 10.0], [5.0, 65.0], [10.0, 40.0], [10.0, 10.0]];
        let expected = [("added LIMIT", 1.0), ("removed beside", 1.0), ("changed other", 1.0), ("removed gone", 1.0)];
        check(&explain_sample(times, "", &facts_of(suspects)), &expected);
    }

    /// The time of the test differs, and the test names `checked`.
    #[test]
    fn what_the_test_names_comes_first_where_its_own_code_is_slower() {
        let suspects = vec![
            item("app/src/lib.rs", "LIMIT", ChangeKind::Changed),
            item("app/tests/t.rs", "beside", ChangeKind::Changed),
            item("app/src/other.rs", "checked", ChangeKind::Changed),
        ];
        let times = [[10.0, 70.0], [5.0, 5.0], [10.0, 10.0], [10.0, 10.0]];
        let expected = [("changed checked", 1.0), ("changed beside", 1.0), ("changed LIMIT", 1.0)];
        check(&explain_sample(times, "", &facts_of(suspects)), &expected);
    }

    #[test]
    fn a_difference_that_goes_the_other_way_explains_nothing() {
        let explanation = || explain_sample(SLOWER, "text::parse", &facts_of(vec![dependency("memchr", &["codec"])]));
        assert_eq!(unless_contrary(explanation(), 0.01), explanation());
        let contrary = unless_contrary(explanation(), -0.01);
        assert!(contrary.why_nobody().is_some() && !explanation().responsible.is_empty(), "{contrary:?}");
        assert!(matches!(contrary.notes[0], ExplanationNote::OtherWay { change, .. } if change > 1.0), "{contrary:?}");
    }

    #[test]
    fn what_cannot_reach_the_test_is_not_named() {
        let facts = facts_of(vec![dependency("other", &["codec"])]);
        check(&explain_sample(SLOWER, "", &facts), &[]);
    }

    #[test]
    fn without_a_difference_nothing_is_behind_it() {
        let facts = facts_of(vec![dependency("memchr", &["app", "codec"])]);
        check(&explain_sample([[10.0; 2]; 4], "", &facts), &[]);
    }

    #[test]
    fn a_requirement_is_told_by_the_version_that_came_of_it() {
        let locked = [LockedChange { name: "serde".into(), base: vec!["1".into()], head: vec!["2".into()] }];
        let is = |key: &str| is_requirement(key, &locked);
        assert!(is("dependencies.serde") && is("dev-dependencies.serde.version"));
        assert!(is("workspace.dependencies.serde"));
        assert!(!is("dependencies.serde.features") && !is("dependencies.other") && !is("features.serde"));
    }

    #[test]
    fn only_the_profile_that_is_built_counts() {
        let manifest = b"[profile.fast]\ninherits = \"release\"\n[profile.bench]\nlto = true";
        assert_eq!(profiles("bench", manifest), ["bench", "release"]);
        assert_eq!(profiles("fast", manifest), ["fast", "release"]);
        assert_eq!(profiles("test", b""), ["test", "dev"]);
        let of_another = |key: &str| is_of_another_profile(key, &profiles("bench", manifest));
        assert!(!of_another("profile.bench.lto") && !of_another("profile.release.lto") && !of_another("features.a"));
        assert!(of_another("profile.dev.opt-level"));
    }
}
