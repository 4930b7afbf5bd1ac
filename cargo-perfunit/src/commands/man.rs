//! `cargo perfunit man`.

use crate::error::{ExitCode, Result};
use crate::manual;
use crate::system::fs;
use crate::system::term::Terminal;
use std::path::Path;

/// Writes the pages into a folder, which is made where it is missing.
pub fn man(command: clap::Command, folder: &Path, terminal: Terminal) -> Result<ExitCode> {
    fs::create_dir_all(folder)?;
    let pages = manual::man_pages(command);
    for page in &pages {
        fs::write(&folder.join(&page.file), page.roff.as_bytes())?;
    }
    terminal.status("Wrote", &format!("{} pages to {}", pages.len(), folder.display()));
    Ok(ExitCode::Success)
}
