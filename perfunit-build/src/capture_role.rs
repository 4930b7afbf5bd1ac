//! The executable as cargo's test runner: instead of running a test executable it notes how cargo would run it.
//!
//! So the environment is cargo's own: `[env]`, `CARGO_*`, library paths, working folder; nothing of it is guessed.

use perfunit_model::error::{Error, Result};
use perfunit_system::fs;
use perfunit_system::json;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// First argument by which `main` knows this role.
pub const RUNNER_ARGUMENT: &str = "__capture-environment";
/// Folder for the notes.
pub(super) const FOLDER_VARIABLE: &str = "PERFUNIT_CAPTURE_DIR";

/// How cargo runs one test executable.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Invocation {
    /// The executable where cargo put it.
    pub executable: PathBuf,
    pub cwd: PathBuf,
    pub env: BTreeMap<String, String>,
}

/// The role's main: `arguments` are the executable and its arguments.
pub fn capture(mut arguments: impl Iterator<Item = OsString>) -> Result<()> {
    let executable = arguments.next().ok_or_else(|| Error::usage("no executable given"))?;
    let executable = std::path::absolute(&executable).map_err(|error| Error::setup(error.to_string()))?;
    let cwd = std::env::current_dir().map_err(|error| Error::setup(error.to_string()))?;
    note(&executable, &cwd)
}

/// Notes that tests run with the environment that cargo gave this process, one executable a process.
pub(super) fn note(executable: &Path, cwd: &Path) -> Result<()> {
    let folder = std::env::var_os(FOLDER_VARIABLE)
        .ok_or_else(|| Error::usage(format!("{RUNNER_ARGUMENT} is called by cargo")))?;
    // That is us, in the role that extracts doc tests.
    let environment = users_environment().filter(|(name, _)| name != "RUSTDOC");
    let env =
        environment.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))).collect();
    let note = Invocation { executable: executable.to_owned(), cwd: cwd.to_owned(), env };
    json::write(&Path::new(&folder).join(format!("{}.json", std::process::id())), &note)
}

/// The environment without what is only for us.
pub(super) fn users_environment() -> impl Iterator<Item = (OsString, OsString)> {
    let ours = |name: &OsString| name == "RUSTC_WORKSPACE_WRAPPER" || name.to_string_lossy().starts_with("PERFUNIT_");
    std::env::vars_os().filter(move |(name, _)| !ours(name))
}

/// Reads the notes and removes the folder. Of the environment only what cargo set is returned: the rest is the user's,
/// may hold secrets that should not lie on the disk, and may be another one in the next run.
pub fn collect(folder: &Path) -> Result<Vec<Invocation>> {
    let mut notes = Vec::new();
    for path in fs::list_dir(folder)? {
        let mut note: Invocation = json::read(&path)?;
        // Who is started by cargo, such as a test, has the package's variables already; the package is known by them.
        let is_users = |name: &String, value: &str| std::env::var_os(name).is_some_and(|own| own == value);
        note.env.retain(|name, value| name.starts_with("CARGO_PKG_") || !is_users(name, value));
        notes.push(note);
    }
    fs::remove_dir_all(folder)?;
    Ok(notes)
}
