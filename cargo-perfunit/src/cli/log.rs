//! `cargo perfunit log`.

use super::arguments::{CommonArguments, MeasuringArguments, text_options};
use super::report_files::{self, ReportFile};
use crate::error::{ExitCode, Result};
use crate::git::Walk;
use crate::history::{self, LogRequest};
use crate::report;
use crate::report::history::HistoryFormat;
use crate::system::interrupt;
use crate::system::term;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `log`.
#[derive(Debug, Args)]
#[command(
    mut_arg("base", |arg| arg.value_name("RANGE").help("Commits to compare: BASE..HEAD, or BASE for all since then [default: since the last tag]").long_help(None::<&str>)),
    mut_arg("head", |arg| arg.hide(true)),
    mut_arg("partition", |arg| arg.hide(true)),
    after_long_help = "\
Examples:
  cargo perfunit log                       what each commit since the last tag changed
  cargo perfunit log v1.2.0..v1.3.0        the commits between two releases
  cargo perfunit log HEAD~50 --budget 10m  as many of the last 50 as fit, the youngest first; again goes on
  cargo perfunit log HEAD~20 parser::      only tests whose name contains `parser::`
  cargo perfunit log --message-format csv  a row for each test of each commit
  cargo perfunit log --stored --report html=log.html
                                           a page with the courses of tests, from what is kept

What was found out is kept; a second call compares only what is new.
"
)]
pub struct LogArguments {
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub common: CommonArguments,
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub measuring: MeasuringArguments,
    /// Only the youngest N commits of the range.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "History")]
    pub max: Option<u32>,
    /// Only commits that change something below PATH, relative to the repository's root; may be given several times.
    #[arg(long, value_name = "PATH", help_heading = "History")]
    pub paths: Vec<String>,
    /// Show what is kept and nothing else: build and measure nothing.
    #[arg(long, conflicts_with = "budget", help_heading = "History")]
    pub stored: bool,
    /// File that keeps what was found out [default: target/perfunit/history.sqlite].
    #[arg(long, value_name = "FILE", help_heading = "History")]
    pub store: Option<PathBuf>,
    /// Output format of the result on stdout.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = "Output")]
    pub message_format: HistoryFormat,
    /// Also write a report to a file; may be given several times.
    #[arg(long, value_name = "FORMAT=FILE", value_parser = ReportFile::<HistoryFormat>::parse, help_heading = "Output")]
    pub report: Vec<ReportFile<HistoryFormat>>,
}

impl LogArguments {
    /// Compares and prints.
    pub fn run(&self) -> Result<ExitCode> {
        let terminal = self.common.terminal();
        let resolved = self.common.resolved(self.measuring.layer())?;
        report_files::check(&self.report)?;
        let mut options = self.measuring.options(&self.common, &resolved)?;
        if self.stored {
            // Without any time only what is known is had.
            options.measuring.budget = Some(Duration::ZERO);
        }
        let most = self.max.map(|most| most as usize);
        let walk = Walk { range: self.common.base.clone(), most, paths: self.paths.clone() };
        let request = LogRequest { options, walk, store: self.store.clone() };
        let (text, is_human) = (text_options(self.common.verbose > 0), self.message_format == HistoryFormat::Text);
        let history = history::log(&request, terminal, &mut |entry, left| {
            if is_human {
                term::print(&report::history::entry(entry, &text));
            }
            if left > 0 {
                terminal.status("Left", &report::format::count(left, "commit"));
            }
        })?;
        let courses = history::courses(&history);
        term::print(&match self.message_format {
            // Its commits were printed as they were known.
            HistoryFormat::Text => report::history::summary(&history, &courses, &text),
            format => report::history::render(&history, &courses, format, &text),
        });
        let failed = report_files::write_history(&history, &courses, &self.report, text);
        let code = if interrupt::requested() { ExitCode::Interrupted } else { ExitCode::Success };
        Ok(failed.unwrap_or(code))
    }
}
