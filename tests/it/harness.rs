//! Test targets with their own harness, including ours.

use crate::support::{Case, NATURAL_LAYOUT, Project, Run, skipped};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Creates the project of a case.
fn project(case: &str) -> Project {
    Case::all()[case].project()
}

/// Returns a command in the project's folder that finds our tool as cargo finds its subcommands.
fn beside_the_tool(project: &Project, program: &str) -> Command {
    let tool = Path::new(env!("CARGO_BIN_EXE_cargo-perfunit"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = [tool.parent().unwrap().to_owned()].into_iter().chain(std::env::split_paths(&path));
    let mut command = Command::new(program);
    command.current_dir(project.path()).env("PATH", std::env::join_paths(folders).unwrap());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CARGO_PKG_") {
            command.env_remove(name);
        }
    }
    command.env_remove("CARGO_TARGET_DIR").env_remove("CARGO_MANIFEST_DIR");
    command.env("PERFUNIT_CACHE_DIR", Project::cache()).env(NATURAL_LAYOUT.0, NATURAL_LAYOUT.1);
    // The dependencies are many.
    command.env("CARGO_PROFILE_DEV_DEBUG", "0");
    // Cargo removes unneeded packages from the lock file, which changes the working tree.
    command.env("PERFUNIT_BASE", "HEAD~1..HEAD");
    command
}

fn run(mut command: Command, arguments: &[&str]) -> Run {
    command.args(arguments);
    Run::of(command)
}

/// Builds the target with the harness and returns its executable.
fn built(project: &Project) -> PathBuf {
    let arguments = ["test", "--test", "performance", "--no-run", "--message-format", "json"];
    let messages = run(beside_the_tool(project, "cargo"), &arguments).expect(0).stdout;
    let mut executables = messages.lines().filter_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        message["executable"].as_str().map(PathBuf::from)
    });
    executables.next_back().expect("cargo names the executable")
}

#[test]
fn cargo_test_fails_for_what_got_slower() {
    let project = project("checks-in-cargo-test");
    let slower = run(beside_the_tool(&project, "cargo"), &["test", "--test", "performance"]).expect(101);
    let failed = "test unique tests::keeps_the_first_of_each ... FAILED";
    assert!(slower.stdout.contains(failed), "{}", slower.stdout);
    assert!(slower.stdout.contains("cargo perfunit diff ") && slower.stdout.contains(" µs, +"), "{}", slower.stdout);
    // The other test cannot reach the change.
    assert!(slower.stdout.contains("running 1 test"), "{}", slower.stdout);

    let arguments = ["test", "--test", "performance", "--", "adds_up"];
    let filtered = run(beside_the_tool(&project, "cargo"), &arguments).expect(0);
    assert!(filtered.stdout.contains("0 passed; 0 failed; 0 ignored; 0 measured; 1 filtered out"));

    let executable = built(&project);
    let listed = run(beside_the_tool(&project, executable.to_str().unwrap()), &["--list", "--format", "terse"]);
    assert_eq!(listed.expect(0).stdout, "unique tests::keeps_the_first_of_each: test\n");

    // Inside of the tool, the harness does not call the tool.
    let mut inside = beside_the_tool(&project, executable.to_str().unwrap());
    inside.env("PERFUNIT", "1");
    assert_eq!(run(inside, &["--list", "--format", "terse"]).expect(0).stdout, "");

    let mut alone = beside_the_tool(&project, executable.to_str().unwrap());
    alone.env("PATH", "").env("CARGO_HOME", project.path());
    let ignored = run(alone, &[]).expect(0).stdout;
    assert!(ignored.contains("cargo-perfunit is not installed") && ignored.contains("1 ignored"), "{ignored}");

    let mut nonsense = beside_the_tool(&project, executable.to_str().unwrap());
    nonsense.env("PERFUNIT_BASE", "no-such-branch");
    let nonsense = run(nonsense, &[]).expect(101);
    assert!(nonsense.stdout.contains("test cargo perfunit list ... FAILED"), "{}", nonsense.stdout);
    assert!(nonsense.stderr.contains("unknown revision `no-such-branch`"), "{}", nonsense.stderr);

    // Without a change there is nothing to run.
    let mut same = beside_the_tool(&project, executable.to_str().unwrap());
    same.env("PERFUNIT_BASE", "HEAD..HEAD");
    assert!(run(same, &[]).expect(0).stdout.contains("running 0 tests"));

    under_nextest(&project);
}

