//! `.config/perfunit.toml`: settings take effect, errors are reported with their place, and `show-config` names each
//! setting's source.

use crate::filters::{project, selected};
use crate::support::{Project, Run, repository_root};
use std::fs;

const PATH: &str = ".config/perfunit.toml";

fn with(text: &str) -> Project {
    let project = project();
    project.write(PATH, text);
    project
}

fn list(project: &Project, arguments: &[&str]) -> Run {
    project.perfunit(["list", "HEAD~1", "--head", "HEAD", "--message-format", "json"].iter().chain(arguments))
}

/// Returns the reason why a test is not measured.
#[track_caller]
fn reason(run: &Run, name: &str) -> serde_json::Value {
    let document = run.json();
    let tests = document["tests"].as_array().unwrap();
    let test = tests.iter().find(|test| test["name"] == name).unwrap_or_else(|| panic!("no {name}: {document:#}"));
    test["reason"].clone()
}

#[test]
fn skipped_tests_are_named_with_the_reason_and_its_place() {
    let project = with("[[skip]]\nfilter = \"test(long)\"\nreason = \"it waits for a server\"\n");
    let run = list(&project, &[]).expect(0);
    let reason = reason(&run, "tests::long");
    assert_eq!(reason["kind"], "skipped");
    assert_eq!((&reason["detail"], &reason["path"]), (&"it waits for a server".into(), &format!("{PATH}:2").into()));
    let run = project.perfunit(["list", "HEAD~1", "--why"]).expect(0);
    assert!(run.stdout.contains("skipped: it waits for a server (.config/perfunit.toml:2)"), "{}", run.stdout);
}

#[test]
fn profiles_set_the_default_filter_and_ignored_tests() {
    let project = with(
        "[profile.default]\ndefault-filter = \"package(parser)\"\n\n[profile.all]\ndefault-filter = \"all()\"\n\
         run-ignored = \"all\"\n",
    );
    let names = |arguments: &[&str]| selected(list(&project, arguments)).into_iter().collect::<Vec<_>>();
    assert_eq!(names(&[]), ["files", "tests::long", "tests::short"]);
    assert_eq!(names(&["-E", "test(long) | package(app)"]), ["tests::long"]);
    assert_eq!(names(&["-E", "default() & test(long)"]), ["tests::long"]);
    assert_eq!(names(&["--ignore-default-filter", "-p", "app"]), ["tests::runs"]);
    assert_eq!(names(&["-P", "all"]), ["files", "tests::huge", "tests::long", "tests::runs", "tests::short"]);
    assert_eq!(names(&["-P", "all", "--run-ignored", "only"]), ["tests::huge"]);
}

#[test]
fn overrides_set_thresholds_and_metrics_of_tests() {
    let project = with(
        "[profile.default]\nper-test-budget = \"3s\"\n\n[[profile.default.overrides]]\nfilter = \"test(short)\"\n\
         threshold = \"90%\"\n\n[[profile.default.overrides]]\nfilter = \"package(app)\"\nmetrics = [\"allocations\"]\n",
    );
    let run = project.diff(&["--workspace", "-E", "all() - test(files)"]);
    let document = run.expect(100).json();
    let tests = document["tests"].as_array().unwrap();
    let test = |name: &str| tests.iter().find(|test| test["name"] == name).unwrap();
    // Three times the work is slower by time, whatever the threshold.
    assert_eq!(test("tests::long")["verdict"], "slower");
    assert!((test("tests::long")["threshold"].as_f64().unwrap() - 0.01).abs() < 1e-9);
    assert_eq!(test("tests::short")["verdict"], "slower");
    assert!((test("tests::short")["threshold"].as_f64().unwrap() - 0.9).abs() < 1e-9);
    let note = |name: &str| test(name)["notes"].to_string();
    assert!(note("tests::short").contains("threshold 90 %, by .config/perfunit.toml:5"), "{}", note("tests::short"));
    // Neither version allocates.
    assert_eq!(test("tests::runs")["verdict"], "same");
    assert!(
        note("tests::runs").contains("judged by allocations, by .config/perfunit.toml:9"),
        "{}",
        note("tests::runs")
    );
    assert_eq!(test("tests::runs")["gates"], serde_json::json!(["allocations"]));
}

