//! A private copy of a clone: the clone that was given is never written.

use super::Result;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs git and returns what it printed.
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

/// A path as typed: cargo starts a benchmark in the package's folder and not where the user is.
pub fn typed(path: &Path) -> PathBuf {
    std::env::var_os("PWD").map_or_else(|| path.to_owned(), |folder| Path::new(&folder).join(path))
}

/// Copies a clone into `work`, at the same commit; a copy from an earlier run is set back to it.
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
    // What cargo leaves in a clone is no change of it.
    std::fs::write(tree.join(".git/info/exclude"), "target\nCargo.lock\n")?;
    Ok(tree)
}
