//! Compares the external packages in two versions of a lock file.

use std::collections::{BTreeMap, BTreeSet};
use toml::{Table, Value};

/// An external package with different entries in the two lock files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedChange {
    pub name: String,
    /// Versions that only base has.
    pub base: Vec<String>,
    /// Versions that only head has. Equal to base's if source, checksum or dependencies differ.
    pub head: Vec<String>,
}

/// Returns the external packages that differ, by name; none if a file cannot be parsed.
pub fn locked_changes(base: &[u8], head: &[u8]) -> Vec<LockedChange> {
    let (Some(base), Some(head)) = (parse(base), parse(head)) else { return Vec::new() };
    changes(&base, &head)
}

/// Returns the names of all packages without a source, which include the workspace's members; `None` if the file cannot
/// be parsed.
pub fn packages_with_path(lock: &[u8]) -> Option<Vec<String>> {
    let lock = parse(lock)?;
    let packages = lock.get("package")?.as_array()?.iter();
    let own = packages.filter(|package| package.get("source").is_none());
    own.map(|package| package.get("name")?.as_str().map(str::to_owned)).collect()
}

/// The packages of a lock file by those that they depend on.
#[derive(Debug, Default)]
pub struct Dependents(BTreeMap<String, Vec<String>>);

impl Dependents {
    /// Reads a lock file. There are none if it cannot be parsed.
    pub fn of(lock: &[u8]) -> Self {
        let lock = parse(lock).unwrap_or_default();
        let mut direct = Self::default();
        for package in packages(&lock) {
            let Some(own) = package.get("name").and_then(Value::as_str) else { continue };
            let all = package.get("dependencies").and_then(Value::as_array).into_iter().flatten();
            // `name`, `name version` or `name version (source)`.
            for dependency in all.filter_map(|dependency| dependency.as_str()?.split(' ').next()) {
                direct.0.entry(dependency.to_owned()).or_default().push(own.to_owned());
            }
        }
        direct
    }

    /// Returns the names of all packages that depend on a package, directly or not.
    pub fn of_package(&self, name: &str) -> BTreeSet<String> {
        let (mut found, mut open) = (BTreeSet::new(), vec![name]);
        while let Some(next) = open.pop() {
            for dependent in self.0.get(next).into_iter().flatten() {
                if found.insert(dependent.clone()) {
                    open.push(dependent);
                }
            }
        }
        found
    }
}

fn parse(lock: &[u8]) -> Option<Table> {
    std::str::from_utf8(lock).ok()?.parse().ok()
}

fn packages(lock: &Table) -> impl Iterator<Item = &Value> {
    lock.get("package").and_then(Value::as_array).into_iter().flatten()
}

/// Compares parsed lock files.
pub(super) fn changes(base: &Table, head: &Table) -> Vec<LockedChange> {
    let (base, head) = (Locked::of(base), Locked::of(head));
    let mut changes = of_packages(&base.packages, &head.packages);
    for (name, versions) in otherwise_resolved(&base, &head, &changes) {
        changes.entry(name).or_insert(versions);
    }
    changes.into_iter().map(|(name, [base, head])| LockedChange { name, base, head }).collect()
}

/// Versions that only base and only head have, by package name.
type Changes = BTreeMap<String, [Vec<String>; 2]>;

fn of_packages(base: &Packages, head: &Packages) -> Changes {
    let names: BTreeSet<&String> = base.keys().chain(head.keys()).collect();
    let none = BTreeSet::new();
    let of = |name: &String| (base.get(name).unwrap_or(&none), head.get(name).unwrap_or(&none));
    let differing = names.into_iter().map(|name| (name, of(name))).filter(|(_, (base, head))| base != head);
    let versions = |one: &BTreeSet<[String; 3]>, other: &BTreeSet<[String; 3]>| {
        one.difference(other).map(|[version, ..]| version.clone()).collect()
    };
    differing.map(|(name, (base, head))| (name.clone(), [versions(base, head), versions(head, base)])).collect()
}

