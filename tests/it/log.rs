//! `PERFUNIT_LOG`: what the tool does, step by step, on standard error.

use crate::support::{Project, Run};

fn logged(project: &Project, arguments: &[&str], level: &str) -> Run {
    let mut command = Project::tool(project.path());
    command.args(arguments).env("PERFUNIT_LOG", level);
    Run::of(command)
}

#[test]
fn stages_commands_reused_sides_and_tests_are_logged_on_request_alone() {
    let project = Project::library(&crate::source(500), &crate::source(1500));
    let plain = project.perfunit(["list", "HEAD~1"]).expect(0);
    let log = logged(&project, &["diff", "HEAD~1", "--explain", "never"], "debug").expect(100);
    for part in ["select", "kept side reused", "test measured test=", "tests::mixes", "started command=", "close"] {
        assert!(log.stderr.contains(part), "without {part}:\n{}", log.stderr);
    }
    for part in ["command=", "kept side reused"] {
        assert!(!plain.stderr.contains(part), "{part} without a request:\n{}", plain.stderr);
        assert!(!log.stdout.contains(part), "{part} among the results:\n{}", log.stdout);
    }
}

#[test]
fn a_level_that_is_none_is_refused() {
    let refused = logged(&Project::empty(), &["doctor"], "loud").expect(2);
    assert!(refused.stderr.contains("invalid PERFUNIT_LOG `loud`\nhint: use error, warn, info"), "{}", refused.stderr);
}
