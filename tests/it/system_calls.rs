//! System calls of tests and of programs that they start, counted exactly.

use crate::instructions::has_valgrind;
use crate::support::Project;
use serde_json::Value;

/// Creates a program that looks at a file this many times, and a library test that does the same in its own process.
fn project() -> Project {
    let project = Project::empty();
    project.write("Cargo.toml", "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    project.write("src/main.rs", "fn main() { assert_eq!(sample::look(), 40); }\n");
    project.write(
        "tests/it.rs",
        r#"#[test]
fn starts_the_program() {
    assert!(std::process::Command::new(env!("CARGO_BIN_EXE_sample")).status().unwrap().success());
}
"#,
    );
    library(&project, "std::fs::metadata(\".\").is_ok()");
    project.commit("base");
    project
}

fn library(project: &Project, look: &str) {
    let tests =
        "#[cfg(test)]\nmod tests {\n    #[test]\n    fn looks() {\n        assert_eq!(super::look(), 40);\n    }\n}\n";
    project
        .write("src/lib.rs", format!("pub fn look() -> usize {{\n    (0..40).filter(|_| {look}).count()\n}}\n{tests}"));
}

fn test<'a>(document: &'a Value, name: &str) -> &'a Value {
    document["tests"].as_array().unwrap().iter().find(|test| test["name"] == name).unwrap()
}

fn calls<'a>(document: &'a Value, name: &str) -> &'a Value {
    &test(document, name)["metrics"]["syscalls"]
}

#[test]
fn system_calls_that_a_change_adds_are_counted() {
    let project = project();
    library(&project, "std::fs::metadata(\".\").is_ok() && std::fs::metadata(\".\").is_ok()");
    project.commit("head");
    let valgrind = has_valgrind();
    let counting: &[&str] = if valgrind { &["--instructions", "callgrind"] } else { &[] };
    let run = project.diff(&[&["--metric", "syscalls", "--explain", "never"], counting].concat()).expect(100);
    let document = run.json();
    if calls(&document, "starts_the_program")["unavailable"]["kind"] == "not-traced" {
        return crate::support::skipped("this system does not let the tool trace processes");
    }
    for name in ["starts_the_program", "tests::looks"] {
        let calls = calls(&document, name);
        assert_eq!(calls["verdict"], "more", "{document:#}");
        let [looks] = &calls["names"].as_array().unwrap()[..] else { panic!("{calls:#}") };
        assert!(looks["name"].as_str().unwrap().contains("stat"), "{calls:#}");
        // The program may look at other files when it starts.
        let of = |side: &str| looks[side].as_f64().unwrap() as u64;
        assert_eq!(of("head") - of("base"), 40);
    }
    assert_eq!(calls(&document, "tests::looks")["base"]["value"], 40.0);
    if valgrind {
        // The test itself does the same work, the program that it starts does more.
        let instructions = &test(&document, "starts_the_program")["metrics"]["instructions"];
        assert_eq!(instructions["verdict"], "more", "{document:#}");
    }
    let report = project.perfunit(["report"]).stdout;
    assert!(report.contains("system calls 40 → 80 (+100.0 %; "), "{report}");
}

#[test]
fn equal_calls_are_the_same_and_tests_of_programs_are_counted_by_default() {
    let project = project();
    // Other work with the same calls.
    library(&project, "std::hint::black_box(std::fs::metadata(\".\").is_ok() && std::hint::black_box(true))");
    project.commit("head");
    let document = project.diff(&["--explain", "never"]).json();
    let of_program = calls(&document, "starts_the_program");
    assert!(["same", "unavailable"].contains(&of_program["verdict"].as_str().unwrap()), "{of_program:#}");
    assert_ne!(of_program["unavailable"]["kind"], "switched-off");
    assert_eq!(calls(&document, "tests::looks")["unavailable"]["kind"], "switched-off");
}

#[test]
fn a_test_too_long_for_several_calls_is_counted_in_its_first_call() {
    let project = project();
    project.write(
        "tests/it.rs",
        r#"#[test]
fn starts_the_program() {
    std::thread::sleep(std::time::Duration::from_millis(40));
    assert!(std::process::Command::new(env!("CARGO_BIN_EXE_sample")).status().unwrap().success());
}
"#,
    );
    project.commit("longer test");
    library(&project, "std::fs::metadata(\".\").is_ok() && std::fs::metadata(\".\").is_ok()");
    project.commit("head");
    // A tenth of it holds the first calls, and no later ones.
    let document = project.diff(&["starts_the_program", "--per-test-budget", "5s", "--explain", "never"]).json();
    let calls = calls(&document, "starts_the_program");
    if calls["unavailable"]["kind"] == "not-traced" {
        return crate::support::skipped("this system does not let the tool trace processes");
    }
    assert_eq!(calls["verdict"], "more", "{document:#}");
    assert!(calls["names"][0]["name"].as_str().unwrap().contains("stat"), "{calls:#}");
    assert_eq!(calls["basis"], "first-calls", "{calls:#}");
}
