//! `cargo perfunit diff`: documents, exit codes, and builds.

use crate::source;
use crate::support::{Project, announced, to_announce};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

#[track_caller]
fn has(value: &Value, fields: &[&str]) {
    let object = value.as_object().unwrap_or_else(|| panic!("no object: {value}"));
    let missing: Vec<_> = fields.iter().filter(|field| !object.contains_key(**field)).collect();
    assert!(missing.is_empty(), "without {missing:?}: {value}");
}

#[test]
fn the_document_has_every_promised_field_and_is_all_that_is_printed() {
    let project = Project::library(&source(500), &source(1500));
    let document = project.diff(&["--all-tests"]).expect(100).json();
    has(&document, &["schema_version", "base", "head", "environment", "selection", "tests", "summary", "warnings"]);
    for side in ["base", "head"] {
        has(&document[side], &["label", "commit", "dirty"]);
    }
    has(&document["summary"], &["verdicts", "measured", "found", "threshold", "alpha", "seconds"]);
    assert_eq!(document["schema_version"], 4);
    let tests = document["tests"].as_array().unwrap();
    assert_eq!(tests.len(), 2);
    for test in tests {
        has(test, &["package", "target", "name", "verdict", "reason", "change", "base_ns", "head_ns", "pairs", "mode"]);
    }
    let slower = tests.iter().find(|test| test["name"] == "tests::mixes").unwrap();
    assert_eq!(slower["verdict"], "slower");
    let change = |field: &str| slower["change"][field].as_f64().unwrap();
    assert!(0.1 < change("low") && change("low") <= change("estimate") && change("estimate") <= change("high"));
    let number = |value: &Value| value.as_f64().unwrap();
    let measuring = number(&document["summary"]["seconds"]["measure"]);
    assert!((0.0..=measuring).contains(&number(&slower["spent"]["seconds"])), "{measuring}: {slower}");
    // Pairs before and after confirmation.
    assert!(number(&slower["spent"]["pairs"]) > number(&slower["pairs"]), "{slower}");
    let ignored = tests.iter().find(|test| test["name"] == "tests::is_ignored").unwrap();
    assert_eq!((&ignored["verdict"], &ignored["reason"]["kind"]), (&"not-measured".into(), &"ignored".into()));
    assert!(ignored["spent"].is_null(), "{ignored}");
    let text = project.perfunit(["report", "--verbose"]).expect(0).stdout;
    assert!(text.contains("Most time  sample tests::mixes  "), "{text}");
}

#[test]
fn a_version_against_itself_is_not_a_regression() {
    let project = Project::library(&source(500), &source(1500));
    let run = project.perfunit(["diff", "HEAD..HEAD", "--all-tests", "--message-format", "json"]).expect(0);
    let document = run.json();
    let verdict =
        &document["tests"].as_array().unwrap().iter().find(|test| test["name"] == "tests::mixes").unwrap()["verdict"];
    assert!(!["slower", "faster", "not-measured"].contains(&verdict.as_str().unwrap()), "{document}");
}

#[test]
fn uncommitted_changes_are_the_head() {
    let project =
        Project::library(&source(500), &source(500).replace("state >> 7", "state >> 6")).with_natural_layout();
    project.write("src/lib.rs", source(1500));
    let document = project.perfunit(["diff", "HEAD", "--message-format", "json"]).expect(100).json();
    assert_eq!(document["head"]["dirty"], true);
    assert_eq!(project.status(), ["src/lib.rs"]);
}

#[test]
fn people_get_a_summary_on_stdout() {
    let project = Project::library(&source(500), &source(1500)).with_natural_layout();
    let run = project.perfunit(["diff", "HEAD~1"]).expect(100);
    assert!(run.stdout.contains("tests::mixes"), "{}", run.stdout);
    assert!(run.stdout.to_lowercase().contains("slower"), "{}", run.stdout);
    let quiet = project.perfunit(["diff", "HEAD~1", "--quiet"]).expect(100);
    assert_eq!(quiet.stderr, "");
}

#[test]
fn each_verdict_is_announced_once_as_soon_as_it_is_final() {
    let source = |rounds: u32| {
        let test = |name: &str, body: &str| format!("    #[test]\n    fn {name}() {{\n        {body};\n    }}\n");
        let tests = ["a", "b"].map(|name| test(name, "assert_ne!(super::slow(3), 7)")).concat();
        let fails = test("fails", "assert!(super::slow(3) != 7 && super::ROUNDS < 600)");
        let module = format!("pub const ROUNDS: u32 = {rounds};\n#[cfg(test)]\nmod more {{\n{tests}{fails}}}\n");
        source(rounds) + &module
    };
    let project = Project::library(&source(500), &source(1500)).with_natural_layout();
    let run = project.diff(&["--explain", "never"]).expect(100);
    let expected =
        ["Failing sample more::fails", "Slower sample more::a", "Slower sample more::b", "Slower sample tests::mixes"];
    assert_eq!(to_announce(&run.json()), expected);
    assert_eq!(announced(&run.stderr), expected, "{}", run.stderr);
    // It fails in the first pairs and stays failed; slower tests are confirmed after all first pairs.
    let at = |part: &str| run.stderr.find(part).unwrap();
    assert!(at("Failing sample") < at("Slower sample"), "{}", run.stderr);
    let quiet = project.diff(&["--explain", "never", "--quiet"]).expect(100);
    assert_eq!(quiet.stderr, "");
}

