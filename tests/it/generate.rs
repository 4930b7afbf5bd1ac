//! `cargo perfunit generate`, and its workloads in `diff --generated`.

use crate::support::{Project, Run};
use std::collections::BTreeSet;
use std::process::Command;

const BASE: &str = "\
pub fn checksum(values: &[u64]) -> u64 {
    values.iter().fold(7, |sum: u64, value| sum.rotate_left(5) ^ value)
}

fn hidden(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'!').count()
}

pub fn shown(text: &str) -> usize {
    hidden(text)
}

pub fn input(lent: &str) -> usize {
    hidden(lent)
}
";

/// Creates a project with a head that goes over the values twice.
fn project() -> Project {
    let twice = "values.iter().chain(values.iter().rev()).fold(7,";
    Project::library(BASE, &BASE.replace("values.iter().fold(7,", twice)).with_natural_layout()
}

fn run(project: &Project, arguments: &[&str]) -> Run {
    project.perfunit(arguments)
}

#[test]
fn calls_are_shown_and_found_again_without_a_build() {
    let project = project();
    let first = run(&project, &["generate", "HEAD~1"]);
    assert_eq!(first.code, 0, "{first:?}");
    assert!(first.stdout.contains("checksum") && first.stdout.contains("for 1 of 1 function"), "{}", first.stdout);
    assert!(first.stderr.contains("Building"), "{}", first.stderr);
    let again = run(&project, &["generate", "HEAD~1"]);
    assert_eq!(again.stdout, first.stdout);
    assert!(!again.stderr.contains("Trying"), "{}", again.stderr);
    assert!(project.status().is_empty());
}

#[test]
fn functions_have_calls_without_a_change() {
    let found = run(&project(), &["generate", "HEAD", "--all", "--message-format", "json"]);
    assert_eq!(found.code, 0, "{found:?}");
    let document: serde_json::Value = serde_json::from_str(&found.stdout).unwrap();
    assert!(document["calls"].to_string().contains("checksum"), "{document}");
    assert_eq!(document["without"].as_array().unwrap().len(), 0, "{document}");
}

/// A `const fn` cannot count its calls, so nothing shows whether a caller reaches it.
#[test]
fn a_constant_function_has_no_calls_by_its_callers() {
    let code = "pub fn ends(values: &[u64]) -> usize { end(values.as_ptr(), values.len()) }
const fn end(_: *const u64, length: usize) -> usize { length / 2 }
";
    let project = Project::library(code, &format!("{code}// The end.\n"));
    let found = run(&project, &["generate", "HEAD", "--all", "--message-format", "json"]).json();
    let without = &found["without"];
    assert_eq!(
        (&without[0]["function"]["name"], &without[0]["because"]["kind"]),
        (&"end".into(), &"not-executed".into()),
        "{found}"
    );
    assert_eq!((without.as_array().unwrap().len(), found["calls"].to_string().contains("ends")), (1, true), "{found}");
}

#[test]
fn functions_of_a_library_without_unit_tests_are_named() {
    let project = project();
    let manifest = std::fs::read_to_string(project.path().join("Cargo.toml")).unwrap();
    project.write("Cargo.toml", manifest + "[lib]\ntest = false\n");
    project.write("tests/other.rs", "#[test]\nfn other() {}\n");
    project.commit("no unit tests");
    let found = run(&project, &["generate", "HEAD", "--all", "--message-format", "json"]).json();
    let without = found["without"].as_array().unwrap();
    assert_eq!((without.len(), &without[0]["because"]["kind"]), (4, &"no-target".into()), "{found}");
}

#[test]
fn a_generated_call_fails_the_run_only_on_request() {
    let project = project();
    let code = |more: &[&str]| {
        let arguments = ["diff", "HEAD~1", "--generated", "--explain", "never", "--per-test-budget", "3s"];
        run(&project, &[&arguments, more].concat()).code
    };
    assert_eq!(code(&[]), 0);
    assert_eq!(code(&["--deny", "generated"]), 100);
}

