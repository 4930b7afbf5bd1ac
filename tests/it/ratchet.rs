//! `diff --ratchet` and `cargo perfunit ratchet`: small losses that add up.

use crate::source;
use crate::support::{Project, Run};
use serde_json::Value;

const FILE: &str = ".config/perfunit-ratchet.toml";
const QUICK: [&str; 4] = ["--explain", "never", "--instructions", "never"];
const JSON: [&str; 2] = ["--message-format", "json"];

/// Creates five commits that each add 0.5 % of the first one's work: half of the threshold.
fn five_losses() -> Project {
    let project = Project::library(&source(4000), &source(4020));
    for rounds in [4040, 4060, 4080, 4100] {
        add(&project, rounds);
    }
    project
}

fn add(project: &Project, rounds: u32) {
    project.write("src/lib.rs", source(rounds));
    project.commit(&format!("{rounds} rounds"));
}

fn diff(project: &Project, arguments: &[&str]) -> Run {
    project.perfunit(["diff"].iter().chain(arguments).chain(&QUICK))
}

fn verdict(document: &Value) -> &str {
    let tests = document["tests"].as_array().unwrap();
    tests.iter().find(|test| test["name"] == "tests::mixes").and_then(|test| test["verdict"].as_str()).unwrap()
}

fn names(tests: &Value) -> Vec<&str> {
    tests.as_array().unwrap().iter().map(|test| test["name"].as_str().unwrap()).collect()
}

#[test]
fn losses_that_no_commit_shows_are_found_and_can_be_accepted() {
    let project = five_losses();
    for commit in 0..5 {
        let range = format!("HEAD~{}..HEAD~{commit}", commit + 1);
        let alone = diff(&project, &[&[range.as_str()], &JSON[..]].concat()).expect(0).json();
        assert_ne!(verdict(&alone), "slower", "{range}");
        assert_eq!(alone["ratchet"], Value::Null);
    }
    let found = diff(&project, &[&["HEAD~1", "--ratchet", "HEAD~5"], &JSON[..]].concat()).expect(100).json();
    assert_ne!(verdict(&found), "slower");
    let ratchet = &found["ratchet"];
    assert_eq!(
        (names(&ratchet["cumulative_losses"]), verdict(&ratchet["comparison"])),
        (vec!["tests::mixes"], "slower")
    );
    assert_eq!(ratchet["comparison"]["base"], ratchet["version"]);
    assert_eq!(ratchet["comparison"]["head"], found["head"]);

    let before = project.status();
    assert!(before.is_empty(), "{before:?}");
    project.perfunit(["ratchet", "set", "HEAD~5"]).expect(0);
    assert_eq!(project.status(), [".config/"]);
    project.commit("ratchet");
    // Head is another commit with the same code, so both sides of both comparisons are kept.
    let again = diff(&project, &["HEAD~2"]).expect(100);
    assert!(!again.stderr.contains("Compiling"), "{}", again.stderr);
    let line = again.stdout.lines().rev().find(|line| line.trim_start().starts_with("Ratchet")).unwrap();
    assert!(line.contains("1 test slower than") && line.contains("although not slower than HEAD~2"), "{line}");

    project.perfunit(["ratchet", "accept", "mixes", "--reason", "checks for overflow"]).expect(0);
    let accepted = diff(&project, &["HEAD~2"]).expect(0);
    let line = accepted.stdout.lines().find(|line| line.trim_start().starts_with("Accepted")).unwrap();
    assert!(line.contains("sample tests::mixes") && line.ends_with(": checks for overflow"), "{line}");
    project.commit("accepted");

    for rounds in [4224, 4288] {
        add(&project, rounds);
    }
    let further = diff(&project, &[&["HEAD~1"], &JSON[..]].concat()).expect(100).json();
    let ratchet = &further["ratchet"];
    assert_eq!(verdict(&ratchet["comparison"]), "slower");
    assert_eq!(ratchet["accepted"][0]["reason"], "checks for overflow");
    let none = diff(&project, &["HEAD~2..HEAD~3", "--ratchet", "none"]).expect(0);
    assert!(!none.stdout.contains("Ratchet"), "{}", none.stdout);
}

