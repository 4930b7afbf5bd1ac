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
  cargo perfunit list main                      list the tests that `diff main` would measure
  cargo perfunit list main --why parser::long   explain the selection of a test
  cargo perfunit list main --explain-none       explain why nothing would be measured
  cargo perfunit list --all                     list all tests with their capture method

See docs/method.md for how tests are selected.
")]
pub struct ListArguments {
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub common: CommonArguments,
    /// List all tests in the workspace with their capture method.
    #[arg(long, help_heading = "Tests")]
    pub all: bool,
    /// Explain each test, or tests with TEST in their name.
    ///
    /// Shows the changes that affect the test and the call path to the nearest one, or the stage that dropped it.
    #[arg(long, value_name = "TEST", num_args = 0..=1, default_missing_value = "", help_heading = "Tests")]
    pub why: Option<String>,
    /// If no test is selected, explain each change.
    #[arg(long, help_heading = "Tests")]
    pub explain_none: bool,
    /// Also list generated calls of changed functions that no test executes [default: never].
    #[arg(long, value_enum, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "uncovered", help_heading = "Tests")]
    pub generated: Option<Generated>,
    /// Output format of the result on stdout.
    #[arg(long, alias = "format", value_enum, default_value_t, value_name = "FORMAT", help_heading = "Output")]
    pub message_format: MessageFormat,
}

impl ListArguments {
    /// Selects tests and prints the list.
    pub fn run(&self) -> Result<ExitCode> {
        let terminal = self.common.terminal();
        let typed = Layer { generated: self.generated.map(Sourced::from_command_line), ..Layer::default() };
        let resolved = self.common.resolve(typed)?;
        let mut options = self.common.options(&resolved, Measuring::default())?;
        options.all_tests |= self.all;
        options.generated = resolved.settings.generated.value;
        let listing = session::list(&options, terminal)?;
        let text = match self.message_format {
            MessageFormat::Json => list::json(&listing),
            MessageFormat::Human => {
                let why = self.why.as_deref();
                check_name(&listing, why)?;
                let (width, glyphs) = (term::width(), term::glyphs());
                let explain_none = self.explain_none;
                list::text(&listing, &ListOptions { all: self.all, why, explain_none, width, glyphs })
            }
        };
        term::print(&text);
        Ok(ExitCode::Success)
    }
}

/// Returns an error if no test has this name, unless there are no tests.
fn check_name(listing: &Listing, why: Option<&str>) -> Result<()> {
    let Some(part) = why else { return Ok(()) };
    if listing.tests.is_empty() || listing.tests.iter().any(|listed| listed.test.name.contains(part)) {
        return Ok(());
    }
    Err(Error::usage(format!("no tests match `{part}`"))
        .hint("`--why` takes the name of a test; put the version to compare with before it: `list main --why`"))
}