/// cargo-nextest runs each test in a separate process.
fn under_nextest(project: &Project) {
    let nextest = || beside_the_tool(project, "cargo-nextest");
    if nextest().arg("nextest").arg("--version").output().is_err() {
        skipped("cargo-nextest is not installed");
        return;
    }
    let failed = run(nextest(), &["nextest", "run", "--test", "performance", "--color", "never"]).expect(100);
    assert!(failed.stderr.contains("unique::performance unique tests::keeps_the_first_of_each"), "{}", failed.stderr);
    assert!(failed.stderr.contains("1 test run: 0 passed, 1 failed"), "{}", failed.stderr);
}

#[test]
fn processes_report_only_cpu_time_in_addition_to_time() {
    let project = project("hand-made-harness").with_natural_layout();
    let document = project.diff(&["--exact", "prints_a_lot"]).expect(100).json();
    let test = document["tests"].as_array().unwrap().iter().find(|test| test["name"] == "prints_a_lot").unwrap();
    assert_eq!((&test["mode"], &test["capture"]), (&"process".into(), &"process".into()));
    assert_eq!(test["threshold"], 0.05);
    assert_eq!(test["metrics"]["cpu-time"]["verdict"], "more");
    assert_eq!(test["metrics"]["allocations"]["unavailable"]["kind"], "whole-process");

    let gated = project.diff(&["--exact", "prints_a_lot", "--metric", "allocations"]).expect(0).json();
    let test = gated["tests"].as_array().unwrap().iter().find(|test| test["name"] == "prints_a_lot").unwrap();
    assert_eq!((&test["verdict"], &test["reason"]["kind"]), (&"inconclusive".into(), &"metric-unknown".into()));
}

/// Creates a library with a change that a target with this main function can reach.
fn with_main(main: &str) -> Project {
    let project = Project::empty();
    let manifest = "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    project.write("Cargo.toml", format!("{manifest}[[test]]\nname = \"own\"\nharness = false\n"));
    project.write("src/lib.rs", "pub fn two() -> u32 { 2 }\n");
    project.write("tests/own.rs", main);
    project.commit("base");
    project.write("src/lib.rs", "pub fn two() -> u32 { 1 + std::hint::black_box(1) }\n");
    project.commit("head");
    project
}

#[track_caller]
fn check_unlisted(main: &str, why: &str) {
    let document = with_main(main).diff(&[]).expect(0).json();
    let unmeasured = &document["selection"]["unmeasured_targets"];
    let has = |text: &serde_json::Value| text.as_str().is_some_and(|text| text.contains(why));
    assert!(unmeasured.as_array().unwrap().iter().any(has), "{unmeasured}");
}

#[test]
fn a_main_that_does_not_list_its_tests_is_reported_with_the_reason() {
    check_unlisted("fn main() { assert_eq!(sample::two(), 2); }", "printed no line of the form `name: test`");
    check_unlisted("fn main() { println!(\"two is {}\", sample::two()); }", "`--list` printed `two is 2`");
    check_unlisted("fn main() { assert_eq!(sample::two(), 3); }", "ended with exit status: 101");
    // A process that stays behind does not block the run.
    let leaves = "fn main() { std::process::Command::new(\"sleep\").arg(\"1000\").spawn().unwrap();
        println!(\"{}\", sample::two()); }";
    check_unlisted(leaves, "`--list` printed `2`");
}

#[test]
fn a_main_that_does_not_end_is_not_waited_for() {
    let hangs = "fn main() { loop { std::thread::sleep(std::time::Duration::from_secs(sample::two().into())); } }";
    check_unlisted(hangs, "timed out after 10 s");
}

#[test]
fn a_harness_that_ignores_filters_is_detected() {
    let main = "fn main() {
        if std::env::args().any(|argument| argument == \"--list\") { return println!(\"one: test\\ntwo: test\"); }
        // Runs once, so that both versions do the same work.
        let limit = sample::two() + 9_000_000;
        (0..2_000_000u32).for_each(|number| assert_ne!(std::hint::black_box(number), limit));
    }";
    let document = with_main(main).diff(&[]).json();
    for test in document["tests"].as_array().unwrap() {
        // On a busy machine the difference between two equal processes may be detected but not reported.
        let is_seen = test["reason"]["kind"] == "lost-in-start" || test["verdict"] != "slower";
        assert!(is_seen, "{test}");
    }
}

#[test]
fn a_program_started_by_cargo_may_start_the_tool() {
    let project = Project::library(&crate::source(500), &crate::source(1500));
    let mut tool = Project::tool(project.path());
    tool.args(["list", "HEAD~1", "--message-format", "json"]).env("CARGO_PKG_NAME", "sample");
    let document = Run::of(tool).expect(0).json();
    let test = &document["tests"].as_array().unwrap()[0];
    assert_eq!((&test["package"], &test["selected"]), (&"sample".into(), &true.into()));
}
