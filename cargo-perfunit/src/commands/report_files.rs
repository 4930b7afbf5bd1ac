//! Reports that go to files.

use crate::error::{Error, ExitCode, Result};
use crate::model::Run;
use crate::report::{self, Format, Rendering, TextOptions};
use crate::system::fs;
use crate::system::term;
use std::path::{Path, PathBuf};

/// A report and its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportFile {
    /// How the run is told.
    pub format: Format,
    pub path: PathBuf,
}

/// Refuses what certainly cannot be written, before anything is measured for it.
pub fn check(files: &[ReportFile]) -> Result<()> {
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

/// Writes all, and says of each that cannot be written how to make it again; the exit code of a run with this verdict.
///
/// A bad verdict is worse news than a missing report; a good one is not, as somebody waits for the report.
pub fn write_all(run: &Run, files: &[ReportFile], rendering: &Rendering, verdict: ExitCode) -> ExitCode {
    let mut code = verdict;
    for ReportFile { format, path } in files {
        if let Err(error) = write(run, *format, rendering, path) {
            let again = format!("--format {} --output FILE` makes it of the saved run", format.name());
            term::error(&format!("{}\nhint: `cargo perfunit report {again}", error.message()));
            if verdict == ExitCode::Success {
                code = error.code();
            }
        }
    }
    code
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
    use crate::report::samples;

    fn file(format: Format, path: &Path) -> ReportFile {
        ReportFile { format, path: path.to_owned() }
    }

    #[test]
    fn text_in_a_file_has_no_colours() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("below/report.txt");
        let files = [file(Format::Text, &path)];
        let code = write_all(&samples::full(), &files, &Rendering::default(), ExitCode::Regression);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("Slower  mycrate parser::tests::long") && !text.contains('\u{1b}'), "{text}");
        assert_eq!(code, ExitCode::Regression);
    }

    #[test]
    fn a_report_that_cannot_be_written_never_hides_a_regression() {
        let files = [file(Format::Json, Path::new("/proc/none/report.json"))];
        let code = |verdict| write_all(&samples::full(), &files, &Rendering::default(), verdict);
        assert_eq!(code(ExitCode::Regression), ExitCode::Regression);
        assert_eq!(code(ExitCode::Success), ExitCode::SetupFailed);
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
