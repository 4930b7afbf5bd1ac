//! `std::fs` with errors that name the path and say what we tried.

use crate::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use perfunit_model::error::{Error, Result};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};
use tempfile::{NamedTempFile, TempDir};

/// What a failed operation says.
pub fn failed<'a>(verb: &'a str, path: &'a Path) -> impl FnOnce(io::Error) -> Error + 'a {
    move |error| {
        let message = Error::setup(format!("cannot {verb} {}: {error}", path.display()));
        match error.kind() {
            io::ErrorKind::StorageFull => {
                message.hint("free some disk space; `cargo perfunit clean` removes what the tool keeps")
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::NotADirectory => {
                message.hint("choose a writable folder with --target-dir or CARGO_TARGET_DIR")
            }
            _ => message,
        }
    }
}

/// A path with an ending behind its name.
pub fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(ending);
    PathBuf::from(path)
}

/// An absolute path without `.` and `..`, as its names say: links are not followed.
pub fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(normal.pop()),
            part => normal.push(part),
        }
    }
    normal
}

/// Reads a file as bytes.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(failed("read", path))
}

/// What the file system says of a file.
pub fn metadata(path: &Path) -> Result<fs::Metadata> {
    fs::metadata(path).map_err(failed("look at", path))
}

/// Reads a file as text.
pub fn read_to_string(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(failed("read", path))
}

/// Reads a file that may be absent.
pub fn read_if_exists(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("read", path)(error)),
    }
}

/// Writes a file, creating the folders above it.
pub fn write(path: &Path, contents: impl AsRef<[u8]>) -> Result<()> {
    if let Some(parent) = path.parent() {
        create_dir_all(parent)?;
    }
    fs::write(path, contents).map_err(failed("write", path))
}

/// Adds to the end of a file, creating it.
pub fn append(path: &Path, contents: impl AsRef<[u8]>) -> Result<()> {
    let file = File::options().append(true).create(true).open(path);
    file.and_then(|mut file| file.write_all(contents.as_ref())).map_err(failed("write", path))
}

/// Writes a file so that a reader or a crash sees the old content or the new, never a part.
pub fn write_atomically(path: &Path, contents: impl AsRef<[u8]>) -> Result<()> {
    let mut draft = draft(path)?;
    draft.write_all(contents.as_ref()).map_err(failed("write", path))?;
    persist(draft, path)
}

/// A new file beside this path, removed when it is dropped. Its name is random: the folder may be shared with others, who
/// could lay a link where they expect us to write.
pub fn draft(path: &Path) -> Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    create_dir_all(folder)?;
    // As any new file, of which the umask takes away what the user wants.
    let permissions = fs::Permissions::from_mode(0o666);
    tempfile::Builder::new().permissions(permissions).tempfile_in(folder).map_err(failed("write", path))
}

/// Gives a draft its name.
pub fn persist(draft: NamedTempFile, path: &Path) -> Result<()> {
    draft.persist(path).map(drop).map_err(|refused| failed("create", path)(refused.error))
}

/// A new folder below the temporary one that nobody else can enter, removed when it is dropped.
pub fn temporary_dir(prefix: &str) -> Result<TempDir> {
    let permissions = fs::Permissions::from_mode(0o700);
    let made = tempfile::Builder::new().prefix(prefix).permissions(permissions).tempdir();
    made.map_err(|error| {
        Error::setup(format!("cannot create a folder in {}: {error}", std::env::temp_dir().display()))
            .hint("name a writable folder for temporary files in TMPDIR")
    })
}

/// Renames a file or folder.
pub fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(failed("create", to))
}

/// Creates a folder and those above it.
pub fn create_dir_all(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(failed("create the folder", path))
}

/// Creates a folder in an existing one; false if it is there already.
pub fn create_dir(path: &Path) -> Result<bool> {
    match fs::create_dir(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(failed("create the folder", path)(error)),
    }
}

/// Opens a file for writing, creating it.
pub fn create(path: &Path) -> Result<File> {
    File::create(path).map_err(failed("create", path))
}

/// Opens a file for reading.
pub fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(failed("read", path))
}

/// Copies a file with its permissions, creating the folders above the copy.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(parent) = to.parent() {
        create_dir_all(parent)?;
    }
    fs::copy(from, to).map(drop).map_err(failed("write", to))
}

/// Gives a file a second name; copies it where that is not possible, across file systems for one.
pub fn link_or_copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(parent) = to.parent() {
        create_dir_all(parent)?;
    }
    if fs::hard_link(from, to).is_ok() { Ok(()) } else { copy(from, to) }
}

/// Removes a file that may be absent.
pub fn remove_file(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Removes a folder and all below it; it may be absent.
///
/// Folders in it that their owner may not change, as tests of permissions leave them, are unlocked first.
pub fn remove_dir_all(path: &Path) -> Result<()> {
    let mut removed = fs::remove_dir_all(path);
    if matches!(&removed, Err(error) if error.kind() == io::ErrorKind::PermissionDenied) {
        unlock(path);
        removed = fs::remove_dir_all(path);
    }
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Gives the owner access to a folder and those below, as far as that is possible. Links are not followed.
fn unlock(folder: &Path) {
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            unlock(&entry.path());
        }
    }
}

/// The paths in a folder, sorted; an absent folder has none.
pub fn list_dir(path: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed("list", path)(error)),
    };
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<Vec<_>>>()
        .map_err(failed("list", path))?;
    paths.sort();
    Ok(paths)
}

/// Lets the user run a file.
pub fn make_executable(path: &Path) -> Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).map_err(failed("make executable", path))
}

/// True if both files hold the same bytes.
pub fn same_content(a: &Path, b: &Path) -> Result<bool> {
    if a == b {
        return Ok(true);
    }
    let (one, two) = (metadata(a)?, metadata(b)?);
    let inode = |data: &fs::Metadata| (data.dev(), data.ino());
    Ok(inode(&one) == inode(&two) || (one.len() == two.len() && read(a)? == read(b)?))
}
