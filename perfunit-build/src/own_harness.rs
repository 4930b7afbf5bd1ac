//! Lists the tests of targets with their own harness (`harness = false`).
//!
//! The protocol is cargo-nextest's: `--list --format terse` prints a line `name: test` for each test, with `--ignored`
//! only ignored ones, and `name --exact --nocapture` runs one test. A harness that does not support the protocol may
//! run anything, so it is called once with a time limit, and never for single tests.

use super::bytes::contains;
use super::listing::ListedTest;
use super::side_build::TestExecutable;
use perfunit_model::error::{Stop, Tried};
use perfunit_model::{Capture, Unlisted};
use perfunit_runtime::page::HARNESS_MARKER;
use perfunit_system::fs;
use perfunit_system::process::{self, Streams};
use perfunit_system::temporary::TestFolder;
use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

/// Time limit. Printing names takes milliseconds.
const LONGEST: Duration = Duration::from_secs(10);
/// Longest part of a line to show in a message.
const SHOWN: usize = 60;

/// Lists the tests of an executable with its own harness, or returns the reason why that fails.
pub(super) fn list(executable: &TestExecutable) -> Tried<Vec<ListedTest>, Unlisted> {
    if contains(&fs::read(&executable.path)?, HARNESS_MARKER.as_bytes()) {
        // This harness only answers our requests for other executables.
        return Ok(Vec::new());
    }
    process::spare_children();
    let all = ask(executable, &["--list", "--format", "terse"])?;
    if all.is_empty() {
        return Err(Stop::Because(Unlisted::Nothing));
    }
    let ignored = ask(executable, &["--list", "--format", "terse", "--ignored"])?;
    let found = |name: &String| ListedTest {
        ignored: ignored.contains(name),
        of_name: run_with(name, &all),
        name: name.clone(),
        place: None,
        capture: Some(Capture::Process),
        obstacle: None,
    };
    Ok(all.iter().collect::<BTreeSet<_>>().into_iter().map(found).collect())
}

/// Counts the tests that run under this name. A harness may list a name twice, and libtest-mimic also runs tests listed
/// as `[kind] name`.
fn run_with(name: &str, all: &[String]) -> usize {
    let without_kind = |listed: &str| listed.strip_prefix('[')?.split_once("] ").map(|(_, name)| name.to_owned());
    all.iter().filter(|listed| *listed == name || without_kind(listed).as_deref() == Some(name)).count()
}

fn ask(executable: &TestExecutable, arguments: &[&str]) -> Tried<Vec<String>, Unlisted> {
    // A harness that runs all its tests needs the same environment as a test run.
    let temporary = TestFolder::create("listed")?;
    temporary.empty()?;
    let mut command = Command::new(&executable.path);
    command.args(arguments).current_dir(&executable.cwd).env_clear().envs(executable.environment());
    command.envs([temporary.variable()]);
    let output = process::output_within(&mut command, Streams::Out, LONGEST)?;
    let names = match output.status {
        None => Err(Unlisted::TimedOut { arguments: arguments.join(" "), seconds: LONGEST.as_secs() }),
        Some(status) if !status.success() => {
            Err(Unlisted::Failed { arguments: arguments.join(" "), status: status.to_string() })
        }
        Some(_) => names(&output.text),
    };
    names.map_err(Stop::Because)
}

/// Parses the names in a list. Any other line is an error.
fn names(list: &str) -> Result<Vec<String>, Unlisted> {
    let name = |line: &str| {
        let name = [": test", ": benchmark", ": bench"].into_iter().find_map(|end| line.strip_suffix(end));
        name.filter(|name| !name.is_empty())
            .map(str::to_owned)
            .ok_or_else(|| Unlisted::OtherForm { line: line.chars().take(SHOWN).collect() })
    };
    list.lines().filter(|line| !line.trim().is_empty()).map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(list: &str, expected: &[&str]) {
        assert_eq!(names(list).unwrap(), expected);
    }

    #[test]
    fn tests_and_benchmarks_are_listed_by_their_names() {
        check("", &[]);
        check("b::c: test\na with spaces: test\n\n", &["b::c", "a with spaces"]);
        check("[kind] a: test\nfast: benchmark\nmimics: bench\n", &["[kind] a", "fast", "mimics"]);
    }

    #[test]
    fn tests_that_one_name_runs_are_counted() {
        let all = names("a: test\na: test\nb: test\n[kind] b: test\n[kind] c: test\n").unwrap();
        let counts = ["a", "b", "[kind] b", "[kind] c"].map(|name| run_with(name, &all));
        assert_eq!(counts, [2, 2, 1, 1]);
    }

    #[test]
    fn a_main_that_runs_its_tests_instead_is_not_understood() {
        let other = Unlisted::OtherForm { line: "running 3 tests".to_owned() };
        assert_eq!(names("a: test\nrunning 3 tests\n"), Err(other));
        assert!(names(": test\n").is_err());
        assert_eq!(names(&"ä".repeat(500)).unwrap_err().to_string().matches('ä').count(), SHOWN);
    }
}