#[test]
fn data_files_are_ignored_or_reach_the_tests_that_are_named() {
    let project = Project::empty();
    let text = "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    project.write("Cargo.toml", text);
    let with_test = |name: &str, body: &str| format!("#[cfg(test)] #[test] fn {name}() {{ {body} }}\n");
    let reads = with_test("one", "assert!(std::fs::read(\"data/a.json\").is_ok());") + &with_test("two", "");
    project.write("src/lib.rs", &reads);
    for content in ["1", "2"] {
        project.write("data/a.json", content);
        project.write("data/deep/c.snap", content);
        project.commit("version");
    }
    let rules = "[[data]]\npaths = [\"**/*.snap\"]\nignore = true\n\n[[data]]\npaths = [\"data/*.json\"]\n\
        reaches = \"test(one)\"\n";
    project.write(PATH, rules);
    let run = list(&project, &[]).expect(0);
    assert_eq!(reason(&run, "one")["path"], "data/a.json");
    assert_eq!(reason(&run, "two")["kind"], "same-executable");

    // Files that are compiled in cannot be ignored.
    project.write("src/lib.rs", reads + &with_test("three", "assert_ne!(include_str!(\"../data/b.json\"), \"\");"));
    for content in ["1", "2"] {
        project.write("data/b.json", content);
        project.commit("version");
    }
    project.write(PATH, "[[data]]\npaths = [\"data/*\"]\nignore = true\n");
    let run = project.perfunit(["list", "HEAD~1", "--head", "HEAD"]).expect(0);
    assert!(run.stderr.contains("data/b.json is compiled in, so the rule"), "{}", run.stderr);

    project.write("src/lib.rs", "#[cfg(test)] mod tests { #[test] fn one() {} }\n");
    project.commit("nothing is compiled in");
    project.write("data/b.json", "3");
    project.commit("data alone");
    let run = project.perfunit(["list", "HEAD~1", "--head", "HEAD", "--explain-none"]).expect(0);
    assert!(run.stdout.contains("data/b.json: ignored (.config/perfunit.toml:2)"), "{}", run.stdout);
    assert!(run.stdout.contains("that the configuration ignores"), "{}", run.stdout);
}

#[test]
fn a_change_of_the_configuration_reaches_no_test() {
    let project = project();
    project.write(PATH, "[profile.default]\nthreshold = \"5%\"\n");
    project.commit("configured");
    let run = project.perfunit(["diff", "HEAD~1", "--head", "HEAD"]).expect(0);
    assert!(run.stdout.contains("nothing to measure"), "{}", run.stdout);
}

#[test]
fn what_is_wrong_is_named_with_file_and_line() {
    for (text, arguments, words) in [
        ("[profile.ci]\nthreshold = 2\n", &["-P", "ci"][..], ["perfunit.toml:2:13", "`2` must be", "hint: "]),
        ("[profile.ci]\nbudget = []\n", &[], ["perfunit.toml:2:10", "expected a duration", "hint: "]),
        ("[profile.ci\n", &[], ["perfunit.toml:1:", "hint: ", "docs/configuration.md"]),
        (
            "[profile.default]\ntreshold = \"2%\"\n",
            &[],
            ["perfunit.toml:2: unknown key `treshold`", "did you mean threshold?", "hint: "],
        ),
        ("", &["-P", "cii"], ["unknown profile `cii`", "hint: ", "did you mean ci?"]),
        (
            "[[skip]]\nfilter = \"package(parsr)\"\nreason = \"x\"\n",
            &[],
            ["perfunit.toml:2, column 9", "hint: ", "parser?"],
        ),
        (
            "[[data]]\npaths = [\"a\"]\nignore = true\nreaches = \"all()\"\n",
            &[],
            ["perfunit.toml:4", "both `ignore` and `reaches`", "hint: "],
        ),
    ] {
        let project = with(text);
        let run = list(&project, arguments).expect(2);
        for word in ["error: "].iter().chain(&words) {
            assert!(run.stderr.contains(word), "without `{word}`:\n{}", run.stderr);
        }
        assert_eq!(run.stdout, "");
    }
}

