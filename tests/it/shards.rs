//! `--partition`, `merge`, `archive` and `--use-archive`.

use crate::support::{Project, Run};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// Returns four tests, two of which reach the change between versions; `ROUNDS` are those of the slow function.
fn four_tests(rounds: u32) -> String {
    r"
#[inline(never)]
pub fn slow(seed: u64) -> u64 {
    (0..ROUNDS).fold(seed | 1, |state, round| (state ^ state << 13 ^ state >> 7).wrapping_add(round))
}
#[inline(never)]
pub fn other(seed: u64) -> u64 {
    (0..400).fold(seed | 1, |state, round| (state ^ state << 9 ^ state >> 5).wrapping_add(round))
}
#[cfg(test)]
mod tests {
    #[test] fn apple() { assert_ne!(super::slow(1), super::slow(3)); }
    #[test] fn banana() { assert_ne!(super::slow(5), super::slow(7)); }
    #[test] fn cherry() { assert_ne!(super::other(1), super::other(3)); }
    #[test] #[ignore] fn date() {}
}
"
    .replace("ROUNDS", &rounds.to_string())
}

pub fn project() -> Project {
    Project::library(&four_tests(500), &four_tests(1500))
}

/// Measures a shard and returns the folder with its record.
fn shard(project: &Project, partition: &str, code: i32) -> (PathBuf, Value) {
    // The folder is in the project, in an ignored place, so it is not a change.
    let folder = project.path().join(partition.replace([':', '/'], "-"));
    let output = folder.to_str().unwrap().to_owned();
    let run = project.diff(&["--partition", partition, "--output", &output]).expect(code);
    (folder, run.json())
}

fn verdicts(document: &Value) -> BTreeMap<String, String> {
    let tests = document["tests"].as_array().unwrap().iter();
    tests
        .map(|test| (test["name"].as_str().unwrap().to_owned(), test["verdict"].as_str().unwrap().to_owned()))
        .collect()
}

fn merge(project: &Project, arguments: &[&str]) -> Run {
    project.perfunit(["merge"].iter().chain(arguments))
}

#[test]
fn merged_shards_equal_a_single_run() {
    let project = project().with_natural_layout();
    let whole = project.diff(&["--all-tests"]).expect(100).json();
    let two = ["slice:1/2", "slice:2/2"].map(|partition| {
        let folder = project.path().join("target").join(partition.replace([':', '/'], "-"));
        let output = folder.to_str().unwrap().to_owned();
        let run = project.diff(&["--all-tests", "--partition", partition, "--output", &output]);
        (output, run.json())
    });
    let document = merge(&project, &[&two[1].0, &two[0].0, "--message-format", "json"]).expect(100).json();
    assert_eq!(verdicts(&document), verdicts(&whole));
    assert_eq!(document["selection"], whole["selection"]);
    assert_eq!(document["sharding"]["kind"], "slice");
    assert_eq!(document["sharding"]["candidates"].as_array().unwrap().len(), 3);
    assert_eq!(two[0].1["sharding"]["parts"][0]["tests"], 2);
    let banana = two[0].1["tests"].as_array().unwrap().iter().find(|test| test["name"] == "tests::banana").unwrap();
    assert_eq!((&banana["reason"]["kind"], &banana["reason"]["shard"]), (&"other-shard".into(), &2.into()));
    // The merged run is saved like any other.
    let text = merge(&project, &[&two[0].0, &two[1].0]).expect(100).stdout;
    assert!(text.contains("Merged  2 shards by slice, 3 tests") && text.contains("2 slower"), "{text}");
    let explained = project.perfunit(["explain", "tests::apple", "--strategy", "complete"]).expect(0);
    assert!(explained.stdout.contains("slow"), "{}", explained.stdout);
}

#[test]
fn shards_of_different_runs_are_not_merged() {
    let project = project().with_natural_layout();
    let (one, document) = shard(&project, "slice:1/2", 100);
    let one = one.to_str().unwrap();
    assert_eq!(document["summary"]["verdicts"]["slower"], 1);
    let missing = merge(&project, &[one]).expect(2);
    assert!(missing.stderr.contains("shard 2 of 2 is missing"), "{}", missing.stderr);
    let copy = project.path().join("target/copy");
    fs::create_dir(&copy).unwrap();
    fs::copy(format!("{one}/run.json"), copy.join("run.json")).unwrap();
    let doubled = merge(&project, &[one, copy.to_str().unwrap()]).expect(2);
    assert!(doubled.stderr.contains("shard slice:1/2 occurs twice"), "{}", doubled.stderr);
    let text = fs::read(copy.join("run.json")).unwrap();
    fs::write(copy.join("run.json"), &text[..text.len() / 2]).unwrap();
    let damaged = merge(&project, &[one, copy.to_str().unwrap()]).expect(2);
    assert!(damaged.stderr.contains("copy/run.json is damaged"), "{}", damaged.stderr);
    project.write("src/lib.rs", four_tests(700));
    let (two, _) = shard(&project, "slice:2/2", 100);
    let foreign = merge(&project, &[one, two.to_str().unwrap()]).expect(2);
    assert!(
        foreign.stderr.contains("not of the same run") && foreign.stderr.contains("head differs"),
        "{}",
        foreign.stderr
    );
}

