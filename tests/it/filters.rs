//! Selection of tests: filtersets, names, packages and targets, as in nextest and cargo.

use crate::support::{Project, Run};
use std::collections::BTreeSet;

/// Returns two packages, of which `app` depends on `parser`, with this many rounds in a function that all tests reach.
pub fn workspace(rounds: u32) -> Vec<(&'static str, String)> {
    let manifest = |name: &str, more: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n{more}")
    };
    let parser = r"
#[inline(never)]
pub fn parse(seed: u64) -> u64 {
    (0..ROUNDS).fold(seed | 1, |state, round| (state ^ state << 13 ^ state >> 7).wrapping_add(round))
}
#[cfg(test)]
mod tests {
    #[test] fn short() { assert_ne!(super::parse(1), super::parse(2)); }
    #[test] fn long() { assert_ne!(super::parse(3), super::parse(4)); }
    #[test] #[ignore] fn huge() { assert_ne!(super::parse(5), super::parse(6)); }
}
"
    .replace("ROUNDS", &rounds.to_string());
    let app = "pub fn run(seed: u64) -> u64 { parser::parse(seed) }\n\
        #[cfg(test)] mod tests { #[test] fn runs() { assert_ne!(super::run(1), super::run(2)); } }\n";
    let whole = "#[test] fn files() { assert_ne!(parser::parse(7), parser::parse(8)); }\n";
    vec![
        ("Cargo.toml", "[workspace]\nmembers = [\"app\", \"parser\"]\nresolver = \"2\"\n".to_owned()),
        ("parser/Cargo.toml", manifest("parser", "")),
        ("parser/src/lib.rs", parser),
        ("parser/tests/whole.rs", whole.to_owned()),
        ("app/Cargo.toml", manifest("app", "[dependencies]\nparser = { path = \"../parser\" }\n")),
        ("app/src/lib.rs", app.to_owned()),
    ]
}

/// Creates the workspace with both versions committed.
pub fn project() -> Project {
    let project = Project::empty();
    for rounds in [500, 1500] {
        for (path, text) in workspace(rounds) {
            project.write(path, text);
        }
        project.commit("version");
    }
    project
}

/// Returns the names of the tests that `list` would measure.
#[track_caller]
pub fn selected(run: Run) -> BTreeSet<String> {
    let document = run.expect(0).json();
    let tests = document["tests"].as_array().unwrap().iter().filter(|test| test["selected"] == true);
    tests.map(|test| test["name"].as_str().unwrap().to_owned()).collect()
}

fn list(project: &Project, arguments: &[&str]) -> Run {
    project.perfunit(["list", "HEAD~1", "--message-format", "json"].iter().chain(arguments))
}

#[track_caller]
fn check(project: &Project, arguments: &[&str], expected: &[&str]) {
    let run = list(project, arguments);
    let stderr = run.stderr.clone();
    assert_eq!(selected(run), expected.iter().map(|name| (*name).to_owned()).collect(), "{arguments:?}\n{stderr}");
}

#[test]
fn filtersets_names_and_targets_choose_tests() {
    let project = project();
    let all = ["files", "tests::long", "tests::runs", "tests::short"];
    check(&project, &[], &all);
    check(&project, &["-E", "package(parser)"], &["files", "tests::long", "tests::short"]);
    check(&project, &["-E", "test(/^tests::(long|runs)$/)"], &["tests::long", "tests::runs"]);
    check(&project, &["-E", "test(=files)", "-E", "package(app)"], &["files", "tests::runs"]);
    check(&project, &["-E", "binary_id(parser)", "short"], &["tests::short"]);
    check(&project, &["-E", "kind(test)", "--skip", "nothing"], &["files"]);
    check(&project, &["-E", "deps(app) - rdeps(app)"], &["files", "tests::long", "tests::short"]);
    check(&project, &["tests::long", "--exact"], &["tests::long"]);
    check(&project, &["--run-ignored", "only"], &["tests::huge"]);
    check(&project, &["--run-ignored", "all", "-p", "pars*", "--lib"], &["tests::huge", "tests::long", "tests::short"]);
    check(&project, &["-p", "app@0.1.0"], &["tests::runs"]);
    check(&project, &["--workspace", "--exclude", "a*", "--test", "who*"], &["files"]);
    check(&project, &["--tests"], &all);
    check(&project, &["--lib", "--all-targets"], &all);
    // `deps(..)` asks cargo for all metadata, which writes a lock file, but not in the project.
    assert_eq!(project.status(), [""; 0]);
    assert!(!project.path().join("Cargo.lock").exists());
}

#[test]
fn an_expression_that_is_wrong_is_shown_with_its_place() {
    let project = project();
    for (expression, words) in [
        ("package(parsr)", ["column 9", "any packages", "did you mean parser?"]),
        ("tset(long)", ["column 1", "tset(long)", "did you mean test?"]),
        ("test(a) && test(b)", ["column 9", "^^", "write `&` or `and`"]),
        ("group(x)", ["column 7", "not supported here", "nextest's configuration"]),
    ] {
        let run = project.perfunit(["diff", "HEAD~1", "-E", expression]).expect(2);
        for word in ["error: --filterset", "hint: "].iter().chain(&words) {
            assert!(run.stderr.contains(word), "without `{word}`:\n{}", run.stderr);
        }
    }
}

#[test]
fn a_filter_that_matches_no_test_is_reported() {
    let project = project();
    let run = list(&project, &["-p", "parser", "lonng"]).expect(0);
    assert!(run.stderr.contains("warning: no tests in the targets that the change can reach match `lonng`"));
    assert!(run.stderr.contains("did you mean tests::long?"), "{}", run.stderr);
    let run = list(&project, &["--workspace", "-E", "test(nosuch)"]).expect(0);
    assert!(run.stderr.contains("--filterset `test(nosuch)` matches none of the 5 tests"), "{}", run.stderr);
    let run = list(&project, &["-E", "none()"]).expect(0);
    assert!(run.stderr.contains("the filters exclude all test targets"), "{}", run.stderr);
}
