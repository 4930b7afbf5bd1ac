//! Conclusions from one run of a test about other runs.

use crate::support::{Project, Run};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Returns a library with tests that take the changed path or another one, as `ways` decides; `rounds` is the change.
fn library(rounds: u32, tests: &str) -> String {
    format!(
        r"
#[inline(never)]
pub fn changed(seed: u64) -> u64 {{
    (0..{rounds}).fold(seed | 1, |state, round| (state ^ state << 13 ^ state >> 7).wrapping_add(round))
}}
#[inline(never)]
pub fn unchanged(seed: u64) -> u64 {{
    (0..100).fold(seed | 1, |state, round| (state ^ state << 9 ^ state >> 5).wrapping_add(round))
}}
#[inline(never)]
pub fn walk(seed: u64, is_detour: bool) -> u64 {{
    if is_detour {{ changed(seed) }} else {{ unchanged(seed) }}
}}
#[cfg(test)]
mod tests {{
{tests}
}}
"
    )
}

fn project(tests: &str) -> Project {
    Project::library(&library(500, tests), &library(1500, tests))
}

/// Returns the tests that `list` would measure.
fn selected(run: &Run) -> BTreeSet<String> {
    let document = run.json();
    let tests = document["tests"].as_array().unwrap().iter().filter(|test| test["selected"] == true);
    tests.map(|test| test["name"].as_str().unwrap().to_owned()).collect()
}

const LIST: [&str; 4] = ["list", "HEAD~1", "--message-format", "json"];

#[test]
fn a_test_that_takes_the_changed_path_only_sometimes_is_measured() {
    let mut tests = String::from(
        "fn draw(number: u64) -> bool {
            use std::hash::BuildHasher;
            std::collections::hash_map::RandomState::new().hash_one(number) % 4 != 0
        }\n",
    );
    for number in 0..40 {
        let _ = writeln!(tests, "#[test] fn draws_{number}() {{ super::walk(2, draw({number})); }}");
    }
    let project = project(&tests);
    assert_eq!(selected(&project.perfunit(LIST).expect(0)).len(), 40);
}

#[test]
fn an_execution_in_another_environment_is_not_evidence() {
    let tests = r#"#[test] fn may_go_round() { super::walk(2, std::env::var_os("DETOUR").is_some()); }"#;
    let project = project(tests);
    let list = |detour: Option<&str>| {
        let mut command = Project::tool(project.path());
        command.args(LIST).env_remove("DETOUR").envs(detour.map(|value| ("DETOUR", value)));
        selected(&Run::of(command).expect(0))
    };
    assert_eq!(list(None), BTreeSet::new());
    assert_eq!(list(Some("1")), BTreeSet::from(["tests::may_go_round".to_owned()]));
    assert_eq!(list(None), BTreeSet::new());
}

#[test]
fn what_only_later_calls_execute_is_seen() {
    let version = |rounds: u32| {
        library(rounds, "#[test] fn asks() { assert_ne!(super::answer(), 0); }")
            + "pub fn answer() -> u64 {
    static KNOWN: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    let known = KNOWN.get().map(|known| changed(*known));
    known.unwrap_or_else(|| *KNOWN.get_or_init(|| unchanged(3)))
}
"
    };
    let project = Project::library(&version(500), &version(1500));
    assert_eq!(selected(&project.perfunit(LIST).expect(0)), BTreeSet::from(["tests::asks".to_owned()]));
}
