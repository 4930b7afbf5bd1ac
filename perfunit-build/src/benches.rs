//! The benchmarks of an executable that our stand-in of their harness serves.
//!
//! Their names are made when the program runs: it is run once, and none of their bodies is called. What it does before and
//! between them takes as long as it takes, so there is a limit.

use super::kept::TestExecutable;
use super::listing::{self, Found};
use perfunit_model::error::{Stop, Tried};
use perfunit_model::{Capture, Unlisted};
use perfunit_runtime::page::LIST_VARIABLE;
use perfunit_system::fs;
use perfunit_system::process::{self, Streams};
use perfunit_system::temporary::TestFolder;
use std::process::Command;
use std::time::Duration;

/// A program that has not come to its last benchmark by then would make every pair as long.
const LONGEST: Duration = Duration::from_mins(1);
/// As cargo calls it.
const ARGUMENT: &str = "--bench";

/// Returns what an executable lists; or why it does not.
pub(super) fn list(executable: &TestExecutable) -> Tried<Vec<Found>, Unlisted> {
    process::spare_children();
    let temporary = TestFolder::create("listed")?;
    temporary.empty()?;
    let list = temporary.path().join("benches");
    let mut command = Command::new(&executable.path);
    command.arg(ARGUMENT).current_dir(&executable.cwd).env_clear().envs(executable.environment());
    command.envs([temporary.variable()]).env(LIST_VARIABLE, &list);
    let status = process::output_within(&mut command, Streams::Out, LONGEST)?.status;
    let text = fs::read_if_exists(&list)?;
    let arguments = ARGUMENT.to_owned();
    let found = match (status, text) {
        (None, _) => Err(Unlisted::TimedOut { arguments, seconds: LONGEST.as_secs() }),
        (Some(status), _) if !status.success() => Err(Unlisted::Failed { arguments, status: status.to_string() }),
        (Some(_), None) if executable.target.kind.beside().is_some() => Err(Unlisted::NotCompiled),
        (Some(_), None) => Err(Unlisted::NoBenchmark),
        (Some(_), Some(text)) => Ok(found(&String::from_utf8_lossy(&text))),
    };
    found.map_err(Stop::Because)
}

fn found(list: &str) -> Vec<Found> {
    let found = list.lines().filter_map(listing::parse_line);
    found.map(|found| Found { capture: Some(Capture::Bench), ..found }).collect()
}