#[test]
fn contradictory_settings_are_refused() {
    let project = with("[profile.default]\nmetrics = [\"time\", \"instructions\"]\n");
    let run = project.perfunit(["diff", "HEAD~1", "--instructions", "never"]).expect(2);
    assert!(
        run.stderr.contains("`--metric instructions` cannot be used with `--instructions never`"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("hint: ") && run.stderr.contains("show-config"), "{}", run.stderr);
}

#[test]
fn settings_without_effect_are_warnings() {
    let project =
        with("[profile.default]\nthreshold = \"2%\"\n\n[[skip]]\nfilter = \"test(nosuch)\"\nreason = \"x\"\n");
    project.write("app/.config/perfunit.toml", "[profile.default]\n");
    let run = project.perfunit_in("app", ["list", "HEAD~1", "--workspace"]).expect(0);
    for warning in [
        "app/.config/perfunit.toml is ignored: the workspace's configuration is ",
        "warning: .config/perfunit.toml:5: no test matches `test(nosuch)`",
    ] {
        assert!(run.stderr.contains(warning), "without `{warning}`:\n{}", run.stderr);
    }
}

#[test]
fn show_config_tells_where_each_setting_comes_from() {
    let project = with(
        "[profile.default]\nthreshold = \"3%\"\n\n[profile.ci]\ntimeout = \"20s\"\n\n[[skip]]\nfilter = \"test(x)\"\n\
         reason = \"slow\"\n",
    );
    let show = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = Project::tool(&project.path().join("app"));
        command.arg("show-config").args(arguments).envs(variables.iter().copied());
        Run::of(command)
    };
    let run =
        show(&["--metric", "time,allocations"], &[("PERFUNIT_PROFILE", "ci"), ("PERFUNIT_BUDGET", "2m")]).expect(0);
    let words: Vec<String> =
        run.stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for line in [
        ".config/perfunit.toml, profile ci",
        "threshold 3% .config/perfunit.toml:2",
        "timeout 20s .config/perfunit.toml:5",
        "budget 120s PERFUNIT_BUDGET",
        "metrics time,allocations command line",
        "explain auto built in",
        "test(x) slow .config/perfunit.toml:8",
    ] {
        assert!(words.iter().any(|found| found == line), "without `{line}`:\n{}", run.stdout);
    }
    let document = show(&["--message-format", "json"], &[]).expect(0).json();
    let settings = document["settings"].as_array().unwrap();
    let threshold = settings.iter().find(|setting| setting["key"] == "threshold").unwrap();
    assert_eq!((&threshold["value"], &threshold["from"]["line"]), (&"3%".into(), &2.into()));
    let run = show(&[], &[("PERFUNIT_TIMEOUT", "x")]).expect(2);
    assert!(run.stderr.contains("PERFUNIT_TIMEOUT: invalid duration `x`"), "{}", run.stderr);
}

#[test]
fn the_published_schema_is_the_one_of_the_tool() {
    let project = Project::empty();
    let schema = project.perfunit(["show-config", "--schema"]).expect(0).stdout;
    let published = fs::read_to_string(repository_root().join("docs/schema/perfunit-config.json")).unwrap();
    assert!(
        schema == published,
        "write it anew: cargo perfunit show-config --schema > docs/schema/perfunit-config.json"
    );
}
