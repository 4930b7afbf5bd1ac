//! `cargo perfunit list`.

use super::MessageFormat;
use super::comparing::{CommonArguments, options, resolved, terminal};
use crate::commands::{self, ListOutput};
use crate::config::Layer;
use crate::error::{ExitCode, Result};
use crate::session::Measuring;
use clap::Args;

/// Arguments of `list`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  cargo perfunit list main                      what `diff main` would measure, and why
  cargo perfunit list main --why parser::long   what changed for a test, or what left it out
  cargo perfunit list main --explain-none       why nothing would be measured
  cargo perfunit list --all                     all tests, with how they were captured

How tests are selected is told in docs/method.md.
")]
pub struct ListArguments {
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub common: CommonArguments,
    /// Every test found in the workspace, with how it was captured.
    #[arg(long, help_heading = "Tests")]
    pub all: bool,
    /// Explain each test, or those whose name contains TEST.
    ///
    /// What changed for it and the path from the test to the change, or which stage left it out.
    #[arg(long, value_name = "TEST", num_args = 0..=1, default_missing_value = "", help_heading = "Tests")]
    pub why: Option<String>,
    /// If no test is selected, say of each change why it selects none.
    #[arg(long, help_heading = "Tests")]
    pub explain_none: bool,
    /// Output format of the result on stdout.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = "Output")]
    pub message_format: MessageFormat,
}

impl ListArguments {
    /// Selects and prints.
    pub fn run(&self) -> Result<ExitCode> {
        let terminal = terminal(&self.common);
        let output = ListOutput {
            json: self.message_format == MessageFormat::Json,
            all: self.all,
            why: self.why.clone(),
            explain_none: self.explain_none,
        };
        let resolved = resolved(&self.common, Layer::default())?;
        let mut options = options(&self.common, &resolved, Measuring::default())?;
        options.all_tests |= self.all;
        commands::list(&options, &output, terminal)
    }
}
