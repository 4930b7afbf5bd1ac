//! Output of a run: prints verdicts as they become final, prints, publishes and writes the reports, and returns the
//! exit code.

use super::arguments::ReportingArguments;
use super::exit_code;
use clap::ValueEnum;
use perfunit_model::error::{Error, ExitCode, Result};
use perfunit_model::format::Glyphs;
use perfunit_model::{Conclusion, Course, History, Run, format};
use perfunit_project::config::{NoTests, Settings};
use perfunit_report as report;
use perfunit_report::history::HistoryFormat;
use perfunit_report::live::{self, Line};
use perfunit_report::{Format, Rendering, TextOptions, WhenFine, github, render};
use perfunit_session as session;
use perfunit_session::Options;
use perfunit_system::fs;
use perfunit_system::term::{self, Terminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Compares two versions, and prints each verdict when it is final.
pub fn diff(options: &Options, terminal: Terminal) -> Result<Run> {
    let glyphs = term::glyphs();
    session::diff(options, terminal, &|outcome| {
        let gates = outcome.gates.as_ref().unwrap_or(&options.measuring.gates);
        let Line { tone, word, text } = live::line(outcome, gates, glyphs);
        terminal.line(tone, word, &text);
    })
}

/// Time for steps that end on their own after the budget is used up, such as reporting.
pub const GRACE: Duration = Duration::from_secs(2);

/// Returns the error for a budget that was used up before there are results.
pub fn out_of_time(whole: Duration, how: &str) -> Error {
    Error::new(ExitCode::Inconclusive, format!("the budget of {} was used up {how}", format::seconds(whole)))
}

/// The reason if building used up the budget.
pub const BY_BUILDING: &str = "by building; finished builds are reused next time";

/// Where to print a run, and which findings fail it.
#[derive(Debug, Clone, Default)]
pub struct RunOutput {
    /// The format on stdout.
    pub format: Format,
    /// Options of the formats.
    pub rendering: Rendering,
    /// Additional reports to write.
    pub files: Vec<ReportFile>,
}

impl RunOutput {
    /// Resolves typed and configured options; rejects files that cannot be written before anything is measured.
    pub fn new(
        format: Format,
        files: &[ReportFile],
        arguments: &ReportingArguments,
        verbose: u8,
        settings: &Settings,
    ) -> Result<Self> {
        check_files(files)?;
        let mut rendering = arguments.rendering(verbose, &settings.deny.value);
        rendering.denied.nothing_measured = settings.no_tests.value == NoTests::Fail;
        Ok(Self { format, rendering, files: files.to_vec() })
    }

    /// Prints and publishes a run, and returns its exit code.
    pub fn conclude(&self, run: &Run, terminal: Terminal) -> ExitCode {
        term::print(&report::render(run, self.format, &self.rendering));
        // The merged run publishes the results of all shards.
        if !run.is_shard() {
            publish(run, self.format, &self.rendering, terminal);
        }
        self.write(run)
    }

    /// Returns the conclusion of a run.
    pub fn conclusion(&self, run: &Run) -> Conclusion {
        Conclusion::of(run, self.rendering.denied)
    }

    /// Writes the reports, and returns the exit code of the run.
    pub fn write(&self, run: &Run) -> ExitCode {
        let failed = write_all(run, &self.files, &self.rendering);
        exit_code::with_reports(self.conclusion(run).into(), failed)
    }
}

/// A report of a run or a history, and its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportFile<F = Format> {
    pub format: F,
    pub path: PathBuf,
}

impl<F: ValueEnum> ReportFile<F> {
    /// Parses `FORMAT=FILE`.
    pub fn parse(typed: &str) -> Result<Self> {
        let known = || {
            let formats = F::value_variants().iter().filter_map(ValueEnum::to_possible_value);
            formats.map(|format| format.get_name().to_owned()).collect::<Vec<_>>().join(", ")
        };
        let (name, path) = typed.split_once('=').unwrap_or((typed, ""));
        let format =
            F::from_str(name, false).map_err(|_| Error::usage(format!("unknown format `{name}`: use {}", known())))?;
        if path.is_empty() {
            return Err(Error::usage(format!("no file given: use `{name}=FILE`")));
        }
        if path == "-" {
            return Err(Error::usage(format!("`-` is not a file; use `--message-format {name}` to print on stdout")));
        }
        Ok(Self { format, path: PathBuf::from(path) })
    }
}

/// Rejects files that cannot be written, before anything is measured.
pub fn check_files<F>(files: &[ReportFile<F>]) -> Result<()> {
    for (index, ReportFile { path, .. }) in files.iter().enumerate() {
        if path.is_dir() {
            return Err(Error::usage(format!("--report cannot write {}: it is a folder", path.display()))
                .hint("name a file: `--report json=perf.json`"));
        }
        if files[..index].iter().any(|earlier| earlier.path == *path) {
            return Err(Error::usage(format!("two reports would be written to {}", path.display())));
        }
    }
    Ok(())
}

