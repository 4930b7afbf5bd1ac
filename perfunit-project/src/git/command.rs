//! Runs the `git` program.

use git2::Oid;
use std::process::Command;

/// Variables that git sets for hooks or that select a repository (`git rev-parse --local-env-vars`). If a hook passed
/// them on, every git command of a build script or test would work on the repository that is being pushed.
pub const LOCAL_VARIABLES: [&str; 17] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// A commit in a repository.
pub(super) struct Git<'a> {
    pub repository: &'a git2::Repository,
    pub commit: Oid,
}

impl Git<'_> {
    /// Builds a git command for the repository that uses the attributes of the commit.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        // The variables that select a repository may refer to another one. Keep those with settings.
        for variable in LOCAL_VARIABLES.iter().filter(|name| !name.starts_with("GIT_CONFIG")) {
            command.env_remove(variable);
        }
        // Errors are recognized by their English text. Never fetch, and never prompt for a password.
        command.env("LC_ALL", "C").env("GIT_NO_LAZY_FETCH", "1").env("GIT_TERMINAL_PROMPT", "0");
        command.env("GIT_OPTIONAL_LOCKS", "0");
        command.arg(format!("--attr-source={}", self.commit)).arg("--git-dir").arg(self.repository.path());
        if let Some(root) = self.repository.workdir() {
            // Filter drivers run at the top of the working tree.
            command.arg("--work-tree").arg(root).current_dir(root);
        }
        command.args(arguments);
        command
    }
}