#[test]
fn a_gate_that_could_not_be_checked_does_not_pass() {
    let base = "pub unsafe fn peek(at: *const u8) -> u8 { unsafe { *at } }\n";
    let project = Project::library(base, &base.replace("*at }", "at.read() }"));
    let arguments = ["diff", "HEAD~1", "--generated", "--explain", "never"];
    assert_eq!(run(&project, &arguments).code, 0);
    let denied = run(&project, &[&arguments[..], &["--deny", "generated"]].concat());
    assert_eq!(denied.code, 105, "{denied:?}");
    assert!(denied.stdout.contains("Undecided  no call of peek: unsafe"), "{}", denied.stdout);
    let not_asked = run(&project, &["diff", "HEAD~1", "--deny", "generated"]);
    assert_eq!(not_asked.code, 2, "{not_asked:?}");
    assert!(not_asked.stderr.contains("hint: add `--generated`"), "{}", not_asked.stderr);
}

#[test]
fn a_filter_that_matches_neither_test_nor_call_is_reported() {
    let tested = |code: &str| format!("{code}\n#[test]\nfn shows() {{ assert_eq!(shown(\"!\"), 1); }}\n");
    let project = Project::library(&tested(BASE), &tested(&BASE.replace("fold(7,", "rev().fold(7,")));
    let warns = |name: &str| run(&project, &["list", "HEAD~1", "--generated", name]).stderr.contains(name);
    assert!(warns("no_such_test") && !warns("checksum_1_0") && !warns("shows"));
}

#[test]
fn calls_are_listed_filtered_and_explained() {
    let project = project();
    let listed = run(&project, &["list", "HEAD~1", "--generated", "-E", "kind(generated)"]);
    assert_eq!(listed.code, 0, "{listed:?}");
    assert!(listed.stdout.contains("perfunit_generated::checksum_1_0_n4096"), "{}", listed.stdout);
    let verdicts = |expression: &str| {
        let arguments = ["diff", "HEAD~1", "--generated", "--explain", "never", "--per-test-budget", "3s"];
        let compared = run(&project, &[&arguments[..], &["--message-format", "json", "-E", expression]].concat());
        assert_eq!(compared.code, 0, "{compared:?}");
        let document: serde_json::Value = serde_json::from_str(&compared.stdout).unwrap();
        assert!(!document["warnings"].to_string().contains(expression), "{document}");
        let tests = document["generated"]["comparison"]["tests"].as_array().cloned().unwrap_or_default();
        tests.into_iter().map(|test| (test["verdict"].clone(), test["reason"]["kind"].clone())).collect::<Vec<_>>()
    };
    assert!(verdicts("test(hidden)").iter().all(|(_, reason)| reason == "filtered"));
    assert!(verdicts("kind(generated)").iter().any(|(verdict, _)| verdict == "slower"));
    let explained = run(&project, &["explain"]);
    assert_eq!(explained.code, 0, "{explained:?}");
    assert!(explained.stdout.contains("Slower  sample perfunit_generated::checksum_1_"), "{}", explained.stdout);
    assert!(explained.stdout.contains("checksum (src/lib.rs:1)"), "{}", explained.stdout);
    let again = run(&project, &["explain", "checksum_1_0_n4096", "--exact"]);
    assert_eq!(again.code, 2, "{again:?}");
    assert!(project.status().is_empty());
}

#[test]
fn a_function_may_have_the_name_of_a_variable_in_its_calls() {
    let found = run(&project(), &["generate", "HEAD~1", "input", "--message-format", "json"]);
    assert_eq!(found.code, 0, "{found:?}");
    let document: serde_json::Value = serde_json::from_str(&found.stdout).unwrap();
    assert!(!document["calls"].as_array().unwrap().is_empty(), "{document}");
}

#[test]
fn functions_are_named_by_the_end_of_their_path() {
    let project = project();
    let found = run(&project, &["generate", "HEAD~1", "hidden", "--message-format", "json"]);
    assert_eq!(found.code, 0, "{found:?}");
    let document: serde_json::Value = serde_json::from_str(&found.stdout).unwrap();
    let calls = document["calls"].as_array().unwrap();
    assert!(!calls.is_empty() && calls.iter().all(|call| call["function"]["name"] == "hidden"), "{document}");
}

