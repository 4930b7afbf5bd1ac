//! `cargo perfunit bisect`.

use super::arguments::{CommonArguments, MeasuringArguments, refuse, text_options};
use crate::history::{self, BisectRequest, Steps, Subject};
use clap::{Args, ValueEnum};
use perfunit_model::error::{Error, ExitCode, Result};
use perfunit_model::{Bisection, Direction, Partition, Unsearched};
use perfunit_report as report;
use perfunit_system::interrupt;
use perfunit_system::term;
use std::path::PathBuf;

/// Arguments of `bisect`.
#[derive(Debug, Args)]
#[command(
    mut_arg("base", |arg| arg.value_name("TEST").required_unless_present("function").help("Slower test: its name, or a part that matches only one slower test").long_help(None::<&str>)),
    mut_arg("filter", |arg| arg.hide(true)),
    mut_arg("head", |arg| arg.hide(true).value_parser(refuse::<String>)),
    mut_arg("partition", |arg| arg.hide(true).value_parser(refuse::<Partition>)),
    after_long_help = "\
Examples:
  cargo perfunit bisect parser::long                  search the commits since the last tag
  cargo perfunit bisect parser::long --good v1.2.0    search the commits since a release
  cargo perfunit bisect parser::long --good v1.2.0 --bad v1.3.0
                                                      search the commits between two releases
  cargo perfunit bisect --function Parser::line       search by the slower tests that execute a function
  cargo perfunit bisect parser::long --all            find each commit that changed the test
  cargo perfunit bisect parser::long --message-format markdown
                                                      print Markdown for an issue

The ends are compared first. Working tree, index and HEAD do not change.
"
)]
pub struct BisectArguments {
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub common: CommonArguments,
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub measuring: MeasuringArguments,
    /// Search with the slower tests that execute this function, led by the one that changed most.
    ///
    /// A function's name or the end of its path: `line`, `Parser::line`. The result includes the effect on the other
    /// tests.
    #[arg(long, short, value_name = "NAME", conflicts_with = "base", help_heading = "History")]
    pub function: Option<String>,
    /// Search all changes beyond the threshold, slower and faster, the largest first.
    #[arg(long, help_heading = "History")]
    pub all: bool,
    /// Search for the commit that made the test faster.
    #[arg(long, help_heading = "History")]
    pub faster: bool,
    /// A commit before the change [default: the last tag].
    #[arg(long, visible_alias = "old", value_name = "REV", help_heading = "History")]
    pub good: Option<String>,
    /// A commit after the change [default: HEAD].
    #[arg(long, visible_alias = "new", value_name = "REV", help_heading = "History")]
    pub bad: Option<String>,
    /// File that stores results [default: target/perfunit/history.sqlite].
    #[arg(long, value_name = "FILE", help_heading = "History")]
    pub store: Option<PathBuf>,
    /// Output format of the result on stdout.
    #[arg(long, alias = "format", value_enum, default_value_t, value_name = "FORMAT", help_heading = "Output")]
    pub message_format: BisectFormat,
}

/// Output formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum BisectFormat {
    /// A summary for people.
    #[default]
    #[value(alias = "human")]
    Text,
    /// One versioned JSON document.
    Json,
    /// Markdown for an issue.
    Markdown,
}

impl BisectArguments {
    /// Searches and prints the result.
    pub fn run(&self) -> Result<ExitCode> {
        let terminal = self.common.terminal();
        if let Some(more) = self.common.filter.first() {
            return Err(Error::usage(format!("unexpected argument `{more}`"))
                .hint("bisect takes one test; commits are named with --good and --bad"));
        }
        let resolved = self.common.resolve(self.measuring.layer())?;
        let options = self.measuring.options(&self.common, &resolved)?;
        let subject = match &self.function {
            Some(function) => Subject::Function(function.clone()),
            None => Subject::Test(self.common.base.clone().unwrap_or_default()),
        };
        let direction = if self.faster { Direction::Faster } else { Direction::Slower };
        let steps = if self.all { Steps::All } else { Steps::Largest };
        let (good, bad, store) = (self.good.clone(), self.bad.clone(), self.store.clone());
        let request = BisectRequest { options, subject, direction, steps, good, bad, store };
        let bisection = history::bisect(&request, terminal)?;
        term::print(&match self.message_format {
            BisectFormat::Text => report::history::bisection(&bisection, &text_options(self.common.verbose > 0)),
            BisectFormat::Json => report::history::bisect_json(&bisection),
            BisectFormat::Markdown => report::history::bisect_markdown(&bisection),
        });
        Ok(exit_code(&bisection))
    }
}

fn exit_code(bisection: &Bisection) -> ExitCode {
    let is_open = bisection.unresolved.iter().any(|left| left.because == Unsearched::Open);
    match () {
        () if is_open && interrupt::is_requested() => ExitCode::Interrupted,
        () if bisection.unresolved.is_empty() && !bisection.steps.is_empty() => ExitCode::Success,
        () => ExitCode::Inconclusive,
    }
}
