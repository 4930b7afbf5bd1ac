//! `cargo perfunit report`.

use super::arguments::{ReportingArguments, place, terminal};
use super::output;
use clap::builder::UnknownArgumentValueParser;
use clap::{ArgAction, Args};
use perfunit_model::Run;
use perfunit_model::error::{Error, ExitCode, Result};
use perfunit_report as report;
use perfunit_report::{DocumentKind, Format, ListFormat, Rendering, WhenFine, saved_runs, schema};
use perfunit_session as session;
use perfunit_session::runs;
use perfunit_system::term::{self, ColorChoice, Terminal};
use perfunit_system::{browser, fs};
use std::path::{Path, PathBuf};

/// File name of the page for --open.
const PAGE: &str = "report.html";

/// Arguments of `report`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  cargo perfunit report                              print the last run
  cargo perfunit report --format markdown            print a pull request comment
  cargo perfunit report --format junit -o perf.xml   write JUnit XML for a CI system
  cargo perfunit report --open                       open a page in the browser
  cargo perfunit report --list                       list the saved runs
  cargo perfunit report --run 20261122T08 -v         print one of them with all details

See docs/reports.md for the formats.
")]
pub struct ReportArguments {
    /// Run to report: an ID or its beginning, or the path of a `run.json` or its folder [default: the last].
    #[arg(long, value_name = "ID|PATH")]
    pub run: Option<String>,
    /// Format of the report.
    #[arg(long, alias = "message-format", value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,
    /// Rejects --html with an error that names --format.
    #[arg(
        long,
        hide = true,
        action = ArgAction::SetTrue,
        value_parser = UnknownArgumentValueParser::suggest_arg("--format html")
    )]
    pub html: Option<String>,
    /// Output file; `-` is stdout.
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
    /// Open the report in the browser, as HTML written to --output or next to the saved run.
    #[arg(long, conflicts_with_all = ["list", "schema"])]
    pub open: bool,
    /// List the saved runs and their results (as text or json).
    #[arg(long, conflicts_with_all = ["run", "output", "deny", "bound", "when_fine"])]
    pub list: bool,
    /// Print the JSON Schema of a document.
    #[arg(
        long,
        value_enum,
        value_name = "DOCUMENT",
        num_args = 0..=1,
        default_missing_value = "diff",
        conflicts_with_all = ["run", "format", "output", "list", "deny", "bound", "when_fine"]
    )]
    pub schema: Option<DocumentKind>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub reporting: ReportingArguments,
    /// Print more details: p-value, effect size, pairs and reason for selection of each test.
    #[arg(long, short, action = ArgAction::Count)]
    pub verbose: u8,
    /// Path to Cargo.toml.
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
    /// Directory for all generated artifacts.
    #[arg(long, value_name = "DIRECTORY")]
    pub target_dir: Option<PathBuf>,
    /// Only print the result.
    #[arg(long, short, conflicts_with = "verbose")]
    pub quiet: bool,
    /// When to color the output.
    #[arg(long, value_enum, value_name = "WHEN", env = "CARGO_TERM_COLOR", default_value_t)]
    pub color: ColorChoice,
}

impl ReportArguments {
    /// Prints or writes the report of a saved run. Its verdicts do not fail this command.
    pub fn run(&self) -> Result<ExitCode> {
        let terminal = terminal(self.color, self.quiet);
        if let Some(kind) = self.schema {
            term::print(&schema::render(kind));
            return Ok(ExitCode::Success);
        }
        let saved = SavedRuns::new(self)?;
        if self.list {
            let format = self.list_format()?;
            term::print(&saved_runs::render(&saved.all()?, format));
            return Ok(ExitCode::Success);
        }
        if self.reporting.when_fine != WhenFine::default() && self.format != Format::Markdown {
            return Err(Error::usage(format!("--when-fine requires `--format markdown`, not {}", self.format.name()))
                .hint("add `--format markdown`"));
        }
        let rendering = self.reporting.rendering(self.verbose, &self.reporting.deny);
        let (file, mut run) = saved.find(self.run.as_deref())?;
        self.reporting.judge(&mut run);
        if self.open {
            return self.open(&file, &run, &rendering, terminal);
        }
        if self.output.as_os_str() == "-" {
            term::print(&report::render(&run, self.format, &rendering));
            return Ok(ExitCode::Success);
        }
        write(&run, self.format, &rendering, (&self.output, &file), terminal)?;
        Ok(ExitCode::Success)
    }

