//! The temporary folder of tests: in our folder, which is in the project, and yet no part of it for those who look.

use super::{cache, fs};
use crate::error::Result;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What git looks for a repository no further up than.
const CEILING: &str = "GIT_CEILING_DIRECTORIES";

/// `TMPDIR` of tests.
///
/// Where one makes a package, cargo must not take the project's workspace, which is above, for the package's: it looks no
/// further than a folder called `target/package`, in which it packs. Nor must git, and who heeds its ignored files, take
/// the project's repository for that of the test.
#[derive(Debug, Clone)]
pub struct TestFolder(PathBuf);

impl TestFolder {
    /// The one of a name, in our folder.
    pub fn of(ours: &Path, name: &str) -> Self {
        Self(cache::temporary(ours).join("target/package").join(name))
    }

    /// Another one beside it.
    #[must_use]
    pub fn beside(&self, name: &str) -> Self {
        Self(self.0.with_file_name(name))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Makes it, without what was in it.
    pub fn empty(&self) -> Result<()> {
        cache::empty_private_dir(&self.0)?;
        self.0.parent().map_or(Ok(()), end_of_repository)
    }

    pub fn remove(&self) -> Result<()> {
        fs::remove_dir_all(&self.0)
    }

    /// What tests are told of it.
    pub fn variables(&self) -> [(&'static str, OsString); 2] {
        let folders = self.0.parent().into_iter().map(Path::to_owned);
        let theirs = std::env::var_os(CEILING).unwrap_or_default();
        let folders = std::env::join_paths(folders.chain(std::env::split_paths(&theirs)));
        [("TMPDIR", self.0.clone().into()), (CEILING, folders.unwrap_or(theirs))]
    }
}

/// Those who read `.gitignore` files read none above this folder: it has a `.git`, which is no repository, for git itself
/// goes on to the project's.
pub fn end_of_repository(folder: &Path) -> Result<()> {
    fs::create_dir_all(&folder.join(".git"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_repository_is_above_a_test() {
        let ours = tempfile::tempdir().unwrap();
        let folder = TestFolder::of(ours.path(), "head");
        folder.empty().unwrap();
        let above = folder.path().parent().unwrap();
        assert!(above.ends_with("target/package") && above.join(".git").is_dir());
        let variables = folder.variables();
        assert_eq!(variables[0], ("TMPDIR", folder.path().as_os_str().to_owned()));
        let (name, folders) = &variables[1];
        assert_eq!(*name, "GIT_CEILING_DIRECTORIES");
        assert_eq!(std::env::split_paths(folders).next().as_deref(), Some(above));
        assert_eq!(folder.beside("base").path(), above.join("base"));
        folder.remove().unwrap();
        assert!(!folder.path().exists());
    }
}
