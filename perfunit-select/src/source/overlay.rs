//! Builds a version with the test code of another: which files it replaces, and how it merges files with both kinds of
//! code.

use super::modules::FileInTarget;
use super::normalise::Code;
use super::splice::splice;
use perfunit_model::TargetKind;
use proc_macro2::TokenStream;
use std::collections::{BTreeMap, BTreeSet};

/// Content of a Rust file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holds {
    /// Only code for builds of tests, examples or benchmarks.
    Tests,
    /// Other code, possibly with tests in it.
    Code,
}

/// Files of a version.
pub struct Holder<'a> {
    /// Files of its targets: see [`holds`].
    pub files: &'a BTreeMap<String, Holds>,
    /// Returns a file's content by its path.
    pub read: &'a dyn Fn(&str) -> Option<Vec<u8>>,
}

/// Classifies the files of some targets. A file of several targets contains code if it does in one of them.
pub fn holds<'a>(
    targets: impl Iterator<Item = (TargetKind, &'a BTreeMap<String, FileInTarget>)>,
) -> BTreeMap<String, Holds> {
    let mut found = BTreeMap::new();
    for (kind, files) in targets {
        for (path, file) in files {
            let is_code = kind.holds_code() && !file.test_only;
            let holds = if is_code { Holds::Code } else { Holds::Tests };
            let known = found.entry(path.clone()).or_insert(holds);
            *known = holds.max(*known);
        }
    }
    found
}

/// Returns the files that version `code` must change to have the test code of `tests`: their new content, or `None` to
/// remove them. `changed` are the files that differ between the two.
///
/// Test files are replaced, and removed if `tests` lacks them, except for the `roots` of targets, which manifests name.
/// In code files the test items are exchanged. Code files that `tests` lacks keep their tests.
pub fn overlay(
    changed: &BTreeSet<String>,
    roots: &BTreeSet<String>,
    code: &Holder<'_>,
    tests: &Holder<'_>,
) -> BTreeMap<String, Option<Vec<u8>>> {
    let mut overlay = BTreeMap::new();
    for path in changed {
        let read = || ((code.read)(path), (tests.read)(path));
        match (code.files.get(path), tests.files.get(path)) {
            (Some(Holds::Tests) | None, Some(Holds::Tests)) => {
                let (ours, theirs) = read();
                if let Some(theirs) = theirs
                    && ours.is_none_or(|ours| !is_same_code(&ours, &theirs))
                {
                    overlay.insert(path.clone(), Some(theirs));
                }
            }
            (Some(Holds::Tests), None) if !roots.contains(path) => drop(overlay.insert(path.clone(), None)),
            (Some(Holds::Code), Some(Holds::Code)) => {
                let (Some(ours), Some(theirs)) = read() else { continue };
                if let (Ok(ours), Ok(theirs)) = (std::str::from_utf8(&ours), std::str::from_utf8(&theirs))
                    && let Some(text) = splice(ours, theirs)
                {
                    overlay.insert(path.clone(), Some(text.into_bytes()));
                }
            }
            _ => {}
        }
    }
    overlay
}

/// Checks whether only comments and white space differ.
fn is_same_code(a: &[u8], b: &[u8]) -> bool {
    let code = |content: &[u8]| {
        let tokens = std::str::from_utf8(content).ok()?.parse::<TokenStream>().ok()?;
        Some(Code::of(tokens).text)
    };
    a == b || code(a).is_some_and(|a| code(b) == Some(a))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Version<'a> = &'a [(&'a str, Holds, &'a str)];

    /// Checks the resulting version, as `path: content` or `path: -`.
    #[track_caller]
    fn check(code: Version<'_>, tests: Version<'_>, expected: &[&str]) {
        let files =
            |version: Version<'_>| version.iter().map(|(path, holds, _)| ((*path).to_owned(), *holds)).collect();
        let text = |version: Version<'_>, path: &str| {
            version.iter().find(|(known, ..)| *known == path).map(|(.., text)| text.as_bytes().to_vec())
        };
        let changed = code.iter().chain(tests).map(|(path, ..)| (*path).to_owned()).collect();
        let roots = ["tests/root.rs".to_owned()].into();
        let found = overlay(
            &changed,
            &roots,
            &Holder { files: &files(code), read: &|path| text(code, path) },
            &Holder { files: &files(tests), read: &|path| text(tests, path) },
        );
        let content =
            |content: Option<Vec<u8>>| content.map_or("-".to_owned(), |text| String::from_utf8(text).unwrap());
        let found: Vec<String> = found.into_iter().map(|(path, text)| format!("{path}: {}", content(text))).collect();
        assert_eq!(found, expected);
    }

    use Holds::{Code, Tests};

    #[test]
    fn a_changed_test_file_is_taken_over() {
        check(
            &[("src/lib.rs", Code, "fn f() { 2 }"), ("tests/it.rs", Tests, "new();")],
            &[("src/lib.rs", Code, "fn f() { 1 }"), ("tests/it.rs", Tests, "old();")],
            &["tests/it.rs: old();"],
        );
    }

    #[test]
    fn a_test_file_with_another_comment_is_not() {
        check(&[("tests/it.rs", Tests, "f(); // new")], &[("tests/it.rs", Tests, "f();")], &[]);
    }

    #[test]
    fn test_files_of_one_side_come_and_go_but_for_roots() {
        check(
            &[("src/new.rs", Tests, ""), ("tests/root.rs", Tests, "")],
            &[("src/old.rs", Tests, "old();")],
            &["src/new.rs: -", "src/old.rs: old();"],
        );
    }

    #[test]
    fn tests_in_code_are_exchanged_and_new_code_keeps_its_own() {
        check(
            &[("src/a.rs", Code, "fn f() { 2 } #[test] fn t() { 2 }"), ("src/new.rs", Code, "#[test] fn t() {}")],
            &[("src/a.rs", Code, "fn f() { 1 } #[test] fn t() { 1 }"), ("src/old.rs", Code, "#[test] fn t() {}")],
            &["src/a.rs: fn f() { 2 } #[test] fn t() { 1 }"],
        );
    }

    #[test]
    fn a_file_that_became_code_is_left_alone() {
        check(&[("src/a.rs", Code, "fn f() {}")], &[("src/a.rs", Tests, "fn g() {}")], &[]);
    }

    #[test]
    fn a_file_of_the_library_and_of_a_test_holds_code() {
        let file = |path: &str, test_only| {
            BTreeMap::from([(path.to_owned(), FileInTarget { test_only, ..FileInTarget::default() })])
        };
        let (shared, tests) = (file("src/a.rs", false), file("src/tests.rs", true));
        let targets = [(TargetKind::Test, &shared), (TargetKind::Lib, &shared), (TargetKind::Lib, &tests)];
        let expected = [("src/a.rs".to_owned(), Code), ("src/tests.rs".to_owned(), Tests)];
        assert_eq!(holds(targets.into_iter()), BTreeMap::from(expected));
    }
}
