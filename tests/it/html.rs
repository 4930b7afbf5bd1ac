//! `--report html=FILE`: a self-contained page of a run or a history.

use crate::source;
use crate::support::Project;
use std::fs;

#[test]
fn a_run_becomes_one_page_with_its_plots_and_its_responsible_function() {
    let project = Project::library(&source(500), &source(1500)).with_natural_layout();
    project.diff(&["--explain", "always", "--report", "html=target/perf.html"]).expect(100);
    let page = fs::read_to_string(project.path().join("target/perf.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"), "{page}");
    assert!(page.contains("<h1 class=\"slower\">1 test got slower</h1>"), "{page}");
    assert!(page.contains("tests::<b>mixes</b>") && page.contains("responsible: slow (src/lib.rs:3)"), "{page}");
    // Both plots, the flame graph, and the test that was not measured.
    assert_eq!(page.matches("class=\"plot\"").count(), 2);
    assert!(page.contains("<circle") && page.contains("class=\"hill head\"") && page.contains(">▲ slow<"), "{page}");
    assert!(
        page.contains("tests::<b>is_ignored</b>") && page.contains("ignored (measured with --run-ignored all)"),
        "{page}"
    );

    let again = project.perfunit(["report", "--format", "html"]).expect(0);
    assert_eq!(again.stdout, page, "a saved run makes the same page");
}

#[test]
fn a_history_becomes_one_page_that_stored_results_reproduce() {
    let project = Project::library(&source(500), &source(1500)).with_natural_layout();
    let log = |arguments: &[&str]| project.perfunit(["log", "HEAD~1", "--explain", "never"].iter().chain(arguments));
    // No result is stored yet, and nothing is built.
    let open = log(&["--stored"]).expect(0);
    assert!(open.stdout.contains("1 commit not compared yet") && !open.stderr.contains("Building"), "{}", open.stderr);

    log(&["--report", "html=target/log.html", "--report", "markdown=target/log.md"]).expect(0);
    let read = |file: &str| fs::read_to_string(project.path().join("target").join(file)).unwrap();
    let page = read("log.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"), "{page}");
    assert!(page.contains("<h1 class=\"slower\">1 of 1 commit made tests slower</h1>"), "{page}");
    assert!(page.contains("tests::<b>mixes</b>") && page.matches("<circle").count() == 1, "{page}");
    let text = read("log.md");
    assert!(text.contains("| `sample tests::mixes` |") && text.contains("| slower |"), "{text}");

    let again = log(&["--stored", "--message-format", "html"]).expect(0);
    assert!(!again.stderr.contains("Building"), "{}", again.stderr);
    assert_eq!(again.stdout, page);
    let refused = log(&["--report", "yaml=a"]).expect(2);
    assert!(refused.stderr.contains("use text, markdown, json, csv, html"), "{}", refused.stderr);
}
