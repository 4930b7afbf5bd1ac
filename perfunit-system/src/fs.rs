//! `std::fs` with errors that name the path and the failed operation.

use crate::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use perfunit_model::error::{Error, Result};
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};
use tempfile::{NamedTempFile, TempDir};

/// Hint for errors of full disks.
pub const FREE_SPACE: &str = "free some disk space; `cargo perfunit clean` removes the state that cargo-perfunit keeps";

/// Name of our folder below cargo's target folder.
pub const OUR_FOLDER: &str = "perfunit";

/// Builds the error of a failed operation.
pub fn io_error<'a>(verb: &'a str, path: &'a Path) -> impl FnOnce(io::Error) -> Error + 'a {
    move |error| {
        let message = Error::setup(format!("cannot {verb} {}: {error}", path.display()));
        match error.kind() {
            io::ErrorKind::StorageFull => message.hint(FREE_SPACE),
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::NotADirectory
                if is_ours(path) =>
            {
                message.hint("choose a writable folder with --target-dir or CARGO_TARGET_DIR")
            }
            _ => message,
        }
    }
}

/// Returns whether a path is in the folder that we have below cargo's target folder.
fn is_ours(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == OUR_FOLDER)
}

/// Appends an ending to a path's name.
pub fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(ending);
    PathBuf::from(path)
}

/// Removes `.` and `..` from an absolute path by its names only, without following links.
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
    fs::read(path).map_err(io_error("read", path))
}

/// Reads the metadata of a file.
pub fn metadata(path: &Path) -> Result<fs::Metadata> {
    fs::metadata(path).map_err(io_error("look at", path))
}

/// Reads a file as text.
pub fn read_to_string(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(io_error("read", path))
}

/// Reads a file that may not exist.
pub fn read_if_exists(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error("read", path)(error)),
    }
}

/// Reads the first bytes of a file, or the whole file if it is shorter.
pub fn read_start(path: &Path, length: usize) -> Result<Vec<u8>> {
    let mut start = Vec::with_capacity(length);
    let file = File::open(path).and_then(|file| file.take(length as u64).read_to_end(&mut start));
    file.map(|_| start).map_err(io_error("read", path))
}

/// Writes a file, creating the folders above it.
pub fn write(path: &Path, contents: impl AsRef<[u8]>) -> Result<()> {
    if let Some(parent) = path.parent() {
        create_dir_all(parent)?;
    }
    fs::write(path, contents).map_err(io_error("write", path))
}

/// Appends to a file, creating it if needed.
pub fn append(path: &Path, contents: impl AsRef<[u8]>) -> Result<()> {
    let file = File::options().append(true).create(true).open(path);
    file.and_then(|mut file| file.write_all(contents.as_ref())).map_err(io_error("write", path))
}

/// Writes a file atomically: a reader or a crash sees either the old or the new content.
pub fn write_atomically(path: &Path, contents: impl AsRef<[u8]>) -> Result<()> {
    let mut draft = draft(path)?;
    draft.write_all(contents.as_ref()).map_err(io_error("write", path))?;
    persist(draft, path)
}

/// Makes `place` an executable file with this content. A file that exists there is overwritten, so that the system keeps
/// it in the same memory; unless a process runs it: then another file replaces it.
pub fn overwrite(place: &Path, content: &[u8]) -> Result<()> {
    if let Some(mut file) = open_unless_run(File::options().write(true).create(true).truncate(false), place)? {
        let written = file.write_all(content).and_then(|()| file.set_len(content.len() as u64));
        written.map_err(io_error("write", place))?;
    } else {
        write_atomically(place, content)?;
    }
    make_executable(place)
}

/// Overwrites the start of an executable file of this length. Returns false if the file is another
/// one or missing, or a process runs it.
pub fn overwrite_start(place: &Path, start: &[u8], length: usize) -> Result<bool> {
    let is_known = |known: fs::Metadata| known.len() == length as u64 && known.permissions().mode() & 0o111 != 0;
    if !fs::metadata(place).is_ok_and(is_known) {
        return Ok(false);
    }
    let Some(mut file) = open_unless_run(File::options().write(true), place)? else { return Ok(false) };
    file.write_all(start).map(|()| true).map_err(io_error("write", place))
}

