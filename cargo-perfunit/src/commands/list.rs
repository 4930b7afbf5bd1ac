//! `cargo perfunit list`.

use crate::error::{ExitCode, Result};
use crate::pipeline::{self, Options};
use crate::report::list::{self, ListOptions};
use crate::term::{self, Terminal};

/// What to print.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListOutput {
    /// JSON instead of text.
    pub json: bool,
    /// Every test with how it was captured.
    pub all: bool,
}

/// Lists what would be measured.
pub fn list(options: &Options, output: ListOutput, terminal: Terminal) -> Result<ExitCode> {
    let listing = pipeline::list(options, terminal)?;
    let text = if output.json {
        list::json(&listing)
    } else {
        list::text(&listing, &ListOptions { all: output.all, width: term::width(), unicode: term::unicode() })
    };
    term::print(&text);
    Ok(ExitCode::Success)
}
