//! `cargo perfunit generate`, and what `diff --generated` makes of it.

use crate::support::{Project, Run};
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
";

/// With a checksum that goes over the values twice.
fn project() -> Project {
    let twice = "values.iter().chain(values.iter().rev()).fold(7,";
    Project::library(BASE, &BASE.replace("values.iter().fold(7,", twice))
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
fn functions_are_named_by_the_end_of_their_path() {
    let project = project();
    let found = run(&project, &["generate", "HEAD~1", "hidden", "--message-format", "json"]);
    assert_eq!(found.code, 0, "{found:?}");
    let document: serde_json::Value = serde_json::from_str(&found.stdout).unwrap();
    let calls = document["calls"].as_array().unwrap();
    assert!(!calls.is_empty() && calls.iter().all(|call| call["function"]["name"] == "hidden"), "{document}");
}

#[test]
fn calls_are_handed_over_as_tests() {
    let project = project();
    let found = run(&project, &["generate", "HEAD~1", "shown", "--write", "generated.rs"]);
    assert_eq!(found.code, 0, "{found:?}");
    let tests = std::fs::read_to_string(project.path().join("generated.rs")).unwrap();
    assert!(tests.starts_with("// For src/lib.rs") && tests.contains("assert_eq!(format!("), "{tests}");
    project.write("src/lib.rs", format!("{BASE}\n{tests}"));
    let passed = Command::new("cargo").args(["test", "--lib"]).current_dir(project.path()).output().unwrap();
    assert!(passed.status.success(), "{}", String::from_utf8_lossy(&passed.stdout));
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
    check(&["diff", "HEAD~1", "--generated", "--partition", "slice:1/2"], &["not in shards"]);
    check(&["diff", "HEAD~1", "--generated", "--use-archive", "x.tar.zst"], &["generated calls are built"]);
}