/// Finds external packages in both lock files with dependencies that resolve differently, and dependencies of workspace
/// packages that resolve to another version. Dependents of packages in `changes` are known anyway.
fn otherwise_resolved(base: &Locked, head: &Locked, changes: &Changes) -> Changes {
    let mut found = Changes::new();
    for (package, of_base) in &base.dependencies {
        let Some(of_head) = head.dependencies.get(package) else { continue };
        let [name, version, _] = package;
        let names: BTreeSet<&String> = of_base.keys().chain(of_head.keys()).collect();
        let is_other = |name: &&String| !changes.contains_key(*name) && of_base.get(*name) != of_head.get(*name);
        let mut others = names.into_iter().filter(is_other);
        if !version.is_empty() {
            if others.next().is_some() {
                found.insert(name.clone(), [vec![version.clone()], vec![version.clone()]]);
            }
            continue;
        }
        for name in others {
            // The manifest shows added and removed dependencies.
            if let (Some(base), Some(head)) = (of_base.get(name), of_head.get(name)) {
                let versions = |ids: &BTreeSet<String>| ids.iter().map(|id| version_of(id)).collect();
                found.insert(name.clone(), [versions(base), versions(head)]);
            }
        }
    }
    found
}

/// External packages by name, each with version, source and checksum. Packages of the workspace have no source.
type Packages = BTreeMap<String, BTreeSet<[String; 3]>>;

/// Content of a lock file.
struct Locked {
    packages: Packages,
    /// Dependencies of each package, by its name, version and source: names, each with `version source`. Packages of
    /// the workspace have only a name, because their versions do not matter.
    dependencies: BTreeMap<[String; 3], BTreeMap<String, BTreeSet<String>>>,
}

impl Locked {
    fn of(lock: &Table) -> Self {
        let mut found = Self { packages: Packages::new(), dependencies: BTreeMap::new() };
        let text = |package: &Value, key: &str| package.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        for package in packages(lock) {
            let (version, source) = (text(package, "version"), text(package, "source"));
            if !source.is_empty() {
                let versions = found.packages.entry(text(package, "name")).or_default();
                versions.insert([version, source, text(package, "checksum")]);
            }
        }
        for package in packages(lock) {
            let (name, source) = (text(package, "name"), text(package, "source"));
            let version = if source.is_empty() { String::new() } else { text(package, "version") };
            let known = found.dependencies.entry([name, version, source]).or_default();
            for dependency in package.get("dependencies").and_then(Value::as_array).into_iter().flatten() {
                let (name, rest) =
                    dependency.as_str().map(|text| text.split_once(' ').unwrap_or((text, ""))).unwrap_or_default();
                // Versions of workspace packages do not matter.
                if let Some(versions) = found.packages.get(name) {
                    known.entry(name.to_owned()).or_default().insert(resolve_dependency(versions, rest));
                }
            }
        }
        found
    }
}

/// Returns `version source` of a dependency. The file contains only as much of it as is needed to be unique.
fn resolve_dependency(versions: &BTreeSet<[String; 3]>, rest: &str) -> String {
    let (version, source) = rest.split_once(' ').unwrap_or((rest, ""));
    let source = source.trim_start_matches('(').trim_end_matches(')');
    let is_meant =
        |known: &&[String; 3]| (version.is_empty() || known[0] == version) && (source.is_empty() || known[1] == source);
    let mut meant = versions.iter().filter(is_meant);
    match (meant.next(), meant.next()) {
        (Some([version, source, _]), None) => format!("{version} {source}"),
        _ => rest.to_owned(),
    }
}

