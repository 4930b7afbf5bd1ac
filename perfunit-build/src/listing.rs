//! Lists the tests of an executable with our runner or libtest, and how each was captured.

use super::bytes::find;
use super::side_build::TestExecutable;
use perfunit_model::error::{Error, Result};
use perfunit_model::{Capture, NotCaptured};
use perfunit_runtime::page::LIST_VARIABLE;
use perfunit_system::fs;
use perfunit_system::process;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

/// Marker that the macro leaves in the executable for each captured test: `perfunit-test=crate::module::name;`.
const MARKER: &[u8] = b"perfunit-test=";
/// Marker of generated workloads.
pub const GENERATED_MARKER: &str = "perfunit-generated=";
/// Longest test name to search behind a marker.
const LONGEST_NAME: usize = 4096;

/// A test in an executable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedTest {
    /// Name that libtest prints.
    pub name: String,
    pub ignored: bool,
    /// Number of tests that run together under this name.
    pub of_name: usize,
    /// Source file as named by rustc, and line, if the harness reports them.
    pub place: Option<(String, usize)>,
    /// Capture method; `None` if the test was not captured.
    pub capture: Option<Capture>,
    /// Reason why the test was not captured, if known.
    pub obstacle: Option<NotCaptured>,
}

/// Lists the tests of an executable that our runner drives.
pub(super) fn by_runner(executable: &TestExecutable, scratch: &Path) -> Result<Vec<ListedTest>> {
    match ask_runner(executable, scratch)? {
        Some(found) => set_capture_methods(executable, found, Some(Capture::Runner)),
        None => by_libtest(executable),
    }
}

/// Lists the tests of an executable that libtest drives.
pub(super) fn by_libtest(executable: &TestExecutable) -> Result<Vec<ListedTest>> {
    set_capture_methods(executable, ask_libtest(executable)?, None)
}

/// Sets the capture method of each test: the macro if it left a marker, else `otherwise`.
fn set_capture_methods(
    executable: &TestExecutable,
    found: Vec<ListedTest>,
    otherwise: Option<Capture>,
) -> Result<Vec<ListedTest>> {
    let bytes = fs::read(&executable.path)?;
    let (marked, generated) = (marked_names(&bytes, MARKER), marked_names(&bytes, GENERATED_MARKER.as_bytes()));
    let with = |test: ListedTest| {
        let capture = match &test.name {
            _ if test.obstacle.is_some() => None,
            name if marked.contains(name) => Some(Capture::Macro),
            name if generated.contains(name) => Some(Capture::Generated),
            _ => otherwise,
        };
        ListedTest { capture, ..test }
    };
    Ok(found.into_iter().map(with).collect())
}

/// Asks our runner for its tests. Returns `None` if the executable does not contain the runner: a crate that
/// `#![cfg(..)]` empties also loses the attribute that adds the runner.
fn ask_runner(executable: &TestExecutable, scratch: &Path) -> Result<Option<Vec<ListedTest>>> {
    let list = scratch.join(format!("list-{}", std::process::id()));
    let mut command = command(executable);
    run(command.env(LIST_VARIABLE, &list).stdout(Stdio::null()), executable)?;
    let Some(text) = fs::read_if_exists(&list)? else { return Ok(None) };
    fs::remove_file(&list)?;
    Ok(Some(String::from_utf8_lossy(&text).lines().filter_map(parse_line).collect()))
}

/// Parses a line with tab-separated fields: name, ignored, should panic, file, line, and the kind if it is not a test.
pub(super) fn parse_line(line: &str) -> Option<ListedTest> {
    let mut fields = line.split('\t');
    let (name, ignored, _should_panic) = (fields.next()?, fields.next()? == "true", fields.next()?);
    let place = fields.next().zip(fields.next().and_then(|line| line.parse().ok()));
    Some(ListedTest {
        name: name.to_owned(),
        ignored,
        of_name: 1,
        place: place.map(|(file, line)| (file.to_owned(), line)),
        capture: None,
        obstacle: fields.next().map(|_bench| NotCaptured::Benchmark),
    })
}

fn ask_libtest(executable: &TestExecutable) -> Result<Vec<ListedTest>> {
    let names = |only_ignored: bool| -> Result<BTreeSet<String>> {
        let mut command = command(executable);
        command.args(["--list", "--format", "terse"]).args(only_ignored.then_some("--ignored"));
        let output = run(command.stdout(Stdio::piped()), executable)?;
        Ok(output.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    };
    let ignored = names(true)?;
    let all = names(false)?;
    Ok(all
        .into_iter()
        .map(|name| {
            let ignored = ignored.contains(&name);
            ListedTest { name, ignored, of_name: 1, place: None, capture: None, obstacle: None }
        })
        .collect())
}

fn command(executable: &TestExecutable) -> Command {
    let mut command = Command::new(&executable.path);
    command
        .current_dir(&executable.cwd)
        .env_clear()
        .envs(executable.environment())
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    command
}

fn run(command: &mut Command, executable: &TestExecutable) -> Result<String> {
    let child = process::spawn(command)?;
    let failed = |why: String| Error::setup(format!("cannot list the tests of {}: {why}", executable.target));
    let output = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(output.status.to_string()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Finds test names, without the crate's name, that follow a marker in the executable.
fn marked_names(bytes: &[u8], marker: &[u8]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut rest = bytes;
    while let Some(start) = find(rest, marker) {
        rest = &rest[start + marker.len()..];
        let window = &rest[..rest.len().min(LONGEST_NAME)];
        let Some(end) = window.iter().position(|byte| *byte == b';') else { continue };
        if let Some((_, name)) = std::str::from_utf8(&window[..end]).ok().and_then(|path| path.split_once("::")) {
            names.insert(name.to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_names_lose_the_crate_and_survive_noise() {
        let bytes = b"\x7fELF..perfunit-test=demo::a::b;\0perfunit-test=demo::c;xperfunit-tes perfunit-test=\xff;";
        assert_eq!(marked_names(bytes, MARKER), BTreeSet::from(["a::b".to_owned(), "c".to_owned()]));
    }

    #[test]
    fn a_benchmark_among_tests_is_told_apart() {
        let obstacle = |line: &str| parse_line(line).unwrap().obstacle;
        assert_eq!(obstacle("a\tfalse\tfalse\tsrc/a.rs\t12\tbench"), Some(NotCaptured::Benchmark));
        assert_eq!(obstacle("a\tfalse\tfalse\tsrc/a.rs\t12"), None);
    }

    #[test]
    fn a_line_of_the_runner_is_understood() {
        let found = parse_line("a::b\ttrue\tfalse\tsrc/a.rs\t12").unwrap();
        assert_eq!(
            (found.name.as_str(), found.ignored, found.place),
            ("a::b", true, Some(("src/a.rs".to_owned(), 12)))
        );
    }
}