#[test]
fn unchanged_commits_are_not_built_again() {
    let project = Project::library(&source(500), &source(1500)).with_natural_layout();
    project.diff(&[]).expect(100);
    // Cargo would create its folder again if it were called.
    let cargos = project.path().join("target/perfunit/build");
    assert!(cargos.join("release").is_dir());
    std::fs::remove_dir_all(&cargos).unwrap();
    let kept = project.path().join("target/perfunit/sides");
    let built = newest(&kept, &is_executable_or_library);
    project.diff(&[]).expect(100);
    assert_eq!(newest(&kept, &is_executable_or_library), built);
    assert!(!cargos.exists(), "something was built");
}

#[test]
fn nothing_to_measure_fails_only_on_request() {
    let project = Project::library(&source(500), &format!("// A comment.\n{}", source(500)));
    let document = project.diff(&[]).expect(0).json();
    assert!(document["selection"]["nothing_because"].is_string(), "{document}");
    project.diff(&["--no-tests", "fail"]).expect(4);
}

#[test]
fn failures_have_their_exit_codes_and_hints() {
    let project = Project::library(&source(500), "this is no Rust");
    let run = project.diff(&[]).expect(101);
    assert!(run.stderr.contains("head") && run.stderr.contains("hint:"), "{}", run.stderr);
    let unknown = project.perfunit(["diff", "no-such-branch"]).expect(102);
    assert!(unknown.stderr.contains("no-such-branch") && unknown.stderr.contains("hint:"), "{}", unknown.stderr);
    project.perfunit(["diff", "--no-such-flag"]).expect(2);
}

/// Returns whether a file is written by builds; all other files in our folder are state of runs.
fn is_executable_or_library(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "deps")
}

/// Returns the newest file that meets the condition.
fn newest(folder: &Path, wanted: &dyn Fn(&Path) -> bool) -> (SystemTime, PathBuf) {
    let mut newest = (SystemTime::UNIX_EPOCH, PathBuf::new());
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let (path, metadata) = (entry.path(), entry.metadata().unwrap());
            if metadata.is_dir() {
                folders.push(path);
            } else if wanted(&path) {
                newest = newest.max((metadata.modified().unwrap(), path));
            }
        }
    }
    assert_ne!(newest.0, SystemTime::UNIX_EPOCH, "nothing was built");
    newest
}

#[test]
fn flagged_tests_are_confirmed_over_many_layouts() {
    let project = Project::library(&source(500), &source(1500));
    let document = project.perfunit(["diff", "HEAD~1", "--message-format", "json"]).expect(100).json();
    let tests = document["tests"].as_array().unwrap();
    let slower = tests.iter().find(|test| test["verdict"] == "slower").unwrap();
    assert!(slower["layouts"].as_u64().unwrap() >= 8, "{slower}");
    assert_eq!(slower["pairs"].as_u64().unwrap() % slower["layouts"].as_u64().unwrap(), 0, "{slower}");
    // Layouts are large, so none is kept.
    assert!(!project.path().join("target/perfunit/tmp").exists());
}

#[test]
fn a_workload_that_reads_the_source_is_named() {
    let project = Project::library(&source(500), &source(1500));
    let code = "const TEXT: &str = include_str!(\"../src/lib.rs\");\n#[test]\nfn reads() {\n    assert!(TEXT.contains(\"fn\"));\n}\n";
    project.write("tests/own.rs", code);
    let run = project.diff(&["-E", "test(reads)", "--explain", "never"]);
    let warning = "sample::own includes src/lib.rs as data, and the file changed";
    assert!(run.stderr.contains(warning) || run.stdout.contains(warning), "{}{}", run.stdout, run.stderr);
}

#[test]
fn a_budget_ends_builds_too() {
    let project = Project::library(&source(500), &source(1500));
    // The build script writes a file unless it is stopped.
    let outside = tempfile::tempdir().unwrap();
    let ended = outside.path().join("ended");
    let script =
        "fn main() { std::thread::sleep(std::time::Duration::from_secs(100)); std::fs::write(PATH, \"\").unwrap(); }\n";
    project.write("build.rs", script.replace("PATH", &format!("{ended:?}")));
    project.commit("a long build");
    let run = project.perfunit(["diff", "HEAD~1", "--budget", "2s"]).expect(105);
    assert!(!ended.exists(), "the build was not stopped");
    assert!(run.stderr.contains("the budget of 2.0 s was used up by building"), "{}", run.stderr);
    assert!(run.stderr.contains("hint: ") && run.stderr.contains("`cargo perfunit list`"), "{}", run.stderr);
}

/// The test outlasts the budget, so that the clock stops it in the middle of a call, as Ctrl-C would.
#[test]
fn what_the_budget_ends_is_not_called_interrupted() {
    let sleeping = |rounds| {
        let sleep = "fn mixes() {\n        std::thread::sleep(std::time::Duration::from_secs(50));";
        source(rounds).replace("fn mixes() {", sleep)
    };
    let project = Project::library(&sleeping(500), &sleeping(1500));
    // Builds both versions.
    project.perfunit(["list", "HEAD~1"]).expect(0);
    let run = project.perfunit(["diff", "HEAD~1", "--budget", "5s", "--message-format", "json"]);
    let document = run.expect(105).json();
    assert_eq!(document["interrupted"], false);
    assert_eq!(document["tests"][0]["reason"]["kind"], "budget-used-up", "{document}");
}
