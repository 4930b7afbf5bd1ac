//! The evidence for a responsible function: instructions where they account for the time, otherwise time.

use crate::instructions::has_valgrind;
use crate::support::{Case, Project, Run, first_responsible};
use object::{Object as _, ObjectSection as _, SectionKind};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A function that waits, and one that computes.
const LIBRARY: &str = r"
use std::time::Duration;

pub fn answer(number: u64) -> u64 {
    pause();
    (0..100).fold(number, |state, round| std::hint::black_box(state ^ round))
}

fn pause() {
    std::thread::sleep(Duration::from_micros(20));
}

#[cfg(test)]
mod tests {
    #[test]
    fn answers() {
        assert_eq!(super::answer(7), 7);
    }
}
";

fn short_callee() -> Project {
    Case::all()["short-callee"].project().with_natural_layout()
}

/// Returns the explained only test of a project.
fn explained(project: &Project, arguments: &[&str]) -> Value {
    project.diff(&[&["--explain", "always"][..], arguments].concat()).expect(100).json()["tests"][0].clone()
}

fn share(test: &Value) -> f64 {
    test["explanation"]["responsible"][0]["share"].as_f64().unwrap_or_else(|| panic!("{test:#}"))
}

#[test]
fn a_function_with_more_instructions_is_named_without_another_build() {
    if !has_valgrind() {
        return;
    }
    let project = short_callee();
    let test = explained(&project, &[]);
    assert_eq!(first_responsible(&test), Some("decimal_length"), "{test:#}");
    assert_eq!(
        (&test["explanation"]["engine"], &test["explanation"]["unit"]),
        (&"callgrind".into(), &"instructions".into())
    );
    assert!(test["explanation"]["instructions"].as_f64().unwrap() > 0.2, "{test:#}");
    assert!((0.7..=1.0).contains(&share(&test)), "{test:#}");
    let ours = project.path().join("target/perfunit");
    assert!(!ours.join("probed").exists());
    assert_eq!(fs::read_dir(ours.join("sides")).unwrap().count(), 2, "base and head are built once");
}

#[test]
fn an_unstripped_project_is_built_again_with_debug_information() {
    if !has_valgrind() {
        return;
    }
    let project = short_callee();
    let mut command = project.command("");
    command.args(["diff", "HEAD~1", "--message-format", "json", "--per-test-budget", "3s", "--explain", "always"]);
    command.env("CARGO_PROFILE_BENCH_STRIP", "none");
    let test = Run::of(command).expect(100).json()["tests"][0].clone();
    assert_eq!(first_responsible(&test), Some("decimal_length"), "{test:#}");
    assert_eq!(test["explanation"]["engine"], "callgrind");
    assert_eq!(fs::read_dir(project.path().join("target/perfunit/sides")).unwrap().count(), 4);
}

#[test]
fn attribution_by_time_names_the_function_with_a_share_of_at_most_1() {
    let test = explained(&short_callee(), &["--engine", "probes"]);
    assert_eq!(first_responsible(&test), Some("decimal_length"), "{test:#}");
    assert_eq!(test["explanation"]["unit"], "ns");
    assert!((0.5..=1.0).contains(&share(&test)), "{test:#}");
}

#[test]
fn a_function_that_waits_longer_is_found_by_time() {
    let project =
        Project::library(LIBRARY, &LIBRARY.replace("from_micros(20)", "from_micros(900)")).with_natural_layout();
    let test = explained(&project, &[]);
    assert_eq!(first_responsible(&test), Some("pause"), "{test:#}");
    assert_eq!(test["explanation"]["engine"], "probes", "{test:#}");
    if has_valgrind() {
        assert!(test["explanation"]["instructions"].as_f64().unwrap().abs() < 0.2, "{test:#}");
        let shown = project.perfunit(["explain"]).expect(0).stdout;
        assert!(shown.contains("attributed by time (executed instructions: "), "{shown}");
    }
}

/// Returns the kept objects of both versions.
fn objects(project: &Project) -> Vec<PathBuf> {
    fn below(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                below(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "o") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    below(&project.path().join("target/perfunit/sides"), &mut found);
    found
}

#[test]
fn debug_information_of_the_measured_build_changes_no_machine_code() {
    let project = short_callee();
    // Without stripping, the profile's setting of no debug information is kept.
    let code = |strip: &str| {
        project.perfunit(["clean"]).expect(0);
        let mut command = Project::tool(project.path());
        command.args(["list", "HEAD~1"]).env("CARGO_PROFILE_BENCH_STRIP", strip);
        Run::of(command).expect(0);
        let (mut functions, mut has_lines) = (BTreeSet::new(), false);
        for path in objects(&project) {
            let bytes = fs::read(&path).unwrap();
            let file = object::File::parse(&*bytes).unwrap();
            has_lines |= file.section_by_name(".debug_info").is_some();
            for section in file.sections().filter(|section| section.kind() == SectionKind::Text) {
                let name = section.name().unwrap().to_owned();
                // With debug information, `main` reads a byte that leads debuggers to their printers, once per process.
                if name != ".text.main" {
                    functions.insert((name, section.data().unwrap().to_vec()));
                }
            }
        }
        (functions, has_lines)
    };
    let ((with, has_lines), (without, has_none)) = (code("debuginfo"), code("none"));
    assert!(has_lines && !has_none);
    assert!(with.iter().any(|(name, _)| name.contains("a_long_number_fits")), "{with:?}");
    assert!(with == without, "{:?}", with.symmetric_difference(&without).map(|(name, _)| name).collect::<Vec<_>>());
}
