//! `cargo perfunit log`.

use crate::source;
use crate::support::{Project, Run};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Creates seven commits after the first: the third makes the test three times as slow, the second does not build.
fn seven() -> Project {
    let project = Project::library(&source(500), &format!("// One.\n{}", source(500))).with_natural_layout();
    project.write("src/lib.rs", format!("mod missing;\n{}", source(500)));
    project.commit("Two: broken");
    project.write("src/lib.rs", source(1500));
    project.commit("Three: slower");
    for (number, word) in [(4, "Four"), (5, "Five"), (6, "Six"), (7, "Seven")] {
        project.write("src/lib.rs", format!("pub fn unused_{number}() {{}}\n{}", source(1500)));
        project.commit(word);
    }
    project
}

const QUICK: [&str; 2] = ["--explain", "never"];

#[test]
fn log_names_the_commit_that_changed_a_test_and_skips_what_does_not_build() {
    let project = seven();
    let before = project.status();
    let run = project.perfunit(["log", "HEAD~7"].iter().chain(&QUICK)).expect(0);
    let line =
        |part: &str| run.stdout.lines().find(|line| line.contains(part)).unwrap_or_else(|| panic!("{}", run.stdout));
    assert!(line("Three: slower").trim_start().starts_with("Slower"), "{}", run.stdout);
    assert!(line("Two: broken").trim_start().starts_with("Skipped"), "{}", run.stdout);
    assert!(line("does not build").contains("missing"), "{}", run.stdout);
    for unchanged in ["Four", "Seven"] {
        assert!(line(unchanged).trim_start().starts_with("Unchanged"), "{}", run.stdout);
    }
    assert!(line("Course").contains("tests::mixes"), "{}", run.stdout);
    assert_eq!(project.status(), before);

    // Known results are not measured again and stay the same.
    let again = project.perfunit(["log", "HEAD~7", "--message-format", "json"].iter().chain(&QUICK)).expect(0);
    assert!(!again.stderr.contains("Compiling") && !again.stderr.contains("Measuring"), "{}", again.stderr);
    let document = again.json();
    let commits = document["commits"].as_array().unwrap();
    let outcomes: Vec<_> = commits.iter().map(|commit| commit["outcome"].as_str().unwrap()).collect();
    let compared = "compared";
    assert_eq!(outcomes, [compared, "does-not-build", compared, compared, compared, compared, compared]);
    // Compared with the commit before the one that does not build.
    assert_eq!(commits[2]["compared_with"], commits[0]["id"]);
    let course = &document["courses"][0];
    let points: Vec<_> = course["points"].as_array().unwrap().iter().map(|point| &point["commit"]).collect();
    // The first commit, the skipped one, the step, and the last.
    assert_eq!(points, [0, 1, 2, 6].map(|index| &commits[index]["id"]));
    assert!(course["points"][3]["ratio"].as_f64().unwrap() > 2.0, "{course}");
    assert_eq!(course["points"][3]["ratio"], course["points"][2]["ratio"]);
    let table = project.perfunit(["log", "HEAD~7", "--message-format", "csv"].iter().chain(&QUICK)).expect(0).stdout;
    assert_eq!(table.lines().filter(|line| line.contains(",slower,")).count(), 1, "{table}");
}

/// Returns commits, verdicts and reasons without figures.
fn table(document: &Value) -> Value {
    let commits = document["commits"].as_array().unwrap().iter().map(|commit| {
        let tests = commit["tests"].as_array().into_iter().flatten();
        let tests: Vec<_> = tests.map(|test| json!([test["name"], test["verdict"], test["reason"]])).collect();
        json!([commit["id"], commit["outcome"], commit["compared_with"], commit["error"], tests])
    });
    commits.collect()
}

/// Creates a broken, a slower, an equal and a faster commit.
fn five() -> Project {
    let project = Project::library(&source(500), &format!("// One.\n{}", source(500))).with_natural_layout();
    for (text, subject) in [
        (format!("mod missing;\n{}", source(500)), "Two: broken"),
        (source(1500), "Three: slower"),
        (format!("pub fn unused() {{}}\n{}", source(1500)), "Four: equal"),
        (source(500), "Five: faster"),
    ] {
        project.write("src/lib.rs", text);
        project.commit(subject);
    }
    project
}

fn log_of_five(project: &Project, store: &str, target: &str) -> Command {
    let mut command = project.command("");
    command.args(["log", "HEAD~5", "--message-format", "json", "--store", store, "--target-dir", target]).args(QUICK);
    command
}