#[test]
fn functions_behind_enabled_features_have_calls() {
    let project = Project::empty();
    // The tests of the package enable `wide`.
    let manifest = "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n\
        [features]\ndefault = [\"plain\"]\nplain = [\"implied\"]\nimplied = []\nwide = []\nnarrow = []\n\n\
        [dev-dependencies]\ndemo = { path = \".\", default-features = false, features = [\"wide\"] }\n";
    project.write("Cargo.toml", manifest);
    let function = |feature: &str| {
        let code = "values.iter().fold(7, |sum, x| sum ^ x)";
        format!("#[cfg(feature = \"{feature}\")]\npub fn {feature}(values: &[u64]) -> u64 {{ {code} }}\n")
    };
    project.write("src/lib.rs", ["plain", "implied", "wide", "narrow"].map(function).concat());
    project.commit("base");
    let called = |more: &[&str]| {
        let arguments = ["generate", "HEAD", "--all", "--message-format", "json"];
        let document = run(&project, &[&arguments, more].concat()).json();
        let calls = document["calls"].as_array().unwrap().iter();
        calls.map(|call| call["function"]["name"].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>()
    };
    let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(called(&[]), named(&["plain", "implied", "wide"]));
    assert_eq!(called(&["--no-default-features", "--features", "demo/narrow"]), named(&["narrow", "wide"]));
    assert_eq!(called(&["--all-features"]), named(&["plain", "implied", "wide", "narrow"]));
}

#[test]
fn features_of_calls_are_those_of_the_tests() {
    let project = Project::empty();
    let manifest = |name: &str, more: &str| {
        let package = format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
        project.write(format!("{name}/Cargo.toml"), package + more);
    };
    project.write("Cargo.toml", "[workspace]\nmembers = [\"sums\", \"user\"]\nresolver = \"2\"\n");
    manifest("sums", "[features]\nwide = []\n");
    manifest("user", "[dependencies]\nsums = { path = \"../sums\", features = [\"wide\"] }\n");
    let code = "pub fn wide(values: &[u64]) -> u64 { values.iter().fold(7, |sum, x| sum ^ x) }\n";
    project.write("sums/src/lib.rs", format!("#[cfg(feature = \"wide\")]\n{code}"));
    project.write("user/src/lib.rs", "pub use sums::wide;\n");
    project.commit("base");
    let calls = |more: &[&str]| {
        let arguments = ["generate", "HEAD", "--all", "--message-format", "json"];
        run(&project, &[&arguments, more].concat()).json()["calls"].as_array().unwrap().len()
    };
    assert!(calls(&[]) > 0);
    assert_eq!(calls(&["--package", "sums"]), 0);
}

#[test]
fn calls_are_handed_over_as_tests() {
    let project = project();
    let found = run(&project, &["generate", "HEAD~1", "shown", "--write", "generated.rs"]);
    assert_eq!(found.code, 0, "{found:?}");
    let tests = std::fs::read_to_string(project.path().join("generated.rs")).unwrap();
    assert!(tests.starts_with("// For src/lib.rs") && tests.contains("assert_eq!(std::format!("), "{tests}");
    for root in ["", "#![no_std]\n"] {
        project.write("src/lib.rs", format!("{root}{BASE}\n{tests}"));
        let passed = Command::new("cargo").args(["test", "--lib"]).current_dir(project.path()).output().unwrap();
        assert!(passed.status.success(), "{}", String::from_utf8_lossy(&passed.stdout));
    }
    assert_eq!(run(&project, &["generate", "HEAD~1", "shown", "--write", "generated.rs"]).code, 2);
}

#[test]
fn bad_input_is_refused_with_a_hint() {
    let project = project();
    let check = |arguments: &[&str], said: &[&str]| {
        let run = run(&project, arguments);
        assert_eq!(run.code, 2, "{run:?}");
        assert!(said.iter().all(|said| run.stderr.contains(said)) && run.stderr.contains("hint:"), "{}", run.stderr);
    };
    check(&["generate", "HEAD~1", "chekcsum"], &["no function `chekcsum`", "checksum"]);
    check(&["diff", "HEAD~1", "--generated", "--partition", "slice:1/2"], &["cannot be used with `--partition`"]);
    check(&["diff", "HEAD~1", "--generated", "--use-archive", "x.tar.zst"], &["cannot be used with `--use-archive`"]);
}
