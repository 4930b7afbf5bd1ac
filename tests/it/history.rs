//! `cargo perfunit log`.

use crate::source;
use crate::support::Project;

/// Seven commits after the first: the third of them makes the test three times as slow, the second does not build.
fn seven() -> Project {
    let project = Project::library(&source(500), &format!("// One.\n{}", source(500)));
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

    // What is known is not measured again, and is the same.
    let again = project.perfunit(["log", "HEAD~7", "--message-format", "json"].iter().chain(&QUICK)).expect(0);
    assert!(!again.stderr.contains("Compiling") && !again.stderr.contains("Measuring"), "{}", again.stderr);
    let document = again.json();
    let commits = document["commits"].as_array().unwrap();
    let outcomes: Vec<_> = commits.iter().map(|commit| commit["outcome"].as_str().unwrap()).collect();
    let compared = "compared";
    assert_eq!(outcomes, [compared, "does-not-build", compared, compared, compared, compared, compared]);
    // Against the commit before the one that does not build.
    assert_eq!(commits[2]["compared_with"], commits[0]["id"]);
    let course = &document["courses"][0];
    assert!(course["points"][6]["ratio"].as_f64().unwrap() > 2.0, "{course}");
    assert_eq!(course["points"][6]["ratio"], course["points"][2]["ratio"]);
    let table = project.perfunit(["log", "HEAD~7", "--message-format", "csv"].iter().chain(&QUICK)).expect(0).stdout;
    assert_eq!(table.lines().filter(|line| line.contains(",slower,")).count(), 1, "{table}");
}

#[test]
fn what_is_no_history_is_refused() {
    let project = Project::library(&source(500), &source(1500));
    for (arguments, code, part) in [
        (&["log", "HEAD..HEAD~1"][..], 2, "is not an ancestor of"),
        (&["log", "HEAD..HEAD"], 2, "there are no commits"),
        (&["log", "v9"], 102, "unknown revision `v9`"),
        (&["log", "--max", "0"], 2, "--max"),
    ] {
        let run = project.perfunit(arguments).expect(code);
        assert!(run.stderr.contains(part), "{arguments:?}: {}", run.stderr);
    }
    project.write("h.sqlite", "this is a text and not a history; ".repeat(100));
    let run = project.perfunit(["log", "HEAD~1", "--store", "h.sqlite"]).expect(102);
    assert!(run.stderr.contains("h.sqlite") && run.stderr.contains("--store"), "{}", run.stderr);
}
