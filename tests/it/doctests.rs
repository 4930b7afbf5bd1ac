//! Doc tests as workloads (`--doc`).

use crate::support::{Project, Run};
use std::collections::BTreeMap;

/// Returns a library with a doc test for the crate and two for a function of this many rounds.
fn documented(rounds: u32) -> String {
    format!(
        "//! ```\n//! sample::mix(1);\n//! ```\n\n\
         /// ```\n/// assert_ne!(sample::mix(1), 0);\n/// ```\n///\n\
         /// ```no_run\n/// sample::mix(2);\n/// ```\n\
         #[inline(never)]\npub fn mix(seed: u64) -> u64 {{\n    \
         (0..{rounds}).fold(seed | 1, |state, round| (state ^ state << 13 ^ state >> 7).wrapping_add(round))\n}}\n\
         #[test]\nfn mixes() {{ assert_ne!(mix(1), 0); }}\n"
    )
}

/// Returns the tests in a document of `list`, with their kind and the kind of their reason.
fn listed(run: Run) -> BTreeMap<String, (String, Option<String>)> {
    let document = run.expect(0).json();
    let entry = |test: &serde_json::Value| {
        let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
        let kind = text(&test["target_kind"]).unwrap();
        (text(&test["name"]).unwrap(), (kind, text(&test["reason"]["kind"])))
    };
    document["tests"].as_array().unwrap().iter().map(entry).collect()
}

fn is(kind: &str, reason: Option<&str>) -> (String, Option<String>) {
    (kind.to_owned(), reason.map(str::to_owned))
}

#[test]
fn without_the_option_doc_tests_are_listed_with_a_hint() {
    let project = Project::library(&documented(500), &documented(1500));
    let run = project.perfunit(["list", "HEAD~1"]).expect(0);
    assert!(run.stdout.contains("mixes") && !run.stdout.contains("mix #1"), "{}", run.stdout);
    let named = "doc tests of sample: measured on request (--doc)";
    assert!(run.stdout.contains(named), "{}", run.stdout);
    let plain = |rounds| documented(rounds).replace("```", "'''");
    let run = Project::library(&plain(500), &plain(1500)).perfunit(["list", "HEAD~1"]).expect(0);
    assert!(run.stdout.contains("mixes") && !run.stdout.contains("doc tests"), "{}", run.stdout);
}

#[test]
fn names_are_stable_when_lines_move_and_doc_combines_with_other_targets() {
    let moved = documented(1500).replace("/// assert_ne", "/// // A line more.\n/// assert_ne");
    let project = Project::library(&documented(500), &moved);
    let doctests = listed(project.perfunit(["list", "HEAD~1", "--doc", "--message-format", "json"]));
    let expected = [
        ("crate #1".to_owned(), is("doctest", None)),
        ("mix #1".to_owned(), is("doctest", None)),
        ("mix #2".to_owned(), is("doctest", Some("not-captured"))),
    ];
    assert_eq!(doctests, BTreeMap::from(expected.clone()));
    let both = listed(project.perfunit(["list", "HEAD~1", "--doc", "--lib", "--message-format", "json"]));
    let unit_test = ("mixes".to_owned(), is("lib", None));
    assert_eq!(both, expected.into_iter().chain([unit_test]).collect());
}

#[test]
fn filtersets_know_the_kind() {
    let project = Project::library(&documented(500), &documented(1500));
    let arguments = ["list", "HEAD~1", "--doc", "--lib", "-E", "kind(doctest) & test(mix)", "--message-format", "json"];
    let chosen: Vec<String> = listed(project.perfunit(arguments))
        .into_iter()
        .filter(|(_, (_, reason))| reason.is_none())
        .map(|(name, _)| name)
        .collect();
    assert_eq!(chosen, ["mix #1"]);
}

#[test]
fn a_library_without_doc_tests_by_its_manifest_has_none() {
    let project = Project::library(&documented(500), &documented(500));
    let manifest = "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[lib]\ndoctest = false\n";
    project.write("Cargo.toml", manifest);
    project.write("src/lib.rs", documented(1500));
    project.commit("changed");
    let run = project.perfunit(["list", "HEAD~1", "--doc"]).expect(0);
    assert!(run.stderr.contains("the chosen packages have no test targets"), "{}", run.stderr);
}

/// Returns a generic function that only its doc test calls.
fn generic(rounds: u32) -> String {
    format!(
        "/// ```\n/// assert_eq!(sample::twice(2u32), 4);\n/// ```\n\
         pub fn twice<T: Copy + std::ops::Add<Output = T>>(value: T) -> T {{\n    \
         for round in 0..{rounds}u32 {{ std::hint::black_box(round); }}\n    value + value\n}}\n\
         #[test]\nfn is_elsewhere() {{ assert_ne!(std::hint::black_box(1), 2); }}\n"
    )
}

#[test]
fn functions_that_a_doc_test_may_execute_are_not_uncovered() {
    let project = Project::library(&generic(10), &generic(500));
    let uncovered = |more: &[&str]| {
        let arguments = ["list", "HEAD~1", "--message-format", "json"].iter().chain(more);
        project.perfunit(arguments).expect(0).json()["selection"]["uncovered"].as_array().unwrap().len()
    };
    assert_eq!((uncovered(&[]), uncovered(&["--doc"])), (1, 0));
}
