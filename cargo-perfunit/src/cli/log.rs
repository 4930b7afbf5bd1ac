//! `cargo perfunit log`.

use super::arguments::{CommonArguments, MeasuringArguments, refuse, text_options};
use super::output::{self, ReportFile};
use crate::history::{self, LogRequest, Progress};
use clap::Args;
use perfunit_model::Partition;
use perfunit_model::error::{Error, ExitCode, Result};
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
    mut_arg("base", |arg| arg.value_name("RANGE").help("Commits to compare: BASE..HEAD, or BASE for all since then [default: since the last tag]").long_help(None::<&str>)),
    mut_arg("head", |arg| arg.hide(true).value_parser(refuse::<String>)),
    mut_arg("partition", |arg| arg.hide(true).value_parser(refuse::<Partition>)),
    after_long_help = "\
Examples:
  cargo perfunit log                       what each commit since the last tag changed
  cargo perfunit log v1.2.0..v1.3.0        the commits between two releases
  cargo perfunit log HEAD~50 --budget 10m  as many of the last 50 as fit, the youngest first; again goes on
  cargo perfunit log HEAD~20 parser::      only tests whose name contains `parser::`
  cargo perfunit log --message-format csv  a row for each test of each commit
  cargo perfunit log --stored --report html=log.html
                                           a page with the courses of tests, from what is kept
  cargo perfunit log --since '2 weeks ago' the commits of two weeks
  cargo perfunit log v1.0.0 --by-tag       what each release since then changed
  cargo perfunit log v1.2.0 --import a.sqlite --import b.sqlite
                                           with what two other machines found out (--export)

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
    /// Only commits since then: `2024-05-01`, `2024-05-01T12:00:00Z`, `yesterday`, `2 weeks ago`; days begin in UTC.
    #[arg(long, value_name = "DATE", value_parser = moment, help_heading = "History")]
    pub since: Option<i64>,
    /// Only merge commits, each against its first parent.
    #[arg(long, help_heading = "History")]
    pub merges: bool,
    /// Compare each tag with the one before it, instead of each commit.
    ///
    /// Shown beside the commits that made a test slower or faster, as far as `log` has looked at them. Without a range:
    /// since the tag before the last.
    #[arg(long, conflicts_with_all = ["merges", "paths", "max"], help_heading = "History")]
    pub by_tag: bool,
    /// File that keeps what was found out [default: target/perfunit/history.sqlite].
    #[arg(long, value_name = "FILE", help_heading = "History")]
    pub store: Option<PathBuf>,
    /// First take over what another machine found out, a file of --export or --store; may be given several times.
    #[arg(long, value_name = "FILE", help_heading = "History")]
    pub import: Vec<PathBuf>,
    /// In the end write all that is known to FILE, for --import on another machine.
    #[arg(long, value_name = "FILE", help_heading = "History")]
    pub export: Option<PathBuf>,
    /// Output format of the result on stdout.
    #[arg(long, alias = "format", value_enum, default_value_t, value_name = "FORMAT", help_heading = "Output")]
    pub message_format: HistoryFormat,
    /// Also write a report to a file; may be given several times.
    #[arg(long, value_name = "FORMAT=FILE", value_parser = ReportFile::<HistoryFormat>::parse, help_heading = "Output")]
    pub report: Vec<ReportFile<HistoryFormat>>,
}

impl LogArguments {
    /// Compares and prints.
    pub fn run(&self) -> Result<ExitCode> {
        let resolved = self.common.resolved(self.measuring.layer())?;
        output::check_files(&self.report)?;
        let mut options = self.measuring.options(&self.common, &resolved)?;
        if self.stored {
            // Without any time only what is known is had.
            options.measuring.budget = Some(Duration::ZERO);
        }
        let request = LogRequest {
            options,
            walk: self.walk(),
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
        let code = if interrupt::requested() { ExitCode::Interrupted } else { ExitCode::Success };
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

    /// Returns the exit code of reports that could not be written.
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
            // Its commits were printed as they were known.
            HistoryFormat::Text => report::history::summary(&history, &courses, &text),
            format => report::history::render(&history, &courses, format, &text),
        });
        Ok(output::write_history(&history, &courses, &self.report, text))
    }

    fn releases(&self, request: &LogRequest) -> Result<()> {
        let format = self.message_format;
        if matches!(format, HistoryFormat::Markdown | HistoryFormat::Html) || !self.report.is_empty() {
            return Err(Error::usage("releases are printed as text, json or csv only")
                .hint("leave out --by-tag for a page with the releases as marks"));
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

/// How far it is, on standard error.
fn show(progress: &Progress<'_>, terminal: Terminal) {
    match *progress {
        Progress::Joined { file, joined } => {
            terminal.status("Imported", &format!("{}: {}", file.display(), report::history::joined(joined)));
        }
        Progress::Commit { done, of, left, .. } if done < of => {
            terminal.status("Left", &report::history::left(done, of, left));
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
