//! Reports that go to files.

use clap::ValueEnum;
use perfunit_model::error::{Error, ExitCode, Result};
use perfunit_model::{Course, History, Run};
use perfunit_report as report;
use perfunit_report::history::HistoryFormat;
use perfunit_report::{Format, Rendering, TextOptions};
use perfunit_system::fs;
use perfunit_system::term;
use std::path::{Path, PathBuf};

/// A report and its file; of a run, unless it is of a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportFile<F = Format> {
    pub format: F,
    pub path: PathBuf,
}

impl<F: ValueEnum> ReportFile<F> {
    /// Reads `FORMAT=FILE`.
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
            return Err(Error::usage(format!("`-` is no file: `--message-format {name}` prints on stdout")));
        }
        Ok(Self { format, path: PathBuf::from(path) })
    }
}

/// Refuses what certainly cannot be written, before anything is measured for it.
pub fn check<F>(files: &[ReportFile<F>]) -> Result<()> {
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

/// Writes all, and says of each that cannot be written how to make it again; the exit code of such a failure.
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

/// Writes the reports of a history, and says which cannot be written; the exit code of such a failure.
pub fn write_history(
    history: &History,
    courses: &[Course],
    files: &[ReportFile<HistoryFormat>],
    text: TextOptions,
) -> Option<ExitCode> {
    let mut failed = None;
    for ReportFile { format, path } in files {
        let text = TextOptions { width: 0, unicode: true, ..text };
        let report = report::history::render(history, courses, *format, &text);
        let report = if *format == HistoryFormat::Text { term::plain(&report) } else { report };
        if let Err(error) = fs::write(path, report) {
            let hint = "the same command with --stored writes it from what is kept";
            term::error(&format!("{}\nhint: {hint}", error.message()));
            failed = Some(error.code());
        }
    }
    failed
}

/// Writes a report, without colours and line breaks for a terminal's width.
pub fn write(run: &Run, format: Format, rendering: &Rendering, path: &Path) -> Result<()> {
    let text = TextOptions { width: 0, unicode: true, ..rendering.text };
    let report = report::render(run, format, &Rendering { text, ..*rendering });
    fs::write(path, if format == Format::Text { term::plain(&report) } else { report })
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::samples;

    fn file(format: Format, path: &Path) -> ReportFile {
        ReportFile { format, path: path.to_owned() }
    }

    #[test]
    fn text_in_a_file_has_no_colours() {
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
        assert!(parsed("yaml=a").unwrap_err().contains("unknown format `yaml`: use text, markdown, json"));
        assert!(parsed("json").unwrap_err().contains("`json=FILE`"));
        assert!(parsed("json=").is_err());
        assert!(parsed("json=-").unwrap_err().contains("`--message-format json` prints"));
    }

    #[test]
    fn what_cannot_be_written_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        assert!(check(&[file(Format::Json, folder.path())]).unwrap_err().message().contains("it is a folder"));
        let twice = check(&[file(Format::Json, &path), file(Format::Text, &path)]);
        assert!(twice.unwrap_err().message().contains("two reports"));
        assert!(check(&[file(Format::Json, &path)]).is_ok());
    }
}
