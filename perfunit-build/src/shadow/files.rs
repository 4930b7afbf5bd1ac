//! File system functions of the shadow tree beyond `perfunit_system::fs`: they do not follow links, and they replace
//! files atomically.

use perfunit_model::error::{Error, Result};
use perfunit_project::git::Mode;
use perfunit_system::os::unix::ffi::OsStrExt as _;
use perfunit_system::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata, Permissions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Metadata that shows whether a file is still the one we wrote. One `lstat` call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    mode: u32,
    /// Size in bytes.
    size: u64,
    /// Modification time in seconds.
    seconds: i64,
    nanoseconds: i64,
}

impl Stamp {
    fn new(metadata: &Metadata) -> Stamp {
        let (seconds, nanoseconds) = (metadata.mtime(), metadata.mtime_nsec());
        Stamp { mode: metadata.mode(), size: metadata.len(), seconds, nanoseconds }
    }

    /// Reads the metadata of a file, or of a link itself.
    pub(super) fn of(path: &Path) -> Result<Stamp> {
        path.symlink_metadata().map(|metadata| Stamp::new(&metadata)).map_err(io_error("look at", path))
    }
}

/// Content of a folder, by relative path.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Scan {
    /// Everything except folders.
    pub files: BTreeMap<PathBuf, Stamp>,
    pub folders: BTreeSet<PathBuf>,
}

/// Lists a folder without following links. Makes folders accessible that a test has locked.
pub(super) fn scan(root: &Path) -> Result<Scan> {
    let mut scan = Scan::default();
    scan_folder(root, Path::new(""), &mut scan)?;
    Ok(scan)
}

fn scan_folder(root: &Path, relative: &Path, scan: &mut Scan) -> Result<()> {
    let folder = root.join(relative);
    for item in fs::read_dir(&folder).map_err(io_error("list", &folder))? {
        let item = item.map_err(io_error("list", &folder))?;
        let path = relative.join(item.file_name());
        let metadata = item.metadata().map_err(io_error("look at", &root.join(&path)))?;
        if !metadata.is_dir() {
            scan.files.insert(path, Stamp::new(&metadata));
            continue;
        }
        if metadata.mode() & 0o700 != 0o700 {
            let place = root.join(&path);
            fs::set_permissions(&place, Permissions::from_mode(0o755)).map_err(io_error("unlock", &place))?;
        }
        scan_folder(root, &path, scan)?;
        scan.folders.insert(path);
    }
    Ok(())
}

/// Puts a complete file or link at `path`, using `staging` on the same file system. Replaces an existing file and never
/// writes through a link. The folder must exist.
pub(super) fn put(path: &Path, staging: &Path, mode: Mode, contents: &[u8]) -> Result<()> {
    perfunit_system::fs::remove_file(staging)?;
    if mode == Mode::Symlink {
        let target = Path::new(std::ffi::OsStr::from_bytes(contents));
        perfunit_system::os::unix::fs::symlink(target, staging).map_err(io_error("create the link", path))?;
    } else {
        let bits = if mode == Mode::Executable { 0o755 } else { 0o644 };
        let mut file = perfunit_system::fs::create(staging)?;
        file.write_all(contents)
            // The kernel's timestamps advance in steps of up to 10 ms, so an edit of equal size in the same step would
            // go unnoticed. No later write gets this exact time.
            .and_then(|()| file.set_modified(SystemTime::now()))
            .and_then(|()| file.set_permissions(Permissions::from_mode(bits)))
            .map_err(io_error("write", path))?;
    }
    // Renaming over a file makes ext4 write the new one to disk first (auto_da_alloc), which takes milliseconds. Remove
    // the old file first: the tree has no readers now, and a crash in between is repaired like any other.
    perfunit_system::fs::remove_file(path)?;
    perfunit_system::fs::rename(staging, path)
}

/// Result of [`ensure_folder`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Folder {
    Created,
    Existed,
}

impl Folder {
    /// Checks whether the folder is new and therefore empty.
    pub(super) fn is_new(self) -> bool {
        self == Folder::Created
    }
}

/// Makes `path` a folder, replacing a link or file.
pub(super) fn ensure_folder(path: &Path) -> Result<Folder> {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => return Ok(Folder::Existed),
        Ok(_) => perfunit_system::fs::remove_file(path)?,
        Err(_) => {}
    }
    perfunit_system::fs::create_dir_all(path)?;
    Ok(Folder::Created)
}

fn io_error<'a>(verb: &'a str, path: &'a Path) -> impl FnOnce(io::Error) -> Error + 'a {
    move |error| {
        Error::setup(format!("cannot {verb} {}: {error}", path.display())).hint(
            "`cargo perfunit clean` removes the state that cargo-perfunit keeps; --target-dir selects another folder",
        )
    }
}
