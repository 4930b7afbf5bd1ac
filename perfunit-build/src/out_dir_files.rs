//! Files that build scripts wrote to `OUT_DIR`, which tests may read at run time.
//!
//! The path is compiled in and the same for both versions. Cargo's folder holds the files of the version built last, so
//! each side keeps a copy.

use perfunit_model::error::Result;
use perfunit_system::cache;
use perfunit_system::fs;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Folder with the copies of a side.
pub(super) const FOLDER: &str = "out";
/// Output of a build script.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutDirFiles {
    /// Path of our copy, relative to the side's folder.
    pub(super) copy: PathBuf,
    /// Files that tests may read, with a hash of the content. Files that were compiled in are part of the machine code.
    files: BTreeMap<PathBuf, String>,
}

impl OutDirFiles {
    /// Copies the files in `out_dir` into a side's folder. Skips files that only linkers read.
    pub(super) fn keep(out_dir: &Path, side: &Path, compiled: &BTreeSet<String>) -> Result<Self> {
        // The path is `<package>-<hash>/out` or `<package>/<hash>/out`.
        let name = out_dir.parent().and_then(Path::file_name).unwrap_or_default();
        let copy = Path::new(FOLDER).join(name);
        let mut made = Self { files: BTreeMap::new(), copy };
        fs::create_dir_all(&side.join(&made.copy))?;
        for file in files_below(out_dir)? {
            let path = out_dir.join(&file);
            fs::copy(&path, &side.join(&made.copy).join(&file))?;
            if !compiled.contains(&*path.to_string_lossy()) {
                made.files.insert(file, cache::hash(&fs::read(&path)?));
            }
        }
        Ok(made)
    }

    /// Returns a file that differs between the two outputs.
    pub fn differs<'a>(&'a self, other: &'a Self) -> Option<&'a Path> {
        let mut names = self.files.keys().chain(other.files.keys());
        names.find(|name| self.files.get(*name) != other.files.get(*name)).map(PathBuf::as_path)
    }

    /// Checks whether a folder contains these files.
    pub(super) fn is_in(&self, folder: &Path) -> Result<bool> {
        for (name, hash) in &self.files {
            let found = fs::read_if_exists(&folder.join(name))?;
            if found.map(|bytes| cache::hash(&bytes)).as_ref() != Some(hash) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Returns the relative paths of all files below a folder. Does not follow links to folders.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    const FOR_LINKERS: [&str; 4] = ["a", "d", "o", "rlib"];
    let (mut found, mut queue) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(below) = queue.pop() {
        for path in fs::list_dir(&folder.join(&below))? {
            let name = below.join(path.file_name().unwrap_or_default());
            if path.is_dir() && !path.is_symlink() {
                queue.push(name);
            } else if path.is_file()
                && !name.extension().is_some_and(|end| FOR_LINKERS.iter().any(|known| end == *known))
            {
                found.push(name);
            }
        }
    }
    Ok(found)
}
