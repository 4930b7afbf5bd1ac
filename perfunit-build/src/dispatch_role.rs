//! The executable in place of the user's binaries that integration tests start (`CARGO_BIN_EXE_*`).
//!
//! Both sides compile the same path into their tests, or their code would differ; this program stands there and becomes
//! the binary of the side whose test started it.

use perfunit_model::error::{Error, Result};
use perfunit_system::fs;
use perfunit_system::os;
use perfunit_system::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use perfunit_system::os::unix::process::CommandExt;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Name of the folder, beside `build` and `sides`.
const FOLDER: &str = "bin-exe";
/// The last bytes of a stand-in.
const MARK: &[u8; 17] = b"perfunit-stand-in";
/// Environment variable of all processes of a test executable: the folder of their side.
pub const SIDE_VARIABLE: &str = "PERFUNIT_SIDE_DIR";
/// Ancestors that are searched for [`SIDE_VARIABLE`].
const MOST_ANCESTORS: usize = 16;

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
    let mut bytes = fs::read(&own)?;
    bytes.extend(mark(place.file_name().unwrap_or_default()));
    fs::remove_file(&place)?;
    fs::write(&place, bytes)?;
    fs::make_executable(&place)
}

/// What a stand-in ends with: a test may copy it, and the copy has to know what it stands for.
fn mark(name: &OsStr) -> Vec<u8> {
    let length = (name.len() as u64).to_le_bytes();
    [name.as_bytes(), &length, MARK.as_slice()].concat()
}

/// The name of the binary that this process stands for, if it was started as a stand-in.
fn stands_for(executable: &Path) -> Option<OsString> {
    const END: usize = size_of::<u64>() + MARK.len();
    let mut file = File::open(executable).ok()?;
    let start = file.metadata().ok()?.len().checked_sub(END as u64)?;
    let mut end = [0; END];
    file.seek(SeekFrom::Start(start)).ok()?;
    file.read_exact(&mut end).ok()?;
    let (length, found) = end.split_at(size_of::<u64>());
    let length = u64::from_le_bytes(length.try_into().ok()?);
    file.seek(SeekFrom::Start(start.checked_sub(length).filter(|_| found == MARK)?)).ok()?;
    let mut name = vec![0; usize::try_from(length).ok()?];
    file.read_exact(&mut name).ok()?;
    Some(OsString::from_vec(name))
}

/// True if this process was started as a stand-in.
pub fn is_dispatched() -> bool {
    stands_for(Path::new(os::OWN_EXECUTABLE)).is_some()
}

/// The role's main: becomes the binary of the caller's side. Returns only on failure.
pub fn dispatch(arguments: impl Iterator<Item = OsString>) -> Error {
    let Some(name) = stands_for(Path::new(os::OWN_EXECUTABLE)) else {
        return Error::setup("cannot read our own executable");
    };
    let Some(side) = std::env::var_os(SIDE_VARIABLE).or_else(side_of_ancestors).map(PathBuf::from) else {
        return Error::setup(format!("the stand-in of {} was not started by a measured test", name.display()));
    };
    let binary = side.join(name);
    let mut command = Command::new(&binary);
    Error::setup(format!("cannot start {}: {}", binary.display(), command.args(arguments).exec()))
}

/// Returns the side of the closest ancestor that was started with one: a test may clear the environment of what it starts.
fn side_of_ancestors() -> Option<OsString> {
    let mut process = os::parent(None);
    for _ in 0..MOST_ANCESTORS {
        if let Some(side) = os::variable_of(process?, OsStr::new(SIDE_VARIABLE)) {
            return Some(side);
        }
        process = os::parent(process);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_a_stand_in_knows_what_it_stands_for() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("perfunit/build/release/own-binary");
        install(&place).unwrap();
        let copy = dir.path().join("another name");
        fs::copy(&dispatcher_path(&place), &copy).unwrap();
        assert_eq!(stands_for(&copy).unwrap(), "own-binary");
        assert_eq!(stands_for(&std::env::current_exe().unwrap()), None);
        fs::write(&copy, "short").unwrap();
        assert_eq!(stands_for(&copy), None);
    }
}