fn killed_and_resumed(kills: usize) {
    let project = five();
    let started = Instant::now();
    let once = Run::of(log_of_five(&project, "target/once.sqlite", "target/once")).expect(0).json();
    let whole = started.elapsed();
    let mut moments = fastrand::Rng::with_seed(16);
    let mut killed = 0;
    while killed < kills {
        let mut command = log_of_five(&project, "target/killed.sqlite", "target/killed");
        let mut log = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(whole.mul_f64(moments.f64() / 4.0));
        // A log that ended before the kill has all results, so the next ones begin anew.
        if log.try_wait().unwrap().is_some() {
            std::fs::remove_file(project.path().join("target/killed.sqlite")).unwrap();
            continue;
        }
        log.kill().unwrap();
        log.wait().unwrap();
        killed += 1;
    }
    let resumed = Run::of(log_of_five(&project, "target/killed.sqlite", "target/killed")).expect(0).json();
    assert_eq!(table(&resumed), table(&once));
    assert_eq!(project.status(), Vec::<String>::new());
}

#[test]
fn a_log_that_was_killed_goes_on_to_the_same_table() {
    killed_and_resumed(5);
}

#[test]
#[ignore = "takes minutes"]
fn a_log_that_was_killed_twenty_times_goes_on_to_the_same_table() {
    killed_and_resumed(20);
}

