//! `PERFUNIT_LOG`: a log of the tool's steps on standard error.

use crate::support::{Project, Run};

fn logged(project: &Project, arguments: &[&str], level: &str) -> Run {
    let mut command = project.command("");
    command.args(arguments).env("PERFUNIT_LOG", level);
    Run::of(command)
}

#[test]
fn stages_commands_reused_sides_and_tests_are_logged_only_on_request() {
    let project = Project::library(&crate::source(500), &crate::source(1500)).with_natural_layout();
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
fn an_unknown_level_is_refused() {
    let refused = logged(&Project::empty(), &["doctor"], "loud").expect(2);
    assert!(refused.stderr.contains("invalid PERFUNIT_LOG `loud`\nhint: use error, warn, info"), "{}", refused.stderr);
}

#[test]
fn tests_that_are_too_long_for_pairs_come_last() {
    let source = |rounds: u32| {
        r"
#[inline(never)]
pub fn mix(seed: u64) -> u64 {
    (0..ROUNDS).fold(seed | 1, |state, round| (state ^ state << 13 ^ state >> 7).wrapping_add(round))
}
#[cfg(test)]
mod tests {
    #[test]
    fn a_long_one() {
        std::thread::sleep(std::time::Duration::from_millis(400));
        assert_ne!(super::mix(1), super::mix(2));
    }
    #[test]
    fn short() { assert_ne!(super::mix(3), super::mix(4)); }
}
"
        .replace("ROUNDS", &rounds.to_string())
    };
    let project = Project::library(&source(500), &source(1500)).with_natural_layout();
    let arguments = ["diff", "HEAD~1", "--per-test-budget", "2s", "--explain", "never"];
    let log = logged(&project, &arguments, "info").expect(100);
    let measured: Vec<&str> = log.stderr.lines().filter(|line| line.contains("test measured")).collect();
    assert!(
        measured.len() == 2 && measured[0].contains("short") && measured[1].contains("a_long_one"),
        "{}",
        log.stderr
    );
}
