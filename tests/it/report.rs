//! `report`: saved runs in other formats, and `diff --report`.

use crate::source;
use crate::support::Project;
use serde_json::Value;
use std::fs;

#[test]
fn a_saved_run_is_reported_in_every_format() {
    let project = Project::library(&source(500), &source(1500)).with_natural_layout();
    let none = project.perfunit(["report"]).expect(2);
    assert!(none.stderr.contains("no saved runs") && none.stderr.contains("cargo perfunit diff"), "{}", none.stderr);
    let empty = project.perfunit(["report", "--list"]).expect(0);
    assert!(empty.stdout.contains("no saved runs in this workspace"), "{}", empty.stdout);

    let document = project.diff(&["--explain", "never"]).expect(100).json();
    let report = |arguments: &[&str]| project.perfunit(["report"].iter().chain(arguments));
    // A regression in a run is not a failure of its report.
    assert_eq!(report(&["--format", "json"]).expect(0).json(), document);
    let text = report(&[]).expect(0).stdout;
    assert!(text.contains("Slower  sample tests::mixes") && text.contains("Summary  1 slower"), "{text}");
    let markdown = report(&["--format", "markdown"]).expect(0).stdout;
    assert!(markdown.starts_with("<!-- cargo-perfunit -->\n### 1 test got slower\n"), "{markdown}");
    let annotations = report(&["--format", "github"]).expect(0).stdout;
    // Nothing was explained, but only one function changed.
    assert!(annotations.starts_with("::error file=src/lib.rs,line="), "{annotations}");
    assert!(annotations.contains("title=slow makes 1 test slower::sample tests::mixes: +"), "{annotations}");

    let cases = report(&["--format", "junit"]).expect(0).stdout;
    let cases = quick_junit::Report::deserialize_from_str(&cases).unwrap();
    assert_eq!((cases.tests, cases.failures, cases.test_suites[0].name.as_str()), (2, 1, "sample"));
    let figures = report(&["--format", "bmf"]).expect(0).json();
    let latency = &figures["sample tests::mixes"]["latency"];
    let bounds = ["lower_value", "value", "upper_value"].map(|name| latency[name].as_f64().unwrap());
    assert!(bounds.is_sorted() && bounds[0] > 0.0, "{bounds:?}");

    let written = report(&["--format", "json", "--output", "target/reports/perf.json"]).expect(0);
    assert_eq!(written.stdout, "");
    assert_eq!(read(&project, "target/reports/perf.json"), document);
    assert_eq!(project.status(), [""; 0]);

    // A version against itself has no news.
    project.perfunit(["diff", "HEAD..HEAD"]).expect(0);
    assert_eq!(report(&["--format", "markdown", "--when-fine", "silent"]).expect(0).stdout, "");
    let other = report(&["--format", "json", "--when-fine", "silent"]).expect(2);
    assert!(other.stderr.contains("--when-fine requires `--format markdown`, not json"), "{}", other.stderr);
}

#[test]
fn the_bound_decides_what_is_inconclusive_and_the_exit_code() {
    let project = Project::library(&source(500), &source(500).replace("state >> 7", "state >> 6"));
    // With so small a threshold, noise decides whether a test has a verdict.
    let run = project.diff(&[
        "--threshold",
        "0.1%",
        "--per-test-budget",
        "300ms",
        "--bound",
        "20%",
        "--deny",
        "inconclusive",
    ]);
    let document = run.json();
    let (tests, summary) = (document["tests"].as_array().unwrap(), &document["summary"]);
    let with = |verdict: &str| tests.iter().filter(|test| test["verdict"] == verdict).collect::<Vec<_>>();
    let is_beyond = |test: &&&Value| {
        let is_seen = test["reason"]["kind"] == "unconfirmed" && test["reason"]["seen"] == "slower";
        is_seen || test["possible_change"]["within"].is_null()
    };
    let open = with("inconclusive");
    let beyond = open.iter().filter(is_beyond).count();
    assert_eq!((&summary["bound"], &summary["bounded"]), (&0.2.into(), &(open.len() - beyond).into()), "{summary}");
    let code = match (with("slower").len(), beyond) {
        (0, 0) => 0,
        (0, _) => 105,
        _ => 100,
    };
    assert_eq!(run.code, code, "{document}");
    let measured = tests.iter().filter(|test| test["verdict"] != "not-measured").collect::<Vec<_>>();
    assert!(!measured.is_empty(), "{document}");
    for test in measured.iter().filter(|test| !test["possible_change"].is_null()) {
        let figure = |object: &str, name: &str| test[object][name].as_f64().unwrap();
        assert!(test["pairs"].as_u64() >= Some(8), "{test}");
        assert!(figure("possible_change", "slower") >= figure("change", "high"), "{test}");
        assert!(figure("possible_change", "faster") >= -figure("change", "low"), "{test}");
    }

    // Another bound for the same figures.
    let told = |bound: &str| {
        let report = project.perfunit(["report", "--format", "json", "--bound", bound]).expect(0).json();
        report["summary"].clone()
    };
    let strict = told("0.0001%");
    assert_eq!((&strict["verdicts"], &strict["bounded"]), (&summary["verdicts"], &0.into()), "{strict}");
    assert_eq!(told("20%"), *summary);
    let wrong = project.perfunit(["report", "--bound", "110%"]).expect(2).stderr;
    assert!(wrong.contains("`110%` must be greater than 0 % and less than 100 %"), "{wrong}");
}

