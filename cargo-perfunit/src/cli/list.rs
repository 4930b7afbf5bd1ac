//! `cargo perfunit list`.

use super::arguments::{CommonArguments, MessageFormat};
use clap::Args;
use perfunit_model::error::{Error, ExitCode, Result};
use perfunit_model::{Generated, Listing};
use perfunit_project::config::{Layer, Sourced};
use perfunit_report::list::{self, ListOptions};
use perfunit_session as session;
use perfunit_session::Measuring;
use perfunit_system::term;

/// Arguments of `list`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  cargo perfunit list main                      what `diff main` would measure, and why
  cargo perfunit list main --why parser::long   what changed for a test, or what left it out
  cargo perfunit list main --explain-none       why nothing would be measured
  cargo perfunit list --all                     all tests, with how they were captured

docs/method.md describes how tests are selected.
")]
pub struct ListArguments {
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub common: CommonArguments,
    /// List every test in the workspace, with how it was captured.
    #[arg(long, help_heading = "Tests")]
    pub all: bool,
    /// Explain each test, or those whose name contains TEST.
    ///
    /// What changed for it and the path from the test to the change, or which stage left it out.
    #[arg(long, value_name = "TEST", num_args = 0..=1, default_missing_value = "", help_heading = "Tests")]
    pub why: Option<String>,
    /// If no test is selected, explain for each change why it selects none.
    #[arg(long, help_heading = "Tests")]
    pub explain_none: bool,
    /// Also list calls that the tool makes up, for changed functions that no test executes [default: never].
    #[arg(long, value_enum, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "uncovered", help_heading = "Tests")]
    pub generated: Option<Generated>,
    /// Output format of the result on stdout.
    #[arg(long, alias = "format", value_enum, default_value_t, value_name = "FORMAT", help_heading = "Output")]
    pub message_format: MessageFormat,
}

impl ListArguments {
    /// Selects and prints.
    pub fn run(&self) -> Result<ExitCode> {
        let terminal = self.common.terminal();
        let typed = Layer { generated: self.generated.map(Sourced::typed), ..Layer::default() };
        let resolved = self.common.resolved(typed)?;
        let mut options = self.common.options(&resolved, Measuring::default())?;
        options.all_tests |= self.all;
        options.generated = resolved.settings.generated.value;
        let listing = session::list(&options, terminal)?;
        let text = match self.message_format {
            MessageFormat::Json => list::json(&listing),
            MessageFormat::Human => {
                let why = self.why.as_deref();
                check_name(&listing, why)?;
                let (width, unicode) = (term::width(), term::unicode());
                let explain_none = self.explain_none;
                list::text(&listing, &ListOptions { all: self.all, why, explain_none, width, unicode })
            }
        };
        term::print(&text);
        Ok(ExitCode::Success)
    }
}

/// A name that no test has is a mistake, unless there are no tests to have it.
fn check_name(listing: &Listing, why: Option<&str>) -> Result<()> {
    let Some(part) = why else { return Ok(()) };
    if listing.tests.is_empty() || listing.tests.iter().any(|listed| listed.test.name.contains(part)) {
        return Ok(());
    }
    Err(Error::usage(format!("no test found has `{part}` in its name"))
        .hint("`--why` takes the name of a test; put the version to compare with before it: `list main --why`"))
}
