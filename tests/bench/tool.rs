//! The tool, run as by users.

use super::Result;
use perfunit_report::list::ListDocument;
use perfunit_system::cache::hash;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Variables that `cargo bench` sets for this process; the tool would take them for the user's.
const UNSET: [&str; 9] = [
    "CARGO",
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_MANIFEST_DIR",
    "CARGO_PRIMARY_PACKAGE",
    "RUSTFLAGS",
    "RUSTUP_TOOLCHAIN",
    "GIT_DIR",
    "GIT_WORK_TREE",
];

/// Options of `diff` with a value that `list` does not have.
const OF_MEASURING: [&str; 5] = ["--threshold", "--per-test-budget", "--budget", "--explain", "--layout"];

/// An executable of the tool with the options of every call.
pub struct Tool {
    /// Path of the executable.
    pub executable: PathBuf,
    options: Vec<String>,
    /// Key of executable and options: results of another tool must not be reused.
    pub key: String,
}

/// Result of the tool.
pub struct Answer {
    /// The document.
    pub document: ListDocument,
    /// Wall time of the call, s.
    pub seconds: f64,
}

/// Returns a command in a folder, without the variables that cargo set for this process.
pub fn clean(program: impl AsRef<std::ffi::OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null());
    for name in UNSET {
        command.env_remove(name);
    }
    command
}

impl Tool {
    /// Uses the given executable, or the one that cargo built for this benchmark.
    pub fn new(executable: Option<PathBuf>, options: Vec<String>) -> Result<Self> {
        let executable = executable.unwrap_or_else(|| env!("CARGO_BIN_EXE_cargo-perfunit").into());
        let content = std::fs::read(&executable).map_err(|error| format!("{}: {error}", executable.display()))?;
        let key = format!("{}-{}", hash(&content), hash(options.join(" ").as_bytes()));
        Ok(Self { executable, options, key })
    }

    /// Returns a call with the tool's options that prints JSON.
    pub fn command(&self, tree: &Path, subcommand: &str, versions: &str) -> Command {
        let mut command = clean(&self.executable, tree);
        command.args([subcommand, versions, "--message-format", "json"]);
        let mut options = self.options.iter();
        while let Some(option) = options.next() {
            if subcommand == "list" && OF_MEASURING.contains(&option.as_str()) {
                options.next();
            } else {
                command.arg(option);
            }
        }
        command
    }

    /// Lists the selected tests of two versions.
    pub fn list(&self, tree: &Path, versions: &str, more: &[&str]) -> Result<Answer> {
        let mut command = self.command(tree, "list", versions);
        command.args(more);
        let started = Instant::now();
        let output = command.output()?;
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr);
            let lines: Vec<&str> = error.lines().collect();
            let end = lines[lines.len().saturating_sub(12)..].join("\n");
            return Err(format!("`cargo perfunit list {versions}`: {}\n{end}", output.status).into());
        }
        let document = serde_json::from_slice(&output.stdout)?;
        Ok(Answer { document, seconds: started.elapsed().as_secs_f64() })
    }
}
