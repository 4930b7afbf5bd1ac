//! What a lock file says about external packages, and what another version of it says otherwise.

use std::collections::{BTreeMap, BTreeSet};
use toml::{Table, Value};

/// An external package of which the two lock files say different things.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedChange {
    pub name: String,
    /// Versions as only base has them.
    pub base: Vec<String>,
    /// Versions as only head has them. The same as base's where source or checksum differ.
    pub head: Vec<String>,
}

/// The external packages that differ, by name; none if a file cannot be read.
pub fn locked_changes(base: &[u8], head: &[u8]) -> Vec<LockedChange> {
    let table = |content| std::str::from_utf8(content).ok()?.parse::<Table>().ok();
    let (Some(base), Some(head)) = (table(base), table(head)) else { return Vec::new() };
    changes(&base, &head)
}

/// The names of all packages with a path, members of the workspace among them; `None` if the file cannot be read.
pub fn packages_with_path(lock: &[u8]) -> Option<Vec<String>> {
    let lock: Table = std::str::from_utf8(lock).ok()?.parse().ok()?;
    let packages = lock.get("package")?.as_array()?.iter();
    let own = packages.filter(|package| package.get("source").is_none());
    own.map(|package| package.get("name")?.as_str().map(str::to_owned)).collect()
}

/// The same of files that were read.
pub(super) fn changes(base: &Table, head: &Table) -> Vec<LockedChange> {
    let (base, head) = (locked(base), locked(head));
    let names: BTreeSet<&String> = base.keys().chain(head.keys()).collect();
    let none = BTreeSet::new();
    let of = |name: &String| (base.get(name).unwrap_or(&none), head.get(name).unwrap_or(&none));
    let differing = names.into_iter().map(|name| (name, of(name))).filter(|(_, (base, head))| base != head);
    let versions = |one: &BTreeSet<[String; 3]>, other: &BTreeSet<[String; 3]>| {
        one.difference(other).map(|[version, ..]| version.clone()).collect()
    };
    differing
        .map(|(name, (base, head))| LockedChange {
            name: name.clone(),
            base: versions(base, head),
            head: versions(head, base),
        })
        .collect()
}

/// The external packages of a lock file with version, source and checksum. Packages of the workspace have no source.
fn locked(lock: &Table) -> BTreeMap<String, BTreeSet<[String; 3]>> {
    let mut packages = BTreeMap::<_, BTreeSet<_>>::new();
    for package in lock.get("package").and_then(Value::as_array).into_iter().flatten() {
        let text = |key: &str| package.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        if !text("source").is_empty() {
            packages.entry(text("name")).or_default().insert([text("version"), text("source"), text("checksum")]);
        }
    }
    packages
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `serde 1.0.1 registry`, one a line; without a source it is a package of the workspace.
    fn lock(packages: &[&str]) -> String {
        let package = |text: &&str| {
            let mut words = text.split(' ');
            let mut key = |key| words.next().map(|value| format!("{key} = \"{value}\"\n")).unwrap_or_default();
            format!("[[package]]\n{}{}{}", key("name"), key("version"), key("source"))
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
    fn packages_with_a_path_have_no_source() {
        let found = packages_with_path(lock(&["own 1", "a 1 r", "beside 2"]).as_bytes());
        assert_eq!(found, Some(vec!["own".to_owned(), "beside".to_owned()]));
        assert_eq!(packages_with_path(b"= broken"), None);
    }

    #[test]
    fn what_cannot_be_read_says_nothing() {
        assert_eq!(locked_changes(b"= broken", lock(&["a 1 r"]).as_bytes()), []);
    }
}
