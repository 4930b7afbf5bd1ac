//! The executable as cargo's test runner: instead of running a test executable, records how cargo would run it.
//!
//! The recorded environment is therefore exactly cargo's: `[env]`, `CARGO_*`, library paths, and working folder.

use perfunit_model::error::{Error, Result};
use perfunit_system::fs;
use perfunit_system::json;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// First argument that selects this role.
pub const RUNNER_ARGUMENT: &str = "__capture-environment";
/// Environment variable with the folder for the records.
pub(super) const FOLDER_VARIABLE: &str = "PERFUNIT_CAPTURE_DIR";

/// The way cargo runs a test executable.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Invocation {
    /// Path at which cargo placed the executable.
    pub executable: PathBuf,
    pub cwd: PathBuf,
    pub env: BTreeMap<String, String>,
}

/// Runs the role. `arguments` are the executable and its arguments.
pub fn capture(mut arguments: impl Iterator<Item = OsString>) -> Result<()> {
    let executable = arguments.next().ok_or_else(|| Error::usage("no executable given"))?;
    let executable = std::path::absolute(&executable).map_err(|error| Error::setup(error.to_string()))?;
    let cwd = std::env::current_dir().map_err(|error| Error::setup(error.to_string()))?;
    note(&executable, &cwd)
}

/// Records that tests run with the environment of this process. Each process records one executable.
pub(super) fn note(executable: &Path, cwd: &Path) -> Result<()> {
    let folder = std::env::var_os(FOLDER_VARIABLE)
        .ok_or_else(|| Error::usage(format!("{RUNNER_ARGUMENT} is for internal use by cargo")))?;
    // Our own role that extracts doc tests.
    let environment = users_environment().filter(|(name, _)| name != "RUSTDOC");
    let env =
        environment.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))).collect();
    let note = Invocation { executable: executable.to_owned(), cwd: cwd.to_owned(), env };
    json::write(&Path::new(&folder).join(format!("{}.json", std::process::id())), &note)
}

/// Returns the environment without our own variables.
pub(super) fn users_environment() -> impl Iterator<Item = (OsString, OsString)> {
    let ours = |name: &OsString| name == "RUSTC_WORKSPACE_WRAPPER" || name.to_string_lossy().starts_with("PERFUNIT_");
    std::env::vars_os().filter(move |(name, _)| !ours(name))
}

/// Reads the records and removes their folder. Keeps only the variables that cargo set: the user's variables may hold
/// secrets that must not stay on disk, and may differ in the next run.
pub fn collect(folder: &Path) -> Result<Vec<Invocation>> {
    let mut notes = Vec::new();
    for path in fs::list_dir(folder)? {
        let mut note: Invocation = json::read(&path)?;
        // If cargo started this process, for example in a test, cargo's variables are already set here. Keep those that
        // identify the package.
        let is_users = |name: &String, value: &str| std::env::var_os(name).is_some_and(|own| own == value);
        note.env.retain(|name, value| name.starts_with("CARGO_PKG_") || !is_users(name, value));
        notes.push(note);
    }
    fs::remove_dir_all(folder)?;
    Ok(notes)
}
