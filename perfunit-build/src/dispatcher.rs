//! Installs the dispatcher in place of the user's binaries that integration tests start (`CARGO_BIN_EXE_*`).
//!
//! Both sides must compile the same path into their tests, because otherwise their code would differ. The dispatcher is
//! at that path and becomes the binary of the side whose test started it. Its source is `perfunit-runtime/dispatcher`.

use perfunit_model::error::{Error, Result};
use perfunit_system::fs;
use perfunit_system::os::unix::ffi::OsStrExt as _;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Folder of the stand-ins, next to `build` and `sides`.
const FOLDER: &str = "bin-exe";
/// Last bytes of a stand-in.
const MARK: &[u8; 17] = b"perfunit-stand-in";
/// Environment variable with the folder of the side, for all processes of a test executable.
pub const SIDE_VARIABLE: &str = "PERFUNIT_SIDE_DIR";

/// Path of the dispatcher, if it could be built.
pub type Dispatcher = std::result::Result<PathBuf, NoDispatcher>;

/// The reason why the dispatcher could not be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoDispatcher(pub String);

/// Returns the path of the stand-in for a binary that cargo builds at `built` (`<ours>/build/<profile>/<name>`).
pub fn dispatcher_path(built: &Path) -> PathBuf {
    let ours = built.ancestors().find(|dir| dir.ends_with("perfunit/build")).and_then(Path::parent);
    match (ours, built.file_name()) {
        (Some(ours), Some(name)) => place(ours, name),
        _ => built.to_owned(),
    }
}

/// Returns the path of the stand-in for a binary of this name.
pub fn place(ours: &Path, name: &OsStr) -> PathBuf {
    folder(ours).join(name)
}

/// Returns the folder with all stand-ins.
pub fn folder(ours: &Path) -> PathBuf {
    ours.join(FOLDER)
}

/// Writes a stand-in for this binary.
pub fn install(ours: &Path, name: &OsStr, dispatcher: &Dispatcher) -> Result<()> {
    let dispatcher = dispatcher.as_ref().map_err(|why| {
        Error::setup(format!("cannot build the stand-in for the binary `{}`: {why}", name.display()))
            .hint("tests that start binaries of their package can only be measured on x86-64 and aarch64 Linux")
    })?;
    let (place, bytes) = (place(ours, name), stand_in(fs::read(dispatcher)?, name));
    if fs::read_if_exists(&place)?.is_some_and(|installed| installed == bytes) {
        return Ok(());
    }
    fs::remove_file(&place)?;
    fs::write(&place, bytes)?;
    fs::make_executable(&place)
}

/// Appends the binary's name to the dispatcher. A test may copy the file, and the copy needs the name.
fn stand_in(mut dispatcher: Vec<u8>, name: &OsStr) -> Vec<u8> {
    dispatcher.extend(name.as_bytes());
    dispatcher.extend((name.len() as u64).to_le_bytes());
    dispatcher.extend(MARK);
    dispatcher
}
