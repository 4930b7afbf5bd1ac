//! `cargo perfunit bisect`.

use crate::source;
use crate::support::Project;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

const QUICK: [&str; 2] = ["--explain", "never"];

/// Returns a library of two functions with a test each, and one test of both.
fn two(first: u32, second: u32) -> String {
    let function = |name: &str, rounds: u32| {
        format!(
            "#[inline(never)]\npub fn {name}(seed: u64) -> u64 {{\n    let mut state = seed | 1;\n    for round in 0..{rounds} {{\n        \
             state = (state ^ state << 13 ^ state >> 7).wrapping_add(round);\n    }}\n    state\n}}\n"
        )
    };
    let test = |name: &str, body: &str| format!("    #[test]\n    fn {name}() {{\n        {body}\n    }}\n");
    let of = |name: &str| format!("assert_ne!(super::{name}(1), super::{name}(2));");
    let tests = test("of_first", &of("first"))
        + &test("of_second", &of("second"))
        + &test("of_both", &format!("{} {}", of("first"), of("second")));
    format!("{}{}#[cfg(test)]\nmod tests {{\n{tests}}}\n", function("first", first), function("second", second))
}

/// Creates a history in which `first` takes three times as long since commit 3 and half of that since commit 6, and
/// `second` twice as long since commit 5. Commit 4 does not build.
fn history() -> Project {
    let project = Project::library(&two(1000, 1000), &format!("// One.\n{}", two(1000, 1000))).with_natural_layout();
    for (number, first, second) in
        [(2, 1000, 1000), (3, 3000, 1000), (4, 3000, 1000), (5, 3000, 2000), (6, 1500, 2000), (7, 1500, 2000)]
    {
        let missing = if number == 4 { "mod missing;\n" } else { "" };
        let unused = format!("pub fn unused_{number}() {{}}\n");
        project.write("src/lib.rs", format!("{missing}{unused}{}", two(first, second)));
        project.commit(&format!("Commit {number}"));
    }
    project
}

fn search(project: &Project, arguments: &[&str]) -> Value {
    let all = ["bisect"].iter().chain(arguments).chain(&["--message-format", "json"]);
    project.perfunit(all).expect(0).json()
}

/// Returns the subjects of each step's candidate commits.
fn steps(document: &Value) -> Vec<Vec<String>> {
    let subjects = |step: &Value| {
        let candidates = step["candidates"].as_array().unwrap().iter();
        candidates.map(|commit| commit["subject"].as_str().unwrap().to_owned()).collect()
    };
    document["steps"].as_array().unwrap().iter().map(subjects).collect()
}