#[test]
fn shards_compare_with_the_ratchet_and_its_losses_can_be_explained() {
    let project = five_losses();
    let shards = ["1", "2"].map(|shard| {
        let (partition, folder) = (format!("slice:{shard}/2"), project.path().join("target").join(shard));
        let folder = folder.to_str().unwrap().to_owned();
        let arguments = ["HEAD~1", "--ratchet", "HEAD~5", "--partition", &partition, "--output", &folder];
        let code = if shard == "1" { 100 } else { 0 };
        diff(&project, &arguments).expect(code);
        folder
    });
    let merged = project.perfunit(["merge", &shards[0], &shards[1], "--message-format", "json"]).expect(100).json();
    assert_eq!(names(&merged["ratchet"]["cumulative_losses"]), ["tests::mixes"]);
    let explain = ["explain", "--ratchet", "--engine", "probes", "--message-format", "json"];
    let explained = project.perfunit(explain).expect(0).json();
    assert_eq!(names(&explained["tests"]), ["tests::mixes"]);
    let found = &explained["tests"][0]["explanation"];
    let function = found["responsible"][0]["function"].as_u64().map_or(usize::MAX, |index| index as usize);
    assert_eq!(found["functions"][function]["name"], "slow", "{explained}");
    // The explanation is saved with its comparison.
    let kept = project.perfunit(["report", "--format", "json"]).expect(0).json();
    let kept = kept["ratchet"]["comparison"]["tests"].as_array().unwrap().iter();
    assert!(kept.filter(|test| test["name"] == "tests::mixes").all(|test| !test["explanation"].is_null()));
}

#[test]
fn a_ratchet_that_cannot_be_compared_fails() {
    let project = Project::library(&format!("mod missing;\n{}", source(500)), &source(500)).with_natural_layout();
    add(&project, 1500);
    add(&project, 500);
    // Results against base are reported anyway.
    let run = diff(&project, &["HEAD~1", "--ratchet", "HEAD~3"]).expect(101);
    assert!(
        run.stdout.contains("Faster") && run.stdout.contains("not compared with HEAD~3: it does not build"),
        "{}",
        run.stdout
    );
    let slower = diff(&project, &[&["HEAD~2..HEAD~1", "--ratchet", "HEAD~3"], &JSON[..]].concat()).expect(100).json();
    assert_eq!(slower["ratchet"]["not_compared"]["kind"], "does-not-build");
    let same = diff(&project, &[&["HEAD~1", "--ratchet", "HEAD~1"], &JSON[..]].concat()).expect(0).json();
    assert_eq!(same["ratchet"]["not_compared"]["kind"], "is-base");
    // The project pins a commit that this clone does not have.
    project.write(FILE, format!("format = 1\nrevision = \"v1\"\ncommit = \"{}\"\n", "1b".repeat(20)));
    let missing = diff(&project, &["HEAD"]).expect(102);
    assert!(missing.stdout.contains("Unchanged  no test in 1 target can have changed"), "{}", missing.stdout);
    assert!(missing.stdout.contains("not compared with v1: unknown revision `1b1b"), "{}", missing.stdout);
    assert!(missing.stdout.contains(&format!("from {FILE}:4")), "{}", missing.stdout);
}

#[test]
fn what_is_wrong_is_refused_before_anything_is_built() {
    let project = Project::library(&source(500), &source(1500));
    let check = |arguments: &[&str], code: i32, part: &str| {
        let run = project.perfunit(arguments).expect(code);
        assert!(run.stderr.contains(part) && run.stderr.contains("hint: "), "{arguments:?}: {}", run.stderr);
        assert!(!run.stderr.contains("Compiling"), "{}", run.stderr);
    };
    check(
        &["diff", "HEAD~1", "--ratchet", "v9"],
        102,
        "unknown revision `v9` (the version of the ratchet, from --ratchet)",
    );
    check(&["ratchet", "set", "v9"], 102, "unknown revision `v9`");
    check(&["ratchet", "accept", "mixes", "--reason", "why"], 2, "no .config/perfunit-ratchet.toml");
    assert!(project.perfunit(["ratchet", "show"]).expect(0).stdout.contains("no baseline is set"));
    project.perfunit(["ratchet", "set", "HEAD~1"]).expect(0);
    check(&["ratchet", "accept", "mixes", "--reason", " "], 2, "the reason is empty");
    check(&["ratchet", "accept", "mixes", "--reason", "why"], 2, "no saved runs");
    let shown = project.perfunit(["show-config"]).expect(0).stdout;
    assert!(shown.lines().any(|line| line.contains("ratchet") && line.contains(&format!("{FILE}:4"))), "{shown}");
    project.write(FILE, "format = 1\nrevision = \"v1\"\ncommit = 5\n");
    check(&["diff", "HEAD~1"], 2, ".config/perfunit-ratchet.toml:3:10");
    check(&["ratchet", "show"], 2, ".config/perfunit-ratchet.toml:3:10");
    project.write(FILE, "format = 9\n");
    check(&["diff", "HEAD~1"], 2, "has format 9");
    check(&["show-config"], 2, "has format 9");
    project.perfunit(["list", "HEAD~1"]).expect(0);
    project.perfunit(["diff", "HEAD", "--ratchet", "none"]).expect(0);
    let pinned = project.perfunit(["ratchet", "set", "HEAD~1"]).expect(0).stderr;
    assert!(pinned.contains("Pinned") && !pinned.contains("losses"), "{pinned}");
    assert!(project.perfunit(["ratchet", "show"]).expect(0).stdout.contains("without accepted losses"));
}