/// Opens a file; `None` if a process runs it.
fn open_unless_run(options: &fs::OpenOptions, place: &Path) -> Result<Option<File>> {
    match options.open(place) {
        Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => Ok(None),
        file => file.map(Some).map_err(io_error("write", place)),
    }
}

/// Makes `place` a symbolic link to `target`, atomically.
pub fn replace_link(place: &Path, target: &Path) -> Result<()> {
    let draft = place.with_extension("new");
    remove_file(&draft)?;
    symlink(target, &draft).and_then(|()| fs::rename(&draft, place)).map_err(io_error("create", place))
}

/// Creates a new file next to this path that is removed when dropped. Its name is random, because another user of a
/// shared folder could place a link at a predictable path.
pub fn draft(path: &Path) -> Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    create_dir_all(folder)?;
    // Like any new file, it gets the permissions that the umask leaves.
    let permissions = fs::Permissions::from_mode(0o666);
    tempfile::Builder::new().permissions(permissions).tempfile_in(folder).map_err(io_error("write", path))
}

/// Renames a draft to its final path.
pub fn persist(draft: NamedTempFile, path: &Path) -> Result<()> {
    draft.persist(path).map(drop).map_err(|refused| io_error("create", path)(refused.error))
}

/// Creates a folder in the temporary folder that no other user can enter. It is removed when dropped.
pub fn temporary_dir(prefix: &str) -> Result<TempDir> {
    let permissions = fs::Permissions::from_mode(0o700);
    let made = tempfile::Builder::new().prefix(prefix).permissions(permissions).tempdir();
    made.map_err(|error| {
        Error::setup(format!("cannot create a folder in {}: {error}", std::env::temp_dir().display()))
            .hint("set TMPDIR to a writable folder")
    })
}

/// Renames a file or folder.
pub fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(io_error("create", to))
}

/// Creates a folder and its parents.
pub fn create_dir_all(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(io_error("create the folder", path))
}

/// Creates a folder in an existing one. Returns false if it exists already.
pub fn create_dir(path: &Path) -> Result<bool> {
    match fs::create_dir(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(io_error("create the folder", path)(error)),
    }
}

/// Opens a file for writing, creating it.
pub fn create(path: &Path) -> Result<File> {
    File::create(path).map_err(io_error("create", path))
}

/// Opens a file for reading.
pub fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(io_error("read", path))
}

/// Copies a file with its permissions, creating the folders above the copy.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(parent) = to.parent() {
        create_dir_all(parent)?;
    }
    fs::copy(from, to).map(drop).map_err(io_error("write", to))
}

/// Creates a hard link to a file, or a copy if that is not possible, for example across file systems.
pub fn link_or_copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(parent) = to.parent() {
        create_dir_all(parent)?;
    }
    if fs::hard_link(from, to).is_ok() { Ok(()) } else { copy(from, to) }
}

/// Removes a file that may not exist.
pub fn remove_file(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Removes a folder with everything below it. It may not exist.
///
/// Tests of permissions may leave folders that their owner cannot change. These are unlocked first.
pub fn remove_dir_all(path: &Path) -> Result<()> {
    let mut removed = fs::remove_dir_all(path);
    if matches!(&removed, Err(error) if error.kind() == io::ErrorKind::PermissionDenied) {
        unlock(path);
        removed = fs::remove_dir_all(path);
    }
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Gives the owner access to a folder and the folders below, if possible. Does not follow links.
fn unlock(folder: &Path) {
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            unlock(&entry.path());
        }
    }
}

/// Lists the paths in a folder, sorted. A folder that does not exist has none.
pub fn list_dir(path: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io_error("list", path)(error)),
    };
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<Vec<_>>>()
        .map_err(io_error("list", path))?;
    paths.sort();
    Ok(paths)
}

/// Makes a file executable.
pub fn make_executable(path: &Path) -> Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).map_err(io_error("make executable", path))
}

/// Checks whether two files have the same content.
pub fn same_content(a: &Path, b: &Path) -> Result<bool> {
    if a == b {
        return Ok(true);
    }
    let (one, two) = (metadata(a)?, metadata(b)?);
    let inode = |data: &fs::Metadata| (data.dev(), data.ino());
    Ok(inode(&one) == inode(&two) || (one.len() == two.len() && read(a)? == read(b)?))
}