#[test]
fn the_commit_is_named_with_its_function_and_its_difference() {
    let project = history();
    let before = project.status();
    let document = search(&project, &["of_first", "--good", "HEAD~7", "--bad", "HEAD~2"]);
    assert_eq!(steps(&document), [["Commit 3"]]);
    let step = &document["steps"][0];
    assert!(step["tests"][0]["change"]["low"].as_f64().unwrap() > 0.5, "{step}");
    let explanation = &step["tests"][0]["explanation"];
    let first = explanation["responsible"][0]["function"].as_u64().unwrap() as usize;
    assert_eq!(explanation["functions"][first]["name"], "first", "{explanation}");
    let diff: Vec<&str> =
        step["source"]["diff"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    assert!(diff.contains(&"-    for round in 0..1000 {") && diff.contains(&"+    for round in 0..3000 {"), "{diff:?}");
    assert_eq!((&step["source"]["file"], document["further"]["faster"].as_bool()), (&"src/lib.rs".into(), Some(false)));

    // The run is saved, and its text can be pasted.
    let report = project.perfunit(["report"]).expect(0).stdout;
    assert!(report.contains("of_first") && report.contains("responsible: first"), "{report}");
    let markdown = ["bisect", "of_first", "--good", "HEAD~7", "--bad", "HEAD~2", "--message-format", "markdown"];
    let text = project.perfunit(markdown.iter().chain(&QUICK)).expect(0).stdout;
    assert!(text.starts_with("### `sample tests::of_first` got slower in `"), "{text}");
    assert!(text.contains("Commit 3") && text.contains("tests::of_first\n```"), "{text}");
    assert_eq!(project.status(), before);
}

#[test]
fn a_search_builds_few_commits() {
    let project = history();
    let arguments = ["bisect", "sample tests::of_second", "--good", "HEAD~7", "--message-format", "json"];
    let run = project.perfunit(arguments.iter().chain(&QUICK)).expect(0);
    let document = run.json();
    assert_eq!(steps(&document), [["Commit 4", "Commit 5"]]);
    assert_eq!(document["skipped"][0]["subject"], "Commit 4");
    let built = run.stderr.lines().filter(|line| line.trim_start().starts_with("Building"));
    let commits: BTreeSet<&str> = built.filter_map(|line| line.split(['(', ')']).nth(1)).collect();
    // ceil(log2 7) + 2, including the commit that does not build.
    assert!((2..=5).contains(&commits.len()), "{}", run.stderr);
}

#[test]
fn all_steps_are_found_slower_and_faster() {
    let project = history();
    let document = search(&project, &[&["of_first", "--good", "HEAD~7", "--all"][..], &QUICK].concat());
    assert_eq!(steps(&document), [["Commit 3"], ["Commit 6"]]);
    let estimate = |step: usize| document["steps"][step]["tests"][0]["change"]["estimate"].as_f64().unwrap();
    assert!(estimate(0) > 0.5 && estimate(1) < -0.2, "{document}");
    assert!(document["rest"]["low"].as_f64().unwrap() <= 0.0 && document["rest"]["high"].as_f64().unwrap() >= 0.0);
    let one = search(&project, &[&["of_first", "--good", "HEAD~7"][..], &QUICK].concat());
    assert_eq!((steps(&one).len(), &one["further"]["faster"]), (1, &Value::Bool(true)), "{one}");

    let faster = search(&project, &[&["of_first", "--old", "HEAD~2", "--faster"][..], &QUICK].concat());
    assert_eq!((steps(&faster), &faster["direction"]), (vec![vec!["Commit 6".to_owned()]], &"faster".into()));
}

#[test]
fn the_tests_of_a_function_are_searched_together() {
    let project = history();
    let document = search(&project, &["--function", "second", "--good", "HEAD~4", "--bad", "HEAD~2"]);
    let name = |test: &Value| test["name"].as_str().unwrap().to_owned();
    assert_eq!((name(&document), &document["function"]), ("tests::of_second".to_owned(), &"second".into()));
    let others: Vec<String> = document["others"].as_array().unwrap().iter().map(name).collect();
    assert_eq!(others, ["tests::of_both"]);
    assert_eq!(steps(&document), [["Commit 4", "Commit 5"]]);
    let tests: Vec<String> = document["steps"][0]["tests"].as_array().unwrap().iter().map(name).collect();
    assert_eq!(tests, ["tests::of_second", "tests::of_both"]);

    let range = ["--good", "HEAD~7", "--bad", "HEAD~2"];
    let run = project.perfunit(["bisect", "-f", "third"].iter().chain(&range).chain(&QUICK)).expect(2);
    assert!(run.stderr.contains("is known to execute a function `third`"), "{}", run.stderr);
}

#[test]
fn commits_without_the_test_are_skipped() {
    let project = history();
    for (number, second) in [(8, 2000), (9, 6000), (10, 6000)] {
        let renamed = two(1500, second).replace("fn of_second", "fn of_other");
        project.write("src/lib.rs", format!("pub fn unused_{number}() {{}}\n{renamed}"));
        project.commit(&format!("Commit {number}"));
    }
    let gone = search(&project, &[&["tests::of_second", "--good", "HEAD~3"][..], &QUICK].concat());
    assert_eq!(steps(&gone), [["Commit 8", "Commit 9", "Commit 10"]], "{gone}");
    let skipped = gone["skipped"].as_array().unwrap();
    assert_eq!(skipped.len(), 2, "{gone}");
    for commit in skipped {
        assert!(commit.to_string().contains("does not have the test by this name"), "{gone}");
    }
    let new = search(&project, &[&["tests::of_other", "--good", "HEAD~4"][..], &QUICK].concat());
    assert_eq!(steps(&new), [["Commit 9"]], "{new}");
}

#[test]
fn what_cannot_be_searched_is_refused() {
    let project = history();
    let refused = |arguments: &[&str], code: i32, part: &str| {
        let run = project.perfunit(["bisect"].iter().chain(arguments).chain(&QUICK)).expect(code);
        assert!(run.stderr.contains(part), "{arguments:?}: {}", run.stderr);
    };
    refused(&["of_first", "--good", "HEAD~2"], 2, "is faster at the bad end");
    refused(&["of_first", "--good", "HEAD~2"], 2, "hint: use `--faster` to search the commit that made it faster");
    refused(&["of_first", "--good", "HEAD~7", "--bad", "HEAD~4", "--faster"], 2, "remove `--faster`");
    refused(&["of_second", "--good", "HEAD~7", "--bad", "HEAD~4"], 2, "matches `of_second`");
    refused(&["tests", "--good", "HEAD~7"], 2, "tests that got slower match `tests`");
    refused(&["of_first", "--good", "HEAD~3"], 102, "the good end");
    refused(&["of_first", "--good", "HEAD", "--bad", "HEAD~2"], 2, "is not an ancestor of");
    refused(&["of_first", "--function", "first"], 2, "--function");
    refused(&["of_first", "--bad", "HEAD"], 2, "--bad needs --good");
    refused(&["of_first", "more"], 2, "unexpected argument `more`");
    refused(&[], 2, "<TEST>");

    // The good end lacks this test.
    project.write("src/lib.rs", two(1500, 2000).replace("first", "newest"));
    project.commit("Renamed");
    refused(&["of_newest", "--good", "HEAD~1"], 2, "exists only at the bad end");
    refused(&["of_first", "--good", "HEAD~1"], 2, "exists only at the good end");
}

#[test]
fn shallow_clones_and_unrelated_histories_are_refused() {
    let project = Project::library(&source(500), &source(1500));
    for commit in ["two", "three"] {
        project.write("other.txt", commit);
        project.commit(commit);
    }
    let repository = git2::Repository::open(project.path()).unwrap();
    let id = |name: &str| repository.revparse_single(name).unwrap().id();
    let good = id("HEAD~2").to_string();
    let unrelated = {
        let head = repository.head().unwrap().peel_to_commit().unwrap();
        let author = head.author();
        repository.commit(None, &author, &author, "unrelated", &head.tree().unwrap(), &[]).unwrap().to_string()
    };
    let run = project.perfunit(["bisect", "mixes", "--good", &unrelated]).expect(2);
    assert!(run.stderr.contains("is not an ancestor of"), "{}", run.stderr);
    fs::write(repository.path().join("shallow"), format!("{}\n", id("HEAD~1"))).unwrap();
    let run = project.perfunit(["bisect", "mixes", "--good", &good]);
    assert!(run.stderr.contains("the clone is shallow: run `git fetch --unshallow`"), "{}", run.stderr);
    let run = project.perfunit(["bisect", "mixes"]).expect(102);
    assert!(run.stderr.contains("the clone is shallow: run `git fetch --unshallow`"), "{}", run.stderr);
}
