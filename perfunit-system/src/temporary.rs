//! Temporary folders in the system's temporary folder: our own, and those of tests, which cargo has there, too.

use super::{cache, fs, process};
use perfunit_model::error::Result;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// Creates a folder of our own that no other user can enter. It is removed when dropped, or by the keeper.
pub fn scratch(prefix: &str) -> Result<TempDir> {
    let folder = fs::temporary_dir(prefix)?;
    process::remove_after_us(folder.path());
    Ok(folder)
}

/// `TMPDIR` of tests. Its path is short, because the path of a Unix socket has at most 107 bytes.
#[derive(Debug, Clone)]
pub struct TestFolder {
    above: Arc<Above>,
    path: PathBuf,
}

/// A folder that holds temporary folders of tests and that other users cannot enter. It is removed when dropped.
#[derive(Debug)]
struct Above(PathBuf);

impl Drop for Above {
    fn drop(&mut self) {
        // On failure the keeper tries again.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl TestFolder {
    /// Creates a new folder in the system's temporary folder, and chooses a folder name in it.
    pub fn create(name: &str) -> Result<Self> {
        let above = fs::temporary_dir(process::TEMPORARY_PREFIX)?.keep();
        process::remove_after_us(&above);
        let path = above.join(name);
        Ok(Self { above: Arc::new(Above(above)), path })
    }

    /// Chooses another folder next to this one.
    #[must_use]
    pub fn beside(&self, name: &str) -> Self {
        Self { above: Arc::clone(&self.above), path: self.above.0.join(name) }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates the folder, or removes its content.
    pub fn empty(&self) -> Result<()> {
        cache::empty_private_dir(&self.path)
    }

    /// Returns the environment variable for tests.
    pub fn variable(&self) -> (&'static str, OsString) {
        ("TMPDIR", self.path.clone().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_folder_is_short_private_and_removed_in_the_end() {
        let base = TestFolder::create("base").unwrap();
        let head = base.beside("head");
        for folder in [&base, &head] {
            folder.empty().unwrap();
            std::fs::write(folder.path().join("file"), "").unwrap();
            folder.empty().unwrap();
            assert!(fs::list_dir(folder.path()).unwrap().is_empty());
            assert_eq!(folder.variable(), ("TMPDIR", folder.path().as_os_str().to_owned()));
            let system = std::env::temp_dir();
            assert_eq!(folder.path().parent().unwrap().parent().unwrap(), system);
            assert!(folder.path().as_os_str().len() <= system.as_os_str().len() + 21, "{folder:?}");
        }
        assert_ne!(base.path(), head.path());
        let above = base.path().parent().unwrap().to_owned();
        assert_eq!(above.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        drop(base);
        assert!(above.exists());
        // A test of permissions may leave the folder like this.
        std::fs::set_permissions(head.path(), std::fs::Permissions::from_mode(0o500)).unwrap();
        drop(head);
        assert!(!above.exists());
    }
}
