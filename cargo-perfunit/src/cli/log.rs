//! `cargo perfunit log`.

use super::arguments::{CommonArguments, MeasuringArguments, refuse, text_options};
use super::output::{self, ReportFile};
use crate::history::{self, LogRequest, Progress};
use clap::Args;
use perfunit_model::error::{Error, ExitCode, Result};
use perfunit_model::{HistorySource, Partition};
use perfunit_project::git::{Steps, Walk};
use perfunit_report as report;
use perfunit_report::history::HistoryFormat;
use perfunit_system::term::{self, Terminal};
use perfunit_system::{date, interrupt};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// Arguments of `log`.
#[derive(Debug, Args)]
#[command(
    mut_arg("base", |arg| arg.value_name("RANGE").help("Commits to compare: BASE..HEAD, or BASE for all commits since then [default: since the last tag]").long_help(None::<&str>)),
    mut_arg("head", |arg| arg.hide(true).value_parser(refuse::<String>)),
    mut_arg("partition", |arg| arg.hide(true).value_parser(refuse::<Partition>)),
    after_long_help = "\
Examples:
  cargo perfunit log                       compare each commit since the last tag with the previous one
  cargo perfunit log v1.2.0..v1.3.0        compare the commits between two releases
  cargo perfunit log HEAD~50 --budget 10m  compare as many of the last 50 as fit; repeat to continue
  cargo perfunit log HEAD~20 parser::      only measure tests with `parser::` in their name
  cargo perfunit log --message-format csv  print a row for each test of each commit
  cargo perfunit log --stored --report html=log.html
                                           write a page with plots from stored results
  cargo perfunit log --since '2 weeks ago' compare the commits of two weeks
  cargo perfunit log v1.0.0 --by-tag       compare each release with the previous one
  cargo perfunit log v1.2.0 --import a.sqlite --import b.sqlite
                                           import results of other machines (--export)

Results are stored; the next call only compares new commits.
"
)]
pub struct LogArguments {
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub common: CommonArguments,
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub measuring: MeasuringArguments,
    /// Limit to the N most recent commits of the range.
    #[arg(
        long,
        short_alias = 'n',
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..),
        help_heading = "History"
    )]
    pub max: Option<u32>,
    /// Limit to commits that change files below PATH, relative to the repository's root; can be repeated.
    #[arg(long, value_name = "PATH", help_heading = "History")]
    pub paths: Vec<String>,
    /// Only show stored results, without building and measuring.
    #[arg(long, conflicts_with = "budget", help_heading = "History")]
    pub stored: bool,
    /// Limit to commits since this time: `2024-05-01`, `2024-05-01T12:00:00Z`, `yesterday`, `2 weeks ago`; days begin
    /// in UTC.
    #[arg(long, value_name = "DATE", value_parser = moment, help_heading = "History")]
    pub since: Option<i64>,
    /// Limit to merge commits, each compared with its first parent.
    #[arg(long, help_heading = "History")]
    pub merges: bool,
    /// Compare each tag with the previous one instead of comparing commits.
    ///
    /// Also names the commits that made a test slower or faster, as far as `log` has compared them. The default range
    /// begins at the tag before the last.
    #[arg(long, conflicts_with_all = ["merges", "paths", "max"], help_heading = "History")]
    pub by_tag: bool,
    /// File that stores results [default: target/perfunit/history.sqlite].
    #[arg(long, value_name = "FILE", help_heading = "History")]
    pub store: Option<PathBuf>,
    /// Import results before running, from a file of --export or --store; can be repeated.
    #[arg(long, value_name = "FILE", help_heading = "History")]
    pub import: Vec<PathBuf>,
    /// Export all results to FILE, for --import on another machine.
    #[arg(long, value_name = "FILE", help_heading = "History")]
    pub export: Option<PathBuf>,
    /// Output format of the result on stdout.
    #[arg(long, alias = "format", value_enum, default_value_t, value_name = "FORMAT", help_heading = "Output")]
    pub message_format: HistoryFormat,
    /// Also write a report to a file; can be repeated.
    #[arg(long, value_name = "FORMAT=FILE", value_parser = ReportFile::<HistoryFormat>::parse, help_heading = "Output")]
    pub report: Vec<ReportFile<HistoryFormat>>,
}

