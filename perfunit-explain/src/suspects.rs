//! What changed besides functions with a probe, as plain facts for [`causes`](super::causes): dependencies, configuration, code
//! that is not timed.

use super::causes::{Facts, ItemPlace, Suspect};
use super::question::Inquiry;
use perfunit_model::{Changed, CodeChange, Side};
use perfunit_project::git::Versions;
use perfunit_project::git::path::parent;
use perfunit_select::Selected;
use perfunit_select::reach::{Graph, PackageNode};
use perfunit_select::source::{self, ChangedInput, ChangedItem, InputKind, ItemKind};
use std::collections::{BTreeMap, BTreeSet};
use toml::Table;

/// Collects everything that differs between the two versions and that a test can see.
pub fn facts(inquiry: &Inquiry<'_>) -> Facts {
    let Inquiry { versions, selected, .. } = *inquiry;
    let graph = &selected.graph;
    let locked = locked(versions, selected);
    let inputs = Inputs { versions, graph, locked, profile: &inquiry.build.profile };
    let mut suspects = inputs.dependencies();
    suspects.extend(selected.diff.inputs.iter().filter_map(|input| inputs.suspect(input)));
    suspects.extend(code(selected));
    Facts { suspects }
}

/// The external packages that differ, by the lock file of the workspace.
fn locked(versions: &Versions, selected: &Selected) -> Vec<source::LockedChange> {
    let path = in_folder(&selected.graph.root, "Cargo.lock");
    let read = |side: Side| versions.read_file(versions.files.get(side), &path);
    match (read(Side::Base), read(Side::Head)) {
        (Some(base), Some(head)) => source::locked_changes(&base, &head),
        _ => Vec::new(),
    }
}

fn in_folder(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// Changed files besides Rust code.
struct Inputs<'a> {
    versions: &'a Versions,
    graph: &'a Graph,
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
                // Engines that tell the functions of others apart attribute to the package itself.
                let mut packages = depending_on(self.graph, &change.name);
                packages.insert(change.name.clone());
                packages
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
            // Told package by package, and a version number reaches nothing that takes time.
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

    /// The package of a file and all that depend on it.
    fn around(&self, path: &str) -> Option<BTreeSet<String>> {
        Some(self.graph.dependents(self.graph.nearest_package(path)?))
    }

    /// A file of settings; `None` if all that differs in it is told otherwise or does not count here.
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

/// The packages of the repository that depend on an external one; all if that is not known.
fn depending_on(graph: &Graph, name: &str) -> BTreeSet<String> {
    let depends = |package: &&PackageNode| {
        let known = graph.external.get(&package.name).filter(|known| !known.is_empty());
        known.is_none_or(|known| known.contains(name))
    };
    graph.packages.iter().filter(depends).map(|package| package.name.clone()).collect()
}

fn everything(graph: &Graph) -> BTreeSet<String> {
    graph.packages.iter().map(|package| package.name.clone()).collect()
}

/// Whether a key of a manifest asks for another version of a package whose versions are told anyway.
fn is_requirement(key: &str, locked: &[source::LockedChange]) -> bool {
    let parts: Vec<&str> = key.split('.').collect();
    let Some(table) = parts.iter().position(|part| part.ends_with("dependencies")) else { return false };
    let is_version = matches!(parts.get(table + 2..), None | Some([] | ["version"]));
    let name = parts.get(table + 1).copied().unwrap_or_default();
    is_version && locked.iter().any(|change| change.name == name)
}

/// The profile and those that it inherits from, by the manifest.
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

/// Changed code that is no test's: items of members, which may carry no probe, and packages that never do.
fn code(selected: &Selected) -> Vec<Suspect> {
    let graph = &selected.graph;
    let mut suspects = Vec::new();
    let mut others: BTreeMap<usize, Vec<CodeChange>> = BTreeMap::new();
    for item in selected.diff.items.iter().filter(|item| counts(item, selected)) {
        let Some(position) = graph.nearest_package(&item.path) else { continue };
        let package = &graph.packages[position];
        let is_script = package.build_script.as_deref() == Some(item.path.as_str());
        if !package.member && !is_script {
            others.entry(position).or_default().push(item.code_change());
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
        suspects.push(Suspect { changed, packages: graph.dependents(position), place: Some(place) });
    }
    suspects.dedup();
    suspects.extend(others.into_iter().map(|(position, changes)| Suspect {
        changed: Changed::LocalDependency { package: graph.packages[position].name.clone(), changes },
        packages: graph.dependents(position),
        place: None,
    }));
    suspects
}

/// Whether an item can reach what is measured: imports and declarations of modules do so by what they name, and test code
/// is the same in both versions.
fn counts(item: &ChangedItem, selected: &Selected) -> bool {
    !item.test_only && !matches!(item.kind, ItemKind::Use | ItemKind::Module) && !is_of_tests(&item.path, selected)
}

/// Whether only tests have the file.
fn is_of_tests(path: &str, selected: &Selected) -> bool {
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
    use perfunit_select::source::LockedChange;

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

    #[test]
    fn without_a_graph_every_package_depends_on_everything() {
        let package = |name: &str| PackageNode { name: name.into(), ..PackageNode::default() };
        let external = BTreeMap::from([("a".to_owned(), BTreeSet::from(["serde".to_owned()]))]);
        let mut graph = Graph { packages: vec![package("a"), package("b")], external, ..Graph::default() };
        let of = |graph: &Graph, name: &str| depending_on(graph, name).into_iter().collect::<Vec<_>>();
        assert_eq!(of(&graph, "serde"), ["a", "b"]);
        graph.external.insert("b".to_owned(), BTreeSet::from(["libc".to_owned()]));
        assert_eq!(of(&graph, "serde"), ["a"]);
    }
}