#[test]
fn runs_are_listed_and_found_by_id_or_file() {
    let project =
        Project::library(&source(500), &source(500).replace("state >> 7", "state >> 6")).with_natural_layout();
    project.diff(&["--explain", "never"]);
    project.perfunit(["diff", "HEAD..HEAD"]).expect(0);
    let list = project.perfunit(["report", "--list", "--format", "json"]).expect(0).json();
    let runs = list["runs"].as_array().unwrap();
    let (id, path) = (runs[1]["id"].as_str().unwrap(), runs[1]["path"].as_str().unwrap());
    assert_eq!((runs.len(), &runs[1]["base"]["label"]), (2, &Value::from("HEAD~1")));
    let text = project.perfunit(["report", "--list"]).expect(0).stdout;
    assert!(text.lines().next_back().unwrap().starts_with(&format!("{id}  HEAD~1 → HEAD: ")), "{text}");

    let told = |run: &str| project.perfunit(["report", "--format", "json", "--run", run]).expect(0).json();
    assert_eq!(told(id)["base"]["label"], "HEAD~1");
    assert_eq!(told(path), told(id));
    let folder = path.strip_suffix("/run.json").unwrap();
    assert_eq!(told(folder), told(id));

    let itself = project.perfunit(["report", "--format", "json", "--run", path, "--output", path]).expect(2);
    assert!(itself.stderr.contains("would overwrite the saved run"), "{}", itself.stderr);

    let wrong = |run: &str| project.perfunit(["report", "--run", run]).expect(2).stderr;
    assert!(wrong("19990101").contains("no saved run with ID `19990101`"), "{}", wrong("19990101"));
    assert!(wrong("2").contains("`2` is ambiguous (2 matches)"), "{}", wrong("2"));
    fs::write(path, "{}").unwrap();
    assert!(wrong(id).contains("is not a saved run of cargo-perfunit"), "{}", wrong(id));
    let text = project.perfunit(["report", "--list"]).expect(0).stdout;
    assert!(text.contains("is not a saved run"), "{text}");
    assert!(wrong("no/such/run.json").contains("no saved run at no/such/run.json"));
    assert!(wrong("./src").contains("no saved run at ./src/run.json"));
}

#[test]
fn reports_are_written_in_addition_to_the_output() {
    let project = Project::library(&source(500), &source(1500)).with_natural_layout();
    let diff = |arguments: &[&str]| project.perfunit(["diff", "HEAD~1", "--explain", "never"].iter().chain(arguments));
    // Nothing is measured if the report cannot be written.
    let folder = diff(&["--report", "json=src"]).expect(2);
    assert!(folder.stderr.contains("cannot write src: it is a folder"), "{}", folder.stderr);
    diff(&["--report", "yaml=perf.yaml"]).expect(2);
    let run = diff(&["--report", "json=target/perf.json", "--report", "text=target/perf.txt"]).expect(100);
    assert!(run.stdout.contains("tests::mixes"), "{}", run.stdout);
    assert_eq!(read(&project, "target/perf.json")["summary"]["verdicts"]["slower"], 1);
    let text = fs::read_to_string(project.path().join("target/perf.txt")).unwrap();
    assert!(text.contains("Slower  sample tests::mixes"), "{text}");

    // Verdict and run survive a report that fails.
    let failed = diff(&["--report", "json=/proc/none/perf.json"]).expect(100);
    let again = "hint: `cargo perfunit report --format json --output FILE` writes it from the saved run";
    assert!(failed.stdout.contains("tests::mixes") && failed.stderr.contains(again), "{}", failed.stderr);
    assert_eq!(project.perfunit(["report", "--format", "json"]).expect(0).json()["summary"]["verdicts"]["slower"], 1);
    let fine = project.perfunit(["diff", "HEAD..HEAD", "--report", "json=/proc/none/perf.json"]).expect(102);
    assert!(fine.stderr.contains("cannot create the folder /proc/none"), "{}", fine.stderr);
}

#[test]
fn documents_are_valid_by_the_schemas_that_the_tool_prints() {
    let project = Project::library(&source(500), &source(1500));
    let schema = |kind: &str| project.perfunit(["report", "--schema", kind]).expect(0).json();
    let check = |kind: &str, document: &Value| {
        let schema = schema(kind);
        let validator = jsonschema::validator_for(&schema).unwrap();
        let errors: Vec<String> = validator.iter_errors(document).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{kind}: {errors:#?}");
    };
    check("diff", &project.diff(&["--explain", "always", "--all-tests"]).expect(100).json());
    check("list", &project.perfunit(["list", "HEAD~1", "--message-format", "json"]).expect(0).json());
    check("explain", &project.perfunit(["explain", "--message-format", "json"]).expect(0).json());
    check("runs", &project.perfunit(["report", "--list", "--format", "json"]).expect(0).json());
    check("doctor", &project.perfunit(["doctor", "--message-format", "json"]).expect(0).json());
    assert_eq!(project.perfunit(["report", "--schema"]).expect(0).json(), schema("diff"));
}

fn read(project: &Project, path: &str) -> Value {
    serde_json::from_slice(&fs::read(project.path().join(path)).unwrap()).unwrap()
}
