//! Commits of a history that change sources.

use super::{Result, copy};
use std::path::Path;

/// A commit with a first parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Full ID of the commit.
    pub id: String,
    /// First line of its message.
    pub subject: String,
}

/// Returns the latest commits of the first-parent history that change a file matching a pattern, newest first.
pub fn touching(tree: &Path, from: &str, count: usize, patterns: &[String]) -> Result<Vec<Commit>> {
    let limit = format!("--max-count={count}");
    let patterns: Vec<String> = patterns.iter().map(|pattern| format!(":(glob){pattern}")).collect();
    let mut arguments = vec!["log", "--first-parent", "--min-parents=1", &limit, "--format=%H %s", from, "--"];
    arguments.extend(patterns.iter().map(String::as_str));
    let listed = copy::git(tree, &arguments)?;
    let commit = |line: &str| {
        let (id, subject) = line.split_once(' ').unwrap_or((line, ""));
        Commit { id: id.to_owned(), subject: subject.to_owned() }
    };
    Ok(listed.lines().map(commit).collect())
}
