//! `cargo perfunit calibrate` on the smallest budget. Its figures depend on the machine.

use crate::support::{Project, Run};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A temporary folder without a project, and a separate profile.
struct Place {
    folder: TempDir,
    cache: PathBuf,
}

impl Place {
    /// Tests run in parallel, so each has its own profile; builds of the toolchain are shared.
    fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("perfunit-calibrate-test-").tempdir().unwrap();
        fs::create_dir(folder.path().join("tmp")).unwrap();
        let cache = folder.path().join("cache");
        fs::create_dir(&cache).unwrap();
        for part in ["libraries", "wrappers"] {
            Project::share_cached(part, &cache);
        }
        Self { folder, cache }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Project::tool(self.folder.path());
        command.arg("calibrate").args(arguments);
        command.env("TMPDIR", self.folder.path().join("tmp")).env("PERFUNIT_CACHE_DIR", &self.cache);
        command
    }

    fn run(&self, arguments: &[&str]) -> Run {
        Run::of(self.command(arguments))
    }

    fn profile(&self) -> PathBuf {
        self.cache.join("calibration.json")
    }

    fn left_behind(&self) -> usize {
        fs::read_dir(self.folder.path().join("tmp")).unwrap().count()
    }
}

#[track_caller]
fn list<'a>(value: &'a Value, field: &str) -> &'a Vec<Value> {
    value[field].as_array().unwrap_or_else(|| panic!("no list {field}: {value}"))
}

#[test]
fn a_quick_calibration_finds_half_as_much_again_and_is_kept() {
    let place = Place::new();
    let smallest = ["--quick", "--compare", "--budget", "1s", "--per-test-budget", "1s"];
    let document = place
        .run(&[smallest.as_slice(), ["--seed", "1", "--message-format", "json"].as_slice()].concat())
        .expect(0)
        .json();
    assert_eq!((&document["schema_version"], &document["interrupted"]), (&4.into(), &false.into()));
    assert!(document["circumstances"]["cpu"].is_string() && document["terms"]["seed"] == 1, "{document}");
    let levels = list(&document, "levels");
    let operations: Vec<_> = levels.iter().map(|level| level["operations"].as_u64().unwrap()).collect();
    assert_eq!(operations, [301, 303, 315, 450]);
    for level in levels {
        let workloads = list(level, "workloads");
        assert_eq!(workloads.len(), 6, "five kinds of work and all together");
        for workload in workloads {
            let of = |rate: &str| workload[rate]["of"].as_u64().unwrap();
            // On a busy machine, one kind of work may have had no time for a verdict.
            assert!((of("found") > 0 && of("false_alarms") > 0) || workload["workload"] != "all", "{workload}");
        }
        assert_eq!(list(level, "compared").len(), 8, "ours, three on the same processes, four on sequential ones");
    }
    let compared = levels.iter().flat_map(|level| list(level, "compared"));
    for processes in ["lockstep", "sequential"] {
        let some = compared.clone().filter(|row| row["processes"] == processes && row["rule"] == "Mann-Whitney");
        assert!(some.map(|row| row["found"]["of"].as_u64().unwrap()).sum::<u64>() > 0, "no verdicts on {processes}");
    }
    let largest = list(&levels[3], "workloads").last().unwrap();
    let found = |field: &str| largest["found"][field].as_u64().unwrap();
    assert!(2 * found("count") > found("of"), "300 against 450 is mostly found: {largest}");
    assert_eq!(place.left_behind(), 0);

    let shown = place.run(&["--show", "--message-format", "json"]).expect(0).json();
    assert_eq!(shown, document);
    let text = place.run(&["--show"]).expect(0).stdout;
    for words in ["Calibrated", "+0.33 %", "hash_and_sort", "Mann-Whitney", "sequential"] {
        assert!(text.contains(words), "no {words}:\n{text}");
    }
}

#[test]
fn there_is_nothing_to_show_without_a_calibration_or_of_another_form() {
    let place = Place::new();
    let run = place.run(&["--show"]).expect(102);
    assert!(run.stderr.contains("hint: run `cargo perfunit calibrate`"), "{}", run.stderr);
    fs::write(place.profile(), r#"{"schema_version": 0}"#).unwrap();
    let run = place.run(&["--show"]).expect(102);
    assert!(run.stderr.contains("its format is version 0"), "{}", run.stderr);
    place.run(&["--show", "--quick"]).expect(2);
}

#[test]
fn ctrl_c_leaves_nothing_behind_and_keeps_no_profile() {
    let place = Place::new();
    let mut command = place.command(&["--budget", "10m"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_mins(1);
    while place.left_behind() == 0 {
        assert!(child.try_wait().unwrap().is_none() && Instant::now() < deadline, "the project is never made");
        std::thread::sleep(Duration::from_millis(10));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(place.left_behind(), 0);
    assert!(!place.profile().exists());
}
