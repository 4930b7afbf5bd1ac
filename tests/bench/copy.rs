//! A private copy of a clone, so that the original clone is never changed.

use super::Result;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs git and returns its output.
pub fn git(folder: &Path, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new("git");
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(name);
    }
    let output = command.current_dir(folder).args(arguments).output()?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(format!("git {} in {}: {error}", arguments.join(" "), folder.display()).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

/// Resolves a path relative to the user's folder, because cargo starts a benchmark in the package's folder.
pub fn typed(path: &Path) -> PathBuf {
    std::env::var_os("PWD").map_or_else(|| path.to_owned(), |folder| Path::new(&folder).join(path))
}

/// Copies a clone at the same commit into `work`; an existing copy is reset to it.
pub fn of(clone: &Path, work: &Path) -> Result<PathBuf> {
    let clone = clone.canonicalize().map_err(|error| format!("{}: {error}", clone.display()))?;
    let commit = git(&clone, &["rev-parse", "HEAD"])?;
    std::fs::create_dir_all(work)?;
    let tree = work.join("tree");
    if !tree.join(".git").exists() {
        git(work, &["clone", "--quiet", "--local", &clone.to_string_lossy(), "tree"])?;
    }
    git(&tree, &["fetch", "--quiet", "origin", "HEAD"])?;
    git(&tree, &["checkout", "--quiet", "--force", "--detach", &commit])?;
    git(&tree, &["clean", "--quiet", "--force", "-d", "--exclude=target"])?;
    // Files that cargo writes to a clone are not changes.
    std::fs::write(tree.join(".git/info/exclude"), "target\nCargo.lock\n")?;
    Ok(tree)
}
