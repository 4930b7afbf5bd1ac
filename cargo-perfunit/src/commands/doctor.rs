//! `cargo perfunit doctor`.

use crate::doctor;
use crate::error::{ExitCode, Result};
use crate::report::{self, TextOptions};
use crate::system::term::{self, Terminal};
use std::path::Path;

/// Examines this machine and prints what was found. Findings are no failure.
pub fn doctor(folder: &Path, json: bool, terminal: Terminal) -> Result<ExitCode> {
    let checkup = doctor::examine(folder, terminal);
    let text = if json {
        report::doctor::json(&checkup)
    } else {
        let options = TextOptions { width: term::width(), verbose: false, unicode: term::unicode() };
        report::doctor::text(&checkup, &options)
    };
    term::print(&text);
    Ok(ExitCode::Success)
}