impl LogArguments {
    /// Compares the commits and prints the results.
    pub fn run(&self) -> Result<ExitCode> {
        let resolved = self.common.resolve(self.measuring.layer())?;
        output::check_files(&self.report)?;
        let mut options = self.measuring.options(&self.common, &resolved)?;
        if self.stored {
            // Without time, only stored results are used.
            options.measuring.budget = Some(Duration::ZERO);
        }
        let request = LogRequest {
            options,
            walk: self.walk(),
            source: if self.stored { HistorySource::Stored } else { HistorySource::Comparisons },
            store: self.store.clone(),
            join: self.import.clone(),
            export: self.export.clone(),
        };
        let failed = if self.by_tag {
            self.releases(&request)?;
            None
        } else {
            self.commits(&request)?
        };
        let code = if interrupt::is_requested() { ExitCode::Interrupted } else { ExitCode::Success };
        Ok(failed.unwrap_or(code))
    }

    fn walk(&self) -> Walk {
        Walk {
            range: self.common.base.clone(),
            most: self.max.map(|most| most as usize),
            paths: self.paths.clone(),
            tags_passed: usize::from(self.by_tag),
            since: self.since,
            steps: if self.merges { Steps::Merges } else { Steps::All },
        }
    }

    /// Compares the commits, and returns the exit code of reports that could not be written.
    fn commits(&self, request: &LogRequest) -> Result<Option<ExitCode>> {
        let (terminal, text) = (self.common.terminal(), text_options(self.common.verbose > 0));
        let is_human = self.message_format == HistoryFormat::Text;
        let history = history::log(request, terminal, &mut |progress| {
            if let (Progress::Commit { entry, .. }, true) = (&progress, is_human) {
                term::print(&report::history::entry(entry, &text));
            }
            show(&progress, terminal);
        })?;
        let courses = history::courses(&history);
        term::print(&match self.message_format {
            // The entries were printed when they became known.
            HistoryFormat::Text => report::history::summary(&history, &courses, &text),
            format => report::history::render(&history, &courses, format, &text),
        });
        Ok(output::write_history(&history, &courses, &self.report, text))
    }

    fn releases(&self, request: &LogRequest) -> Result<()> {
        let format = self.message_format;
        if matches!(format, HistoryFormat::Markdown | HistoryFormat::Html) || !self.report.is_empty() {
            return Err(Error::usage("--by-tag supports text, json and csv only")
                .hint("without --by-tag, a page marks the releases"));
        }
        let (terminal, text) = (self.common.terminal(), text_options(self.common.verbose > 0));
        let is_human = format == HistoryFormat::Text;
        let releases =
            history::releases(request, terminal, &mut |progress| show(&progress, terminal), &mut |release| {
                if is_human {
                    term::print(&report::history::release(release, &text));
                }
            })?;
        term::print(&match format {
            HistoryFormat::Json => report::history::releases_json(&releases),
            HistoryFormat::Csv => report::history::releases_csv(&releases),
            _ => report::history::releases_summary(&releases, &text),
        });
        Ok(())
    }
}

/// Prints the progress on standard error.
fn show(progress: &Progress<'_>, terminal: Terminal) {
    match *progress {
        Progress::Joined { file, joined } => {
            terminal.status("Imported", &format!("{}: {}", file.display(), report::history::describe_import(joined)));
        }
        Progress::Commit { left, of, time, .. } if left > 0 => {
            terminal.status("Left", &report::history::left(left, of, time));
        }
        Progress::Commit { .. } => {}
        Progress::Anchoring { base, head, tests } => {
            terminal.status("Comparing", &report::history::anchoring(base, head, tests));
        }
        Progress::NotAnchored { base, head, ref why } => {
            terminal.warning(&report::history::not_anchored(base, head, why));
        }
    }
}

fn moment(text: &str) -> Result<i64> {
    date::past(text, SystemTime::now())
        .ok_or_else(|| Error::usage("use a day such as `2024-05-01`, `yesterday`, or a time such as `2 weeks ago`"))
}
