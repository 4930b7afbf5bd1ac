//! `cargo perfunit explain`.

use crate::error::{ExitCode, Result};
use crate::pipeline::{self, ExplainRequest};
use crate::report::{TextOptions, explanations};
use crate::term::{self, Terminal};

/// Explains tests of the last run and prints what was found out. What is not found out is no failure.
pub fn explain(request: &ExplainRequest, json: bool, terminal: Terminal) -> Result<ExitCode> {
    let found = pipeline::explain(request, terminal)?;
    let text = if json {
        explanations::json(&found)
    } else {
        let options = TextOptions { width: term::width(), verbose: true, unicode: term::unicode() };
        explanations::text(&found, &options)
    };
    term::print(&text);
    Ok(ExitCode::Success)
}