/// Writes all reports, and prints how to write those that failed again; returns the exit code of a failure.
pub fn write_all(run: &Run, files: &[ReportFile], rendering: &Rendering) -> Option<ExitCode> {
    let mut failed = None;
    for ReportFile { format, path } in files {
        if let Err(error) = write(run, *format, rendering, path) {
            let again = format!("--format {} --output FILE` writes it from the saved run", format.name());
            term::error(&format!("{}\nhint: `cargo perfunit report {again}", error.message()));
            failed = Some(error.code());
        }
    }
    failed
}

/// Writes the reports of a history, and prints those that failed; returns the exit code of a failure.
pub fn write_history(
    history: &History,
    courses: &[Course],
    files: &[ReportFile<HistoryFormat>],
    text: TextOptions,
) -> Option<ExitCode> {
    let mut failed = None;
    for ReportFile { format, path } in files {
        let text = TextOptions { width: 0, glyphs: Glyphs::Unicode, ..text };
        let report = report::history::render(history, courses, *format, &text);
        let report = if *format == HistoryFormat::Text { term::plain(&report) } else { report };
        if let Err(error) = fs::write(path, report) {
            let hint = "run the same command with --stored to write it from stored results";
            term::error(&format!("{}\nhint: {hint}", error.message()));
            failed = Some(error.code());
        }
    }
    failed
}

/// Writes a report without colors and wrapping.
pub fn write(run: &Run, format: Format, rendering: &Rendering, path: &Path) -> Result<()> {
    let text = TextOptions { width: 0, glyphs: Glyphs::Unicode, ..rendering.text };
    let report = report::render(run, format, &Rendering { text, ..*rendering });
    fs::write(path, if format == Format::Text { term::plain(&report) } else { report })
}

/// The report's name in the folder that the runner empties after the job.
const REPORT: &str = "perfunit.md";

/// Publishes a run that was printed in this format if it runs on GitHub Actions. Failures to write are warnings,
/// because the run itself is saved.
pub fn publish(run: &Run, printed: Format, rendering: &Rendering, terminal: Terminal) {
    if std::env::var_os("GITHUB_ACTIONS").is_none_or(|value| value != "true") {
        return;
    }
    if printed != Format::Github {
        term::eprint(&github::annotations(run));
    }
    let page = render(run, Format::Markdown, &Rendering { when_fine: WhenFine::Short, ..*rendering });
    let said = |what: &str, done: Result<()>| {
        done.inspect_err(|error| terminal.warning(&format!("no {what}: {}", error.message()))).is_ok()
    };
    let report = path("RUNNER_TEMP").map(|folder| folder.join(REPORT));
    let report = report.filter(|report| said("file for a comment", fs::write(report, &page)));
    if let Some(summary) = path("GITHUB_STEP_SUMMARY") {
        said("step summary", fs::append(&summary, &page));
    }
    if let Some(file) = path("GITHUB_OUTPUT") {
        said(
            "output variables",
            fs::append(&file, github::outputs(run, Conclusion::of(run, rendering.denied), report.as_deref())),
        );
    }
}

/// Returns the path in a variable.
fn path(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::samples;

    fn file(format: Format, path: &Path) -> ReportFile {
        ReportFile { format, path: path.to_owned() }
    }

    #[test]
    fn text_in_a_file_has_no_colors() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("below/report.txt");
        let files = [file(Format::Text, &path)];
        assert_eq!(write_all(&samples::full(), &files, &Rendering::default()), None);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("Slower  mycrate parser::tests::long") && !text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn a_report_that_cannot_be_written_is_a_failure() {
        let files = [file(Format::Json, Path::new("/proc/none/report.json"))];
        assert_eq!(write_all(&samples::full(), &files, &Rendering::default()), Some(ExitCode::SetupFailed));
    }

    #[test]
    fn a_report_has_a_format_and_a_file() {
        let parsed = |typed| ReportFile::<Format>::parse(typed).map_err(|error| error.to_string());
        assert_eq!(parsed("json=a=b.json"), Ok(file(Format::Json, Path::new("a=b.json"))));
        assert_eq!(parsed("human=a"), Ok(file(Format::Text, Path::new("a"))));
        assert!(parsed("yaml=a").unwrap_err().contains("unknown format `yaml`: use text, short, markdown, json"));
        assert!(parsed("json").unwrap_err().contains("`json=FILE`"));
        assert!(parsed("json=").is_err());
        assert!(parsed("json=-").unwrap_err().contains("use `--message-format json`"));
    }

    #[test]
    fn what_cannot_be_written_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        assert!(check_files(&[file(Format::Json, folder.path())]).unwrap_err().message().contains("it is a folder"));
        let twice = check_files(&[file(Format::Json, &path), file(Format::Text, &path)]);
        assert!(twice.unwrap_err().message().contains("two reports"));
        assert!(check_files(&[file(Format::Json, &path)]).is_ok());
    }
}