    fn open(&self, file: &Path, run: &Run, rendering: &Rendering, terminal: Terminal) -> Result<ExitCode> {
        if !matches!(self.format, Format::Text | Format::Html) {
            return Err(Error::usage(format!("--open requires HTML, not {}", self.format.name()))
                .hint("remove --format or --open"));
        }
        let path = match self.output.as_os_str() == "-" {
            false => self.output.clone(),
            // A named file may be in another project.
            true if self.run.as_deref().is_some_and(is_path) => {
                fs::temporary_dir("perfunit-report-")?.keep().join(PAGE)
            }
            true => file.with_file_name(PAGE),
        };
        write(run, Format::Html, rendering, (&path, file), terminal)?;
        browser::open(&path)?;
        Ok(ExitCode::Success)
    }

    fn list_format(&self) -> Result<ListFormat> {
        match self.format {
            Format::Text => Ok(ListFormat::Text(term::glyphs())),
            Format::Json => Ok(ListFormat::Json),
            other => Err(Error::usage(format!("--list supports text and json, not {}", other.name()))
                .hint("`--format json` is for programs, `--format text` for people")),
        }
    }
}

/// Writes a report to a file other than that of the run.
fn write(
    run: &Run,
    format: Format,
    rendering: &Rendering,
    (path, file): (&Path, &Path),
    terminal: Terminal,
) -> Result<()> {
    if path.canonicalize().is_ok_and(|path| file.canonicalize().is_ok_and(|file| file == path)) {
        return Err(Error::usage(format!("the report would overwrite the saved run {}", path.display()))
            .hint("name another file with --output"));
    }
    output::write(run, format, rendering, path)?;
    terminal.status("Wrote", &path.display().to_string());
    Ok(())
}

/// Saved runs. A project is not required for a run named by its path.
struct SavedRuns<'a> {
    folder: PathBuf,
    manifest: Option<PathBuf>,
    target_dir: Option<&'a Path>,
}

impl<'a> SavedRuns<'a> {
    fn new(arguments: &'a ReportArguments) -> Result<Self> {
        let (folder, manifest) = place(arguments.manifest_path.as_deref())?;
        Ok(Self { folder, manifest, target_dir: arguments.target_dir.as_deref() })
    }

    fn home(&self) -> Result<PathBuf> {
        session::home(&self.folder, self.manifest.as_deref(), self.target_dir)
    }

    /// Returns the named run, or the last one, with its file.
    fn find(&self, typed: Option<&str>) -> Result<(PathBuf, Run)> {
        let (path, record) = match typed {
            None => runs::last(&self.home()?)?,
            Some(path) if is_path(path) => {
                let path = Path::new(path);
                let file = if path.is_dir() { path.join(runs::FILE) } else { path.to_owned() };
                let record = runs::read(&file)?;
                (file, record)
            }
            Some(id) => runs::find_run(&self.home()?, id)?,
        };
        Ok((path, record.run))
    }

    /// Returns every saved run, or the error that prevents reading it, the latest first.
    fn all(&self) -> Result<Vec<saved_runs::Saved>> {
        let entry = |path: PathBuf| {
            let run = runs::read(&path).map(|record| record.run);
            saved_runs::Saved { id: runs::id_of(&path), path, run }
        };
        Ok(runs::all(&self.home()?)?.into_iter().rev().map(entry).collect())
    }
}

/// Returns false for run IDs, which have no slashes and no extension.
fn is_path(typed: &str) -> bool {
    typed.contains(std::path::MAIN_SEPARATOR) || Path::new(typed).extension().is_some_and(|ending| ending == "json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_named_by_id_or_by_path() {
        assert!(!is_path("20261122T07"));
        assert!(["run.json", "./20261122T073000Z-ab12", "shards/1/run.json"].into_iter().all(is_path));
    }
}
