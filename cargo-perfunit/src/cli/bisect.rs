//! `cargo perfunit bisect`.

use super::arguments::{CommonArguments, MeasuringArguments, MessageFormat, text_options};
use crate::error::{Error, ExitCode, Result};
use crate::history::{self, BisectRequest};
use crate::model::Culprit;
use crate::report;
use crate::system::interrupt;
use crate::system::term;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `bisect`.
#[derive(Debug, Args)]
#[command(
    mut_arg("base", |arg| arg.value_name("TEST").required(true).help("Test that got slower: its name, or a part that no other slower test has").long_help(None::<&str>)),
    mut_arg("filter", |arg| arg.hide(true)),
    mut_arg("head", |arg| arg.hide(true)),
    mut_arg("partition", |arg| arg.hide(true)),
    after_long_help = "\
Examples:
  cargo perfunit bisect parser::long                  among the commits since the last tag
  cargo perfunit bisect parser::long --good v1.2.0    among the commits since a release
  cargo perfunit bisect parser::long --good v1.2.0 --bad v1.3.0
                                                      between two releases

The ends are compared first. Working tree, index and HEAD stay as they are.
"
)]
pub struct BisectArguments {
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub common: CommonArguments,
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub measuring: MeasuringArguments,
    /// Commit in which the test was quick [default: the last tag].
    #[arg(long, value_name = "REV", help_heading = "History")]
    pub good: Option<String>,
    /// Commit in which it is slow [default: HEAD].
    #[arg(long, value_name = "REV", help_heading = "History")]
    pub bad: Option<String>,
    /// File that keeps what was found out [default: target/perfunit/history.sqlite].
    #[arg(long, value_name = "FILE", help_heading = "History")]
    pub store: Option<PathBuf>,
    /// Output format of the result on stdout.
    #[arg(long, alias = "format", value_enum, default_value_t, value_name = "FORMAT", help_heading = "Output")]
    pub message_format: MessageFormat,
}

impl BisectArguments {
    /// Searches and prints.
    pub fn run(&self) -> Result<ExitCode> {
        let terminal = self.common.terminal();
        if let Some(more) = self.common.filter.first() {
            return Err(Error::usage(format!("unexpected argument `{more}`"))
                .hint("bisect takes one test; commits are named with --good and --bad"));
        }
        let test = self.common.base.clone().unwrap_or_default();
        let resolved = self.common.resolved(self.measuring.layer())?;
        let options = self.measuring.options(&self.common, &resolved)?;
        let (good, bad, store) = (self.good.clone(), self.bad.clone(), self.store.clone());
        let bisection = history::bisect(&BisectRequest { options, test, good, bad, store }, terminal)?;
        term::print(&match self.message_format {
            MessageFormat::Human => report::history::bisection(&bisection, &text_options(self.common.verbose > 0)),
            MessageFormat::Json => report::history::bisect_json(&bisection),
        });
        Ok(match bisection.culprit {
            Culprit::Commits { .. } => ExitCode::Success,
            Culprit::Open(_) if interrupt::requested() => ExitCode::Interrupted,
            Culprit::Open(_) | Culprit::Lost(_) => ExitCode::Inconclusive,
        })
    }
}