fn version_of(id: &str) -> String {
    id.split(' ').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a lock file. Each line is `serde 1.0.1 registry`, or a workspace package without source, followed by `>`
    /// and its dependencies, separated by commas.
    fn lock(packages: &[&str]) -> String {
        let package = |text: &&str| {
            let (text, dependencies) = text.split_once(" > ").unwrap_or((text, ""));
            let dependencies: Vec<&str> = dependencies.split(',').filter(|text| !text.is_empty()).collect();
            let mut words = text.split(' ');
            let mut key = |key| words.next().map(|value| format!("{key} = \"{value}\"\n")).unwrap_or_default();
            let package = format!("[[package]]\n{}{}{}", key("name"), key("version"), key("source"));
            format!("{package}dependencies = {dependencies:?}\n")
        };
        packages.iter().map(package).collect()
    }

    #[track_caller]
    fn check(base: &[&str], head: &[&str], expected: &[(&str, &[&str], &[&str])]) {
        let found = locked_changes(lock(base).as_bytes(), lock(head).as_bytes());
        let owned = |list: &[&str]| list.iter().map(ToString::to_string).collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(name, base, head)| LockedChange { name: (*name).to_owned(), base: owned(base), head: owned(head) })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn only_versions_that_differ_are_told() {
        check(&["a 1 r", "b 1 r"], &["a 1 r", "b 2 r"], &[("b", &["1"], &["2"])]);
        check(&["a 1 r", "a 2 r"], &["a 1 r", "a 3 r"], &[("a", &["2"], &["3"])]);
        check(&["a 1 r"], &["b 1 r"], &[("a", &["1"], &[]), ("b", &[], &["1"])]);
        check(&["a 1 r"], &["a 1 git"], &[("a", &["1"], &["1"])]);
        check(&["own 1", "a 1 r"], &["own 2", "a 1 r"], &[]);
    }

    #[test]
    fn dependents_are_found_through_others() {
        let lock = lock(&["own 1 > a,c 2", "gen 1", "a 1 r > b 1 (registry)", "b 1 r", "c 2 r"]);
        let dependents = Dependents::of(lock.as_bytes());
        let found = |name: &str| dependents.of_package(name).into_iter().collect::<Vec<_>>();
        assert_eq!((found("b"), found("c")), (vec!["a".to_owned(), "own".to_owned()], vec!["own".to_owned()]));
        assert!(found("own").is_empty());
    }

    #[test]
    fn a_dependency_on_another_of_the_same_packages_is_told() {
        let with = |of_a: &str, of_own: &str| {
            let (a, own) = (format!("a 1 r > {of_a}"), format!("own 1 > {of_own}"));
            [a, own, "b 1 r".to_owned(), "b 2 r".to_owned(), "c 1 r".to_owned()]
        };
        let check = |base: [String; 5], head: [String; 5], expected: &[(&str, &[&str], &[&str])]| {
            check(&base.each_ref().map(String::as_str), &head.each_ref().map(String::as_str), expected);
        };
        check(with("b 1", ""), with("b 2", ""), &[("a", &["1"], &["1"])]);
        check(with("b 1", ""), with("b 1,c", ""), &[("a", &["1"], &["1"])]);
        check(with("", "b 1"), with("", "b 2"), &[("b", &["1"], &["2"])]);
        check(with("", "b 1"), with("", "b 1,c"), &[]);
        check(with("b 1", "c"), with("b 1 (r)", "c 1"), &[]);
    }

    #[test]
    fn a_dependency_that_is_told_itself_is_not_told_again() {
        check(&["a 1 r > b", "b 1 r"], &["a 1 r > b", "b 2 r"], &[("b", &["1"], &["2"])]);
        check(&["a 1 r > b", "b 1 r"], &["a 1 r > b 1", "b 1 r", "b 2 r"], &[("b", &[], &["2"])]);
    }

    #[test]
    fn packages_with_a_path_have_no_source() {
        let found = packages_with_path(lock(&["own 1", "a 1 r", "near 2"]).as_bytes());
        assert_eq!(found, Some(vec!["own".to_owned(), "near".to_owned()]));
        assert_eq!(packages_with_path(b"= broken"), None);
    }

    #[test]
    fn what_cannot_be_read_says_nothing() {
        assert_eq!(locked_changes(b"= broken", lock(&["a 1 r"]).as_bytes()), []);
    }
}
