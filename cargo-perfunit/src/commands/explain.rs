//! `cargo perfunit explain`.

use crate::error::{Error, ExitCode, Result};
use crate::explain::{forest, impact, ranking};
use crate::model::{Profile, Side};
use crate::report::{self, TextOptions, explanations, flamegraph};
use crate::session::{self, ExplainRequest};
use crate::system::fs;
use crate::system::term::{self, Terminal};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone)]
pub enum ExplainView {
    /// Who is to blame.
    Blame {
        /// Where to draw where the time of one test goes.
        flamegraph: Option<PathBuf>,
    },
    /// Which tests a function matters to, by its path.
    Function(String),
    /// The functions that take most of the time.
    Hot,
}

/// Answers about tests of the last run and prints the answer. What is not found out is no failure.
pub fn explain(request: &ExplainRequest, view: &ExplainView, json: bool, terminal: Terminal) -> Result<ExitCode> {
    let options = TextOptions { width: term::width(), verbose: true, unicode: term::unicode() };
    let text = match view {
        ExplainView::Blame { flamegraph } => {
            if let Some(path) = flamegraph {
                draw(request, path, terminal)?;
            }
            let found = session::explain(request, terminal)?;
            if json { explanations::json(&found) } else { explanations::text(&found, &options) }
        }
        ExplainView::Function(path) => {
            let impact = impact(&profiles(request, terminal)?, path).map_err(|none| none.error())?;
            if json { report::impact::json(&impact) } else { report::impact::text(&impact, &options) }
        }
        ExplainView::Hot => {
            let profiles = profiles(request, terminal)?;
            let (ranking, trees) = (ranking(&profiles), forest(&profiles));
            if json {
                report::ranking::json(&ranking, &trees)
            } else {
                report::ranking::text(&ranking, &trees, &options)
            }
        }
    };
    term::print(&text);
    Ok(ExitCode::Success)
}

/// Where head's time goes, by test.
fn profiles(request: &ExplainRequest, terminal: Terminal) -> Result<Vec<Profile>> {
    let found = session::profiles(request, terminal)?;
    found.warnings.iter().for_each(|warning| terminal.warning(&warning.to_string()));
    if found.tests.is_empty() {
        return Err(Error::usage("the last run has no test whose calls could be timed")
            .hint("`cargo perfunit diff --all-tests` measures all tests"));
    }
    Ok(found.tests.iter().map(|test| test.profile(Side::Head)).collect())
}

/// Draws where the time of the only test that is meant goes, all functions timed.
fn draw(request: &ExplainRequest, path: &Path, terminal: Terminal) -> Result<()> {
    let found = session::profiles(request, terminal)?;
    let [explanation] = &found.tests[..] else {
        let error = Error::usage(format!("--flamegraph draws one test, not {}", found.tests.len()));
        let hint = found.warnings.first().map(ToString::to_string);
        let whole = || "name it: `cargo perfunit explain TEST --exact --flamegraph FILE`".to_owned();
        return Err(error.hint(hint.unwrap_or_else(whole)));
    };
    let is_picture = path.extension().is_some_and(|extension| extension == "svg");
    let text = if is_picture { flamegraph::svg(explanation)? } else { flamegraph::folded(explanation) };
    fs::write(path, text)?;
    terminal.status("Wrote", &path.display().to_string());
    Ok(())
}
