//! `cargo perfunit list`.

use crate::source;
use crate::support::Project;

#[test]
fn lists_what_would_be_measured_and_why() {
    let project = Project::library(&source(500), &source(1500));
    let run = project.perfunit(["list", "HEAD~1"]).expect(0);
    assert!(run.stdout.contains("tests::mixes") && run.stdout.contains("slow"), "{}", run.stdout);
}

#[test]
fn all_shows_how_each_test_was_captured() {
    let project = Project::library(&source(500), &source(1500));
    let run = project.perfunit(["list", "HEAD~1", "--all"]).expect(0);
    for name in ["tests::mixes", "tests::is_ignored"] {
        let line = run.stdout.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{}", run.stdout));
        assert!(line.contains("macro") || line.contains("runner"), "{line}");
    }
}

#[test]
fn the_document_names_tests_and_reasons() {
    let project = Project::library(&source(500), &source(1500));
    let document = project.perfunit(["list", "HEAD~1", "--message-format", "json"]).expect(0).json();
    let tests = document["tests"].as_array().unwrap();
    let test = |name: &str| tests.iter().find(|test| test["name"] == name).unwrap();
    assert_eq!(test("tests::mixes")["selected"], true);
    assert!(test("tests::mixes")["selected_because"].is_string());
    assert_eq!(test("tests::is_ignored")["reason"]["kind"], "ignored");
}

#[test]
fn a_comment_selects_nothing_and_says_why() {
    let project = Project::library(&source(500), &format!("// A comment.\n{}", source(500)));
    let run = project.perfunit(["list", "HEAD~1"]).expect(0);
    assert!(run.stdout.contains("can have changed") && run.stdout.contains("comments"), "{}", run.stdout);
}
