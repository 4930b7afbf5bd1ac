//! `cargo perfunit demo`.

use crate::support::{Project, Run};

#[test]
fn the_demonstration_ends_in_a_right_verdict() {
    let project = Project::empty();
    let mut command = Project::tool(project.path());
    command.args(["demo", "wordcount"]).env("LC_ALL", "C.UTF-8");
    let run = Run::of(command).expect(0);
    let folder = "wordcount";
    let saved = project.perfunit_in(folder, ["report", "--format", "json"]).expect(0);
    assert!(run.stdout.contains("tests::counts_every_word"), "{}", run.stdout);
    // The output looks as in a project.
    assert!(run.stdout.contains("HEAD~1 (") && run.stdout.contains(" → HEAD"), "{}", run.stdout);
    for test in saved.json()["tests"].as_array().unwrap() {
        let verdict = test["verdict"].as_str().unwrap();
        let right: &[&str] = match test["name"].as_str().unwrap() {
            "tests::counts_every_word" => &["slower"],
            _ => &["same", "changed-below-threshold"],
        };
        assert!(right.contains(&verdict), "{test}");
    }
}

#[test]
fn a_folder_in_use_is_left_alone() {
    let project = Project::empty();
    project.write("mine/file", "mine");
    let run = project.perfunit(["demo", "mine"]).expect(2);
    assert!(run.stderr.contains("hint:"), "{}", run.stderr);
}
