//! Puts the dispatcher in place of the user's binaries that integration tests start (`CARGO_BIN_EXE_*`).
//!
//! Both sides compile the same path into their tests, or their code would differ. The dispatcher lies there and becomes the
//! binary of the side whose test started it; its source is `perfunit-runtime/dispatcher`.

use perfunit_model::error::{Error, Result};
use perfunit_system::fs;
use perfunit_system::os::unix::ffi::OsStrExt as _;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Name of the folder, beside `build` and `sides`.
const FOLDER: &str = "bin-exe";
/// The last bytes of a stand-in.
const MARK: &[u8; 17] = b"perfunit-stand-in";
/// Environment variable of all processes of a test executable: the folder of their side.
pub const SIDE_VARIABLE: &str = "PERFUNIT_SIDE_DIR";

/// Returns the place of the stand-in for a binary that cargo builds at `built` (`<ours>/build/<profile>/<name>`).
pub fn dispatcher_path(built: &Path) -> PathBuf {
    let ours = built.ancestors().find(|dir| dir.ends_with("perfunit/build")).and_then(Path::parent);
    match (ours, built.file_name()) {
        (Some(ours), Some(name)) => place(ours, name),
        _ => built.to_owned(),
    }
}

/// Returns the place of the stand-in for a binary of this name.
pub fn place(ours: &Path, name: &OsStr) -> PathBuf {
    folder(ours).join(name)
}

/// Returns the folder with all stand-ins.
pub fn folder(ours: &Path) -> PathBuf {
    ours.join(FOLDER)
}

/// Puts a copy of the dispatcher at the place of this binary's stand-in.
pub fn install(ours: &Path, name: &OsStr, dispatcher: Option<&Path>) -> Result<()> {
    let Some(dispatcher) = dispatcher else {
        return Err(Error::setup(format!("cannot build the program that stands in for `{}` in tests", name.display()))
            .hint("tests that start binaries of their package are measured on x86-64 and aarch64 Linux"));
    };
    let (place, bytes) = (place(ours, name), stand_in(fs::read(dispatcher)?, name));
    if fs::read_if_exists(&place)?.is_some_and(|installed| installed == bytes) {
        return Ok(());
    }
    fs::remove_file(&place)?;
    fs::write(&place, bytes)?;
    fs::make_executable(&place)
}

/// Appends the binary's name to the dispatcher: a test may copy the file, and the copy has to know the name.
fn stand_in(mut dispatcher: Vec<u8>, name: &OsStr) -> Vec<u8> {
    dispatcher.extend(name.as_bytes());
    dispatcher.extend((name.len() as u64).to_le_bytes());
    dispatcher.extend(MARK);
    dispatcher
}
