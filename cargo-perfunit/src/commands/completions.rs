//! `cargo perfunit completions`.

use crate::error::{ExitCode, Result};
use crate::manual::{self, Shell};
use crate::system::term;

/// Prints the script for a shell.
pub fn completions(command: clap::Command, shell: Shell) -> Result<ExitCode> {
    term::print(&manual::completions(command, shell));
    Ok(ExitCode::Success)
}
