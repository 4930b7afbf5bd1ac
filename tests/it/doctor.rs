//! `cargo perfunit doctor`, and comparisons on a system that refuses some of the tool's requests.

use crate::source;
use crate::support::{NATURAL_LAYOUT, PINNING, Project, RANDOM_ADDRESSES, Refused, Run, keep_on_one_core, refuse};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

/// Runs `doctor` in an empty folder.
fn doctor(arguments: &[&str], refused: &[Refused]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Project::tool(folder.path());
    command.arg("doctor").args(arguments);
    if !refused.is_empty() {
        refuse(&mut command, refused);
    }
    let run = Run::of(command).expect(0);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "something was left behind");
    run
}

/// Returns the level of each finding.
fn levels(document: &Value) -> BTreeMap<&str, &str> {
    let findings = document["findings"].as_array().unwrap();
    findings.iter().map(|finding| (finding["what"].as_str().unwrap(), finding["level"].as_str().unwrap())).collect()
}

#[test]
fn examines_the_machine_without_a_project() {
    let run = doctor(&[], &[]);
    for part in [
        "platform: linux",
        "toolchain: rustc",
        "code layout can be matched by ",
        "address space",
        "quiet: core",
        "against itself: ",
        "Summary",
    ] {
        assert!(run.stdout.contains(part), "{part}\n{}", run.stdout);
    }
}

#[test]
fn the_document_has_a_level_for_each_finding() {
    let document = doctor(&["--message-format", "json"], &[]).json();
    assert_eq!(document["schema_version"], 4);
    let levels = levels(&document);
    assert_eq!((levels["platform"], levels["toolchain"]), ("ok", "ok"));
    assert!(levels.values().all(|level| ["ok", "warn", "bad"].contains(level)), "{levels:?}");
    assert!(document["noise"]["cores"][0]["lost"].is_number());
    // The workload was measured: both sides are equal, so it cannot be slower.
    let verdict = document["noise"]["against_itself"]["verdict"].as_str().unwrap();
    assert!(!["slower", "faster", "not-measured"].contains(&verdict), "{verdict}");
}

#[test]
fn refusals_of_a_container_are_found() {
    let document = doctor(&["--message-format", "json"], &[RANDOM_ADDRESSES, PINNING]).json();
    let levels = levels(&document);
    assert_eq!((levels["address-space"], levels["pinning"]), ("warn", "warn"));
    assert!(document["noise"]["against_itself"]["pairs"].as_u64().unwrap() >= 8, "{document}");
}

/// Compares a slower and an equal version of a project on a restricted system. Returns the reported environment of both
/// comparisons.
fn verdicts_hold(restrict: impl Fn(&mut Command), said: &str) -> [Value; 2] {
    let project = Project::library(&source(500), &source(1500));
    let diff = |versions: &[&str], code: i32| {
        let mut command = Project::tool(project.path());
        command.args(["diff", "--message-format", "json"]).args(versions);
        restrict(&mut command);
        let document = Run::of(command).expect(code).json();
        let warnings = document["warnings"].as_array().unwrap();
        assert!(warnings.iter().any(|warning| warning.as_str().unwrap().contains(said)), "{warnings:?}");
        document
    };
    let slower = diff(&["HEAD~1"], 100);
    let same = diff(&["HEAD..HEAD", "--all-tests"], 0);
    let verdicts = &same["summary"]["verdicts"];
    assert_eq!((&verdicts["slower"], &verdicts["faster"]), (&0.into(), &0.into()), "{same}");
    [slower, same].map(|document| document["environment"].clone())
}

#[test]
fn random_addresses_are_reported_and_verdicts_hold_on_executables_with_fixed_ones() {
    let environments = verdicts_hold(|command| refuse(command, &[RANDOM_ADDRESSES]), "address space randomization");
    for environment in environments {
        assert_eq!(environment["paired_address_space"], false);
        let layouts = environment["layouts"].as_array().unwrap();
        assert!(!layouts.is_empty(), "{environment}");
        for layout in layouts {
            assert_eq!(layout["fixed_addresses"], true, "{layout}");
            assert!(layout["common"].as_u64() > Some(200) && layout["equal"] == layout["common"], "{layout}");
        }
    }
}

#[test]
fn processes_that_cannot_be_pinned_are_reported_and_verdicts_hold() {
    verdicts_hold(
        |command| {
            command.env(NATURAL_LAYOUT.0, NATURAL_LAYOUT.1);
            refuse(command, &[PINNING]);
        },
        "pinned to one core",
    );
}

#[test]
fn a_single_core_is_reported_and_verdicts_hold() {
    verdicts_hold(
        |command| {
            command.env(NATURAL_LAYOUT.0, NATURAL_LAYOUT.1);
            keep_on_one_core(command);
        },
        "only one core",
    );
}
