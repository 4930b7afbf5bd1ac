//! The executable in place of the user's binaries that integration tests start (`CARGO_BIN_EXE_*`).
//!
//! Both sides compile the same path into their tests, or their code would differ; this program stands there and becomes
//! the binary of the side whose test started it.

use crate::error::{Error, Result};
use crate::fs;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Name of the folder, beside `build` and `sides`.
const FOLDER: &str = "bin-exe";
/// Environment variable of measured processes: the folder of their side.
pub const SIDE_VARIABLE: &str = "PERFUNIT_SIDE_DIR";

/// Where the stand-in lies for a binary that cargo builds at `built` (`<ours>/build/<profile>/<name>`).
pub fn dispatcher_path(built: &Path) -> PathBuf {
    let ours = built.ancestors().find(|dir| dir.ends_with("perfunit/build")).and_then(Path::parent);
    match (ours, built.file_name()) {
        (Some(ours), Some(name)) => ours.join(FOLDER).join(name),
        _ => built.to_owned(),
    }
}

/// Puts our executable at the stand-in's place.
pub fn install(built: &Path) -> Result<()> {
    let place = dispatcher_path(built);
    if place == built {
        return Ok(());
    }
    let own = std::env::current_exe().map_err(|error| Error::setup(error.to_string()))?;
    fs::remove_file(&place)?;
    fs::copy(&own, &place)
}

/// True if this process was started as a stand-in.
pub fn is_dispatched() -> bool {
    std::env::current_exe()
        .is_ok_and(|path| path.parent().is_some_and(|dir| dir.ends_with(Path::new("perfunit").join(FOLDER))))
}

/// The role's main: becomes the binary of the caller's side. Returns only on failure.
pub fn dispatch(arguments: impl Iterator<Item = OsString>) -> Error {
    let Ok(own) = std::env::current_exe() else { return Error::setup("cannot find our own executable") };
    let name = own.file_name().unwrap_or_default();
    let Some(side) = std::env::var_os(SIDE_VARIABLE).map(PathBuf::from).or_else(side_of_ancestors) else {
        return Error::setup(format!("{} was not started by a measured test", own.display()));
    };
    let mut command = Command::new(side.join(name));
    Error::setup(format!("cannot start {}: {}", side.join(name).display(), command.args(arguments).exec()))
}

/// For tests that clear the environment: the side whose executable is among our ancestors.
fn side_of_ancestors() -> Option<PathBuf> {
    let mut process = nix::unistd::getppid().as_raw();
    for _ in 0..16 {
        let executable = std::fs::read_link(format!("/proc/{process}/exe")).ok()?;
        if let Some(side) =
            executable.ancestors().find(|dir| dir.parent().is_some_and(|p| p.ends_with("perfunit/sides")))
        {
            return Some(side.to_owned());
        }
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // After the name in parentheses: state, parent.
        process = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
    }
    None
}