#[test]
fn a_listing_shows_the_tests_of_a_shard() {
    let project = project();
    let shown = |partition: &str| project.perfunit(["list", "HEAD~1", "--partition", partition]).expect(0).stdout;
    let text = shown("slice:2/2");
    assert!(text.contains("tests::banana") && !text.contains("tests::apple"), "{text}");
    assert!(text.contains("1 of 4 tests can have changed") && text.contains("1 more in other shards"), "{text}");
    let shards = [1, 2, 3].map(|number| shown(&format!("hash:{number}/3")));
    for test in ["tests::apple", "tests::banana"] {
        assert_eq!(shards.iter().filter(|text| text.contains(test)).count(), 1, "{test}");
    }
    let wrong = project.perfunit(["list", "--partition", "slice:3/2"]).expect(2);
    assert!(wrong.stderr.contains("shard 3 of 2 does not exist"), "{}", wrong.stderr);
}

#[test]
fn a_shard_without_tests_succeeds() {
    let project = project();
    let (_, document) = shard(&project, "slice:3/3", 0);
    assert_eq!(document["sharding"]["parts"][0]["tests"], 0);
    project.diff(&["--partition", "slice:3/3", "--no-tests", "fail"]).expect(0);
}

/// Archives the builds of the last two commits and removes everything that was built.
fn archived(project: &Project) -> PathBuf {
    let archive = project.path().join("all.tar.zst");
    let made = project.perfunit(["archive", "HEAD~1", "--archive-file", archive.to_str().unwrap()]).expect(0);
    assert!(made.stderr.contains("2 tests to measure"), "{}", made.stderr);
    fs::remove_dir_all(project.path().join("target/perfunit")).unwrap();
    archive
}

#[test]
fn an_archive_is_measured_without_building() {
    let project = project();
    let archive = archived(&project);
    let used = ["diff", "--use-archive", archive.to_str().unwrap(), "--message-format", "json"];
    let document = project.perfunit(used).expect(100).json();
    assert_eq!(document["base"]["label"], "HEAD~1");
    assert_eq!(document["summary"]["verdicts"]["slower"], 2);
    assert_eq!(document["environment"]["layout_controlled"], true);
    // Cargo was not even called.
    assert!(!project.path().join("target/perfunit/build").exists());
    // A shard of the archive, and other options that apply here.
    let shard =
        project.perfunit(used.iter().chain(&["--partition", "slice:2/2", "--threshold", "5%"])).expect(100).json();
    assert_eq!(shard["summary"]["verdicts"]["slower"], 1);
}

#[test]
fn an_archive_of_something_else_is_refused() {
    let project = project();
    let archive = archived(&project);
    let file = archive.to_str().unwrap();
    let refused = |arguments: &[&str], code: i32, words: &[&str]| {
        let run = project.perfunit(["diff"].iter().chain(arguments).chain(&["--use-archive", file])).expect(code);
        for word in words {
            assert!(run.stderr.contains(word), "no `{word}` in {}", run.stderr);
        }
        assert!(run.stderr.contains("hint: "), "{}", run.stderr);
    };
    refused(&["HEAD..HEAD"], 2, &["all.tar.zst is of another base: HEAD~1 (", "there, HEAD ("]);
    refused(&["--lib"], 2, &["the selection of packages and targets differs"]);
    refused(&["--all-features"], 2, &["the list of cargo options differs"]);
    refused(&["--explain", "always"], 2, &["`--explain always` cannot be used with `--use-archive`"]);
    refused(&["--growth"], 2, &["`--growth` cannot be used with `--use-archive`"]);
    refused(
        &["--target-dir", "target/elsewhere"],
        2,
        &["was created with the target folder at", "target/elsewhere/perfunit"],
    );
    project.write("src/lib.rs", four_tests(700));
    refused(&["HEAD~1"], 2, &["all.tar.zst is of another head"]);
    let bytes = fs::read(&archive).unwrap();
    fs::write(&archive, &bytes[..bytes.len() / 2]).unwrap();
    refused(&[], 2, &["all.tar.zst is damaged or truncated"]);
    fs::write(&archive, "no archive").unwrap();
    refused(&[], 2, &["all.tar.zst is not an archive of cargo-perfunit"]);
    // No partial result is left.
    assert!(!project.path().join("target/perfunit/sides").exists());
}

#[test]
fn tests_that_only_pass_with_their_new_code_are_measured_from_an_archive() {
    let expecting = |rounds: u32, value: u32| {
        four_tests(rounds).replace("cherry() {", &format!("cherry() {{ assert_eq!(super::answer(), {value});"))
    };
    let with = |rounds, value| format!("pub fn answer() -> u32 {{ {value} }}\n{}", expecting(rounds, value));
    let project = Project::library(&with(500, 1), &with(1500, 2)).with_natural_layout();
    let whole = project.diff(&[]).json();
    let archive = project.path().join("all.tar.zst");
    let file = archive.to_str().unwrap();
    project.perfunit(["archive", "HEAD~1", "--archive-file", file]).expect(0);
    fs::remove_dir_all(project.path().join("target/perfunit")).unwrap();
    let document = project.perfunit(["diff", "--use-archive", file, "--message-format", "json"]).expect(100).json();
    assert_eq!(verdicts(&document), verdicts(&whole));
}
