//! Lists the benchmarks of an executable whose harness our stand-in replaces.
//!
//! Programs create benchmark names at run time, so the executable runs once without calling any benchmark body. Other
//! code of the program may take long, so a time limit applies.

use super::listing::{self, ListedTest};
use super::side_build::TestExecutable;
use perfunit_model::error::{Stop, Tried};
use perfunit_model::{Capture, Unlisted};
use perfunit_runtime::page::LIST_VARIABLE;
use perfunit_system::fs;
use perfunit_system::process::{self, Streams};
use perfunit_system::temporary::TestFolder;
use std::process::Command;
use std::time::Duration;

/// Time limit. A program that needs longer to reach its last benchmark would slow down every pair as much.
const LONGEST: Duration = Duration::from_mins(1);
/// Argument that cargo passes.
const ARGUMENT: &str = "--bench";

/// Lists the benchmarks of an executable, or returns the reason why that fails.
pub(super) fn list(executable: &TestExecutable) -> Tried<Vec<ListedTest>, Unlisted> {
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

fn found(list: &str) -> Vec<ListedTest> {
    let found = list.lines().filter_map(listing::parse_line);
    found.map(|found| ListedTest { capture: Some(Capture::Bench), ..found }).collect()
}