#[test]
fn two_logs_at_once_on_one_store_say_the_same() {
    let project = five();
    let start = |target| {
        let mut command = log_of_five(&project, "target/both.sqlite", target);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    // Two folders, so that the logs do not wait for each other.
    let documents = [start("target/one"), start("target/other")].map(|log| {
        let output = log.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    });
    assert_eq!(documents[0]["commits"], documents[1]["commits"]);
    assert_eq!(documents[0]["commits"][2]["tests"][0]["verdict"], "slower");
}

#[test]
fn small_steps_that_add_up_are_found_over_the_range() {
    // Each step is smaller than the threshold.
    let project = Project::library(&source(1000), &source(1200));
    project.write("src/lib.rs", format!("// Equal.\n{}", source(1200)));
    project.commit("equal");
    project.write("src/lib.rs", source(1440));
    project.commit("once more");
    let arguments = ["log", "HEAD~3", "--threshold", "30%"];
    let run = project.perfunit(arguments.iter().chain(&QUICK)).expect(0);
    assert!(
        run.stdout.contains(" % slower [") && run.stdout.contains("no single commit made it slower"),
        "{}",
        run.stdout
    );
    assert!(run.stderr.contains("Left 2 commits of 3"), "{}", run.stderr);
    let document =
        project.perfunit(arguments.iter().chain(&QUICK).chain(&["--message-format", "json"])).expect(0).json();
    let commits = document["commits"].as_array().unwrap();
    assert!(
        commits.iter().flat_map(|commit| commit["tests"].as_array().unwrap()).all(|test| test["verdict"] != "slower")
    );
    let course = &document["courses"][0];
    let anchor = &course["anchors"][0];
    let expected = json!([true, false, true, "slower", document["base"]["id"], commits[2]["id"]]);
    let found =
        ["gradual", "contradiction", "complete", "verdict", "since", "commit"].map(|field| anchor[field].clone());
    assert_eq!(json!(found), expected);
    // The second commit has no point, because nothing changes there.
    let points: Vec<_> = course["points"].as_array().unwrap().iter().map(|point| &point["commit"]).collect();
    assert_eq!(points, [&commits[0]["id"], &commits[2]["id"]]);
    assert_eq!(course["points"][1]["anchored"], true);
    assert!(document["family_wise_error"].as_f64().unwrap() <= 0.01, "{document}");
}

#[test]
fn a_result_at_a_higher_error_rate_is_measured_again_before_it_is_reported() {
    let project = Project::library(&source(500), &format!("// One.\n{}", source(500))).with_natural_layout();
    project.write("src/lib.rs", source(1500));
    project.commit("slower");
    let log = |arguments: &[&str]| {
        let document =
            project.perfunit(["log", "--message-format", "json"].iter().chain(&QUICK).chain(arguments)).expect(0);
        let document = document.json();
        assert_eq!(document["commits"].as_array().unwrap().last().unwrap()["tests"][0]["verdict"], "slower");
        document["family_wise_error"].as_f64().unwrap()
    };
    // A single commit gets the whole error rate, each of two a part. Without time to measure again, the higher rate is
    // reported.
    assert!((log(&["HEAD~1"]) - 0.01).abs() < 1e-12);
    assert!((log(&["HEAD~2", "--budget", "1ms"]) - 0.01).abs() < 1e-12);
    assert!((log(&["HEAD~2"]) - 0.01 / 32.0).abs() < 1e-12);
    // A result at a lower error rate is not measured again.
    assert!((log(&["HEAD~1", "--budget", "1ms"]) - 0.01 / 32.0).abs() < 1e-12);
}

#[test]
fn releases_are_compared_directly_in_addition_to_commits() {
    let project = seven();
    let repository = git2::Repository::open(project.path()).unwrap();
    for (tag, commit) in [("v1", "HEAD~7"), ("v2", "HEAD~3")] {
        repository.tag_lightweight(tag, &repository.revparse_single(commit).unwrap(), false).unwrap();
    }
    let run = project.perfunit(["log", "--by-tag", "-v"].iter().chain(&QUICK)).expect(0);
    let text = &run.stdout;
    for part in [
        "(v2)",
        "against v1, 4 commits",
        "4 commits of 4 not looked at",
        "log v1..v2",
        "test code",
        "against v2, 3 commits",
    ] {
        assert!(text.contains(part), "without {part}: {text}");
    }
    assert!(run.stderr.contains("since v1"), "{}", run.stderr);
    project.perfunit(["log", "v1..HEAD~4"].iter().chain(&QUICK)).expect(0);
    let by_tag = ["log", "v1", "--by-tag", "--message-format"];
    let document = project.perfunit(by_tag.iter().chain(&["json"]).chain(&QUICK)).expect(0).json();
    let first = &document["releases"][0];
    assert_eq!(first["comparison"]["tests"][0]["verdict"], "slower");
    let outcomes: Vec<_> =
        first["commits"].as_array().unwrap().iter().map(|commit| commit["outcome"].clone()).collect();
    assert_eq!(outcomes, ["compared", "does-not-build", "compared", "open"]);
    assert_eq!(first["moved_by"][0]["commits"], json!([first["commits"][2]["id"]]));
    assert_eq!(document["releases"][1]["comparison"]["tests"], json!([]));
    let table = project.perfunit(by_tag.iter().chain(&["csv"]).chain(&QUICK)).expect(0).stdout;
    assert!(
        table.lines().any(|row| row.starts_with("v2,v1,compared,sample,sample,tests::mixes,unchanged,time,")),
        "{table}"
    );
}

#[test]
fn results_of_several_machines_are_joined() {
    let project = seven();
    let part = |range, file: &str| {
        let store = format!("target/of-{file}");
        let arguments = ["log", range, "--store", &store, "--export", file];
        project.perfunit(arguments.iter().chain(&QUICK)).expect(0);
    };
    part("HEAD~7..HEAD~4", "target/one.sqlite");
    part("HEAD~4..HEAD", "target/two.sqlite");
    let import = ["--import", "target/one.sqlite", "--import", "target/two.sqlite"];
    let joined = ["log", "HEAD~7", "--store", "target/joined.sqlite", "--message-format", "json"];
    let run = project.perfunit(joined.iter().chain(&import).chain(&QUICK)).expect(0);
    assert!(run.stderr.contains("one.sqlite: 3 new results, 0 known before\n"), "{}", run.stderr);
    assert!(!run.stderr.contains("Compiling") && !run.stderr.contains("Measuring"), "{}", run.stderr);
    let document = run.json();
    let outcomes: Vec<_> = document["commits"].as_array().unwrap().iter().map(|one| one["outcome"].clone()).collect();
    let compared = "compared";
    assert_eq!(outcomes, [compared, "does-not-build", compared, compared, compared, compared, compared]);
    let again = project.perfunit(joined.iter().chain(&import[..2]).chain(&QUICK)).expect(0);
    assert!(again.stderr.contains("0 new results, 3 known before\n"), "{}", again.stderr);
    // Results with other options are not used, which is reported.
    let other =
        project.perfunit(["log", "HEAD~1", "--threshold", "7%"].iter().chain(&import[..2]).chain(&QUICK)).expect(0);
    assert!(other.stderr.contains("3 were made with other options"), "{}", other.stderr);
}

#[test]
fn stores_that_cannot_be_used_are_named() {
    let (project, other) = (seven(), Project::library(&source(501), &source(502)));
    let unchanged = ["log", "HEAD~1", "--store", "target/h.sqlite"];
    project.perfunit(unchanged.iter().chain(&QUICK)).expect(0);
    let store = project.path().join("target/h.sqlite");
    let theirs = store.to_str().unwrap();
    let refused = |project: &Project, arguments: &[&str], code, part: &str| {
        let run = project.perfunit(["log", "HEAD~1"].iter().chain(arguments)).expect(code);
        assert!(run.stderr.contains(part) && run.stderr.contains("hint: "), "{arguments:?}: {}", run.stderr);
        assert!(!run.stderr.contains("Building"), "{}", run.stderr);
    };
    refused(&other, &["--store", theirs], 2, "is the history of another project");
    refused(&other, &["--import", theirs], 2, "is the history of another project");
    refused(&project, &["--import", "target/none.sqlite"], 2, "cannot read the history target/none.sqlite");
    refused(&project, &["--store", "/proc/h.sqlite"], 102, "/proc/h.sqlite");
    project.write("target/short.sqlite", &std::fs::read(&store).unwrap()[..2000]);
    refused(&project, &["--import", "target/short.sqlite"], 2, "cannot read the history target/short.sqlite");
    let newer = rusqlite::Connection::open(&store).unwrap();
    newer.pragma_update(None, "user_version", 9).unwrap();
    refused(&project, &["--store", theirs], 2, "has schema version 9");
    refused(&project, &["--store", theirs], 2, "remove the file, or name another one with --store");
    refused(&project, &["--import", theirs], 2, "has schema version 9");
    refused(&project, &["--store", "target/i.sqlite", "--export", "/proc/e.sqlite"], 102, "/proc");
}

#[test]
fn clones_without_the_commits_say_how_to_fetch_them() {
    let project = seven();
    let clone = project.path().join("target/clone");
    let url = format!("file://{}", project.path().display());
    let mut git = Command::new("git");
    git.args(["clone", "-q", "--depth", "3", &url]).arg(&clone);
    assert!(git.status().unwrap().success());
    let refused = |folder: &Path, arguments: &[&str], code, parts: &[&str]| {
        let mut command = Project::tool(folder);
        command.args(arguments);
        let run = Run::of(command).expect(code);
        for part in parts {
            assert!(run.stderr.contains(part), "{arguments:?}: {}", run.stderr);
        }
    };
    refused(&clone, &["log"], 102, &["commits that this clone does not have", "--unshallow"]);
    refused(&clone, &["log", "HEAD~5"], 102, &["HEAD~5", "--unshallow"]);
    refused(&clone, &["log", "--since", "2001-01-01"], 102, &["does not have", "--unshallow"]);
    refused(&clone, &["log", "--by-tag"], 102, &["does not have", "--unshallow"]);
    // An unrelated history.
    let repository = git2::Repository::open(project.path()).unwrap();
    let head = repository.head().unwrap().peel_to_commit().unwrap();
    let author = head.author();
    repository.commit(Some("refs/heads/other"), &author, &author, "c", &head.tree().unwrap(), &[]).unwrap();
    refused(project.path(), &["log", "other..main"], 2, &["is not an ancestor of", "hint: "]);
}

#[test]
fn files_that_are_not_a_history_are_refused() {
    let project = Project::library(&source(500), &source(1500));
    for (arguments, code, part) in [
        (&["log", "HEAD..HEAD~1"][..], 2, "is not an ancestor of"),
        (&["log", "HEAD..HEAD"], 2, "there are no commits"),
        (&["log", "v9"], 102, "unknown revision `v9`"),
        (&["log", "--max", "0"], 2, "--max"),
        (&["log", "--since", "soon"], 2, "use a day such as `2024-05-01`"),
        (&["log", "--since", "2024-01-01"], 2, "there are no commits in the range"),
        (&["log", "HEAD~1", "--merges"], 2, "none of the 1 commits in `HEAD~1` is a merge"),
        (&["log", "HEAD~1", "--by-tag", "--merges"], 2, "cannot be used with"),
    ] {
        let run = project.perfunit(arguments).expect(code);
        assert!(run.stderr.contains(part), "{arguments:?}: {}", run.stderr);
    }
    project.write("h.sqlite", "this is a text and not a history; ".repeat(100));
    let run = project.perfunit(["log", "HEAD~1", "--store", "h.sqlite"]).expect(102);
    assert!(run.stderr.contains("h.sqlite") && run.stderr.contains("--store"), "{}", run.stderr);
}
