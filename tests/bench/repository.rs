//! Repositories and commits that benchmarks create.

use super::{Result, copy};
use std::fs;
use std::path::{Path, PathBuf};

/// Writes files as a repository with one commit; an existing one with the same content is kept.
pub fn write<'a>(folder: &Path, files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<PathBuf> {
    for (path, content) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(path, content)?;
    }
    if !folder.join(".git").exists() {
        copy::git(folder, &["init", "--quiet"])?;
    }
    commit(folder, "sample")?;
    Ok(folder.to_owned())
}

/// Commits all changes, if there are any.
pub fn commit(folder: &Path, message: &str) -> Result<()> {
    copy::git(folder, &["add", "--all"])?;
    if !copy::git(folder, &["status", "--porcelain"])?.is_empty() {
        let author = ["-c", "user.name=Tester", "-c", "user.email=tester@example.org", "-c", "commit.gpgsign=false"];
        copy::git(folder, &[&author[..], &["commit", "--quiet", "--message", message]].concat())?;
    }
    Ok(())
}
