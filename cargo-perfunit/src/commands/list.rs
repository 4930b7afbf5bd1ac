//! `cargo perfunit list`.

use crate::error::{Error, ExitCode, Result};
use crate::model::Listing;
use crate::report::list::{self, ListOptions};
use crate::session::{self, Options};
use crate::system::term::{self, Terminal};

#[derive(Debug, Clone, Default)]
pub struct ListOutput {
    /// JSON instead of text.
    pub json: bool,
    /// Every test with how it was captured.
    pub all: bool,
    /// Explain the tests whose name contains this.
    pub why: Option<String>,
    /// Say what became of each change when nothing is selected.
    pub explain_none: bool,
}

/// Lists what would be measured.
pub fn list(options: &Options, output: &ListOutput, terminal: Terminal) -> Result<ExitCode> {
    let listing = session::list(options, terminal)?;
    let text = if output.json {
        list::json(&listing)
    } else {
        let why = output.why.as_deref();
        explained(&listing, why)?;
        let (width, unicode) = (term::width(), term::unicode());
        list::text(&listing, &ListOptions { all: output.all, why, explain_none: output.explain_none, width, unicode })
    };
    term::print(&text);
    Ok(ExitCode::Success)
}

/// A name that no test has is a mistake, unless there are no tests to have it.
fn explained(listing: &Listing, why: Option<&str>) -> Result<()> {
    let Some(part) = why else { return Ok(()) };
    if listing.tests.is_empty() || listing.tests.iter().any(|listed| listed.test.name.contains(part)) {
        return Ok(());
    }
    Err(Error::usage(format!("no test found has `{part}` in its name"))
        .hint("`--why` takes the name of a test; put the version to compare with before it: `list main --why`"))
}
