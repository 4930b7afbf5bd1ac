//! `cargo perfunit archive`.

use crate::error::{ExitCode, Result};
use crate::report::format::count;
use crate::session::{self, Options};
use crate::system::term::Terminal;
use std::path::Path;

/// Builds both versions, packs them, and says what is in the archive.
pub fn archive(options: &Options, file: &Path, terminal: Terminal) -> Result<ExitCode> {
    let made = session::archive(options, file, terminal)?;
    for warning in &made.warnings {
        terminal.status("Warning", &warning.to_string());
    }
    let megabytes = made.bytes as f64 / 1e6;
    let tests = match &made.nothing_because {
        Some(because) => format!("nothing to measure: {because}"),
        None => format!("{} to measure", count(made.tests, "test")),
    };
    let (base, head) = (&made.versions.base.label, &made.versions.head.label);
    terminal.status("Archived", &format!("{base} and {head} in {} ({megabytes:.1} MB), {tests}", file.display()));
    Ok(ExitCode::Success)
}
