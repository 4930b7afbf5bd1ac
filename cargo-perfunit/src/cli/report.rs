//! `cargo perfunit report`, and the options that `diff` shares with it.

use super::comparing::{folder, real};
use crate::commands::{self, ReportFile, ReportRequest, ReportView, SavedRun};
use crate::config::Deny;
use crate::error::{Error, ExitCode, Result};
use crate::report::{Denied, DocumentKind, Format, ListFormat, Rendering, TextOptions, WhenFine};
use crate::system::term::{self, ColorChoice, Terminal};
use clap::{ArgAction, Args, ValueEnum};
use std::path::{Path, PathBuf};

/// Arguments of `report`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  cargo perfunit report                              the last run, for people
  cargo perfunit report --format markdown            as a comment for a pull request
  cargo perfunit report --format junit -o perf.xml   for a CI system
  cargo perfunit report --list                       the saved runs
  cargo perfunit report --run 20261122T08 -v         one of them, with all that is known

The formats are described in docs/reports.md.
")]
pub struct ReportArguments {
    /// Which run: an id or the beginning of one, or the path of a `run.json` or its folder [default: the last].
    #[arg(long, value_name = "ID|PATH")]
    pub run: Option<String>,
    /// How to tell it.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,
    /// Where to write it; `-` is stdout.
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
    /// Instead, the saved runs with what came out (as text or json).
    #[arg(long, conflicts_with_all = ["run", "output", "deny", "when_fine"])]
    pub list: bool,
    /// Instead, the JSON Schema of a document.
    #[arg(
        long,
        value_enum,
        value_name = "DOCUMENT",
        num_args = 0..=1,
        default_missing_value = "diff",
        conflicts_with_all = ["run", "format", "output", "list", "deny", "when_fine"]
    )]
    pub schema: Option<DocumentKind>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub telling: TellingArguments,
    /// Say more: per test the p value, effect size, pairs and why it was selected.
    #[arg(long, short, action = ArgAction::Count)]
    pub verbose: u8,
    /// Path to Cargo.toml.
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
    /// Directory for all generated artifacts.
    #[arg(long, value_name = "DIRECTORY")]
    pub target_dir: Option<PathBuf>,
    /// Print the result only.
    #[arg(long, short, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Coloring.
    #[arg(long, value_enum, value_name = "WHEN", env = "CARGO_TERM_COLOR", default_value_t)]
    pub color: ColorChoice,
}

/// What reports leave open.
#[derive(Debug, Args)]
pub struct TellingArguments {
    /// Such tests are failures, too: exit code of `diff`, failed test cases with `junit`.
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "Output")]
    pub deny: Vec<Deny>,
    /// What Markdown says when nothing got slower or faster.
    #[arg(long, value_enum, default_value_t, value_name = "HOW", help_heading = "Output")]
    pub when_fine: WhenFine,
}

/// What the words deny.
pub fn denied(deny: &[Deny]) -> Denied {
    Denied { inconclusive: deny.contains(&Deny::Inconclusive), failing: deny.contains(&Deny::Failing) }
}

impl TellingArguments {
    /// With so many `-v`.
    pub fn rendering(&self, verbose: u8) -> Rendering {
        Rendering {
            text: TextOptions { width: term::width(), verbose: verbose > 0, unicode: term::unicode() },
            when_fine: self.when_fine,
            denied: denied(&self.deny),
        }
    }
}

impl ReportArguments {
    /// Tells of a saved run.
    pub fn run(&self) -> Result<ExitCode> {
        term::set_color(self.color);
        commands::report(&self.request()?, &self.view()?, Terminal { quiet: self.quiet })
    }

    fn request(&self) -> Result<ReportRequest> {
        let manifest = self.manifest_path.as_deref().map(real).transpose()?;
        Ok(ReportRequest {
            folder: manifest.as_deref().and_then(Path::parent).map_or_else(folder, |parent| Ok(parent.to_owned()))?,
            manifest,
            target_dir: self.target_dir.clone(),
            run: self.run.as_deref().map_or(SavedRun::Last, saved_run),
        })
    }

    fn view(&self) -> Result<ReportView> {
        if let Some(kind) = self.schema {
            return Ok(ReportView::Schema(kind));
        }
        if self.list {
            return self.list_format().map(ReportView::List);
        }
        if self.telling.when_fine != WhenFine::default() && self.format != Format::Markdown {
            return Err(Error::usage(format!("--when-fine is about Markdown, not {}", self.format.name()))
                .hint("say `--format markdown` too"));
        }
        let path = Some(self.output.clone()).filter(|path| path.as_os_str() != "-");
        Ok(ReportView::Run { format: self.format, rendering: self.telling.rendering(self.verbose), path })
    }

    fn list_format(&self) -> Result<ListFormat> {
        match self.format {
            Format::Text => Ok(ListFormat::Text(self.telling.rendering(0).text.glyphs())),
            Format::Json => Ok(ListFormat::Json),
            other => Err(Error::usage(format!("--list cannot be told as {}", other.name()))
                .hint("`--format json` is for programs, `--format text` for people")),
        }
    }
}

/// Ids have no slashes and no ending.
fn saved_run(typed: &str) -> SavedRun {
    let is_path = typed.contains(std::path::MAIN_SEPARATOR)
        || Path::new(typed).extension().is_some_and(|extension| extension == "json");
    if is_path { SavedRun::At(PathBuf::from(typed)) } else { SavedRun::Named(typed.to_owned()) }
}

/// `FORMAT=FILE`.
pub fn report_file(typed: &str) -> std::result::Result<ReportFile, String> {
    let known = || Format::value_variants().iter().map(|format| format.name()).collect::<Vec<_>>().join(", ");
    let (name, path) = typed.split_once('=').unwrap_or((typed, ""));
    let format = Format::from_str(name, false).map_err(|_| format!("`{name}` is no format: use {}", known()))?;
    if path.is_empty() {
        return Err(format!("no file for it: try `{name}=FILE`"));
    }
    Ok(ReportFile { format, path: PathBuf::from(path) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_named_by_id_or_by_path() {
        assert_eq!(saved_run("20261122T07"), SavedRun::Named("20261122T07".to_owned()));
        for path in ["run.json", "./20261122T073000Z-ab12", "shards/1/run.json"] {
            assert_eq!(saved_run(path), SavedRun::At(PathBuf::from(path)));
        }
    }

    #[test]
    fn files_of_reports_have_a_format() {
        let file = |format, path: &str| ReportFile { format, path: PathBuf::from(path) };
        assert_eq!(report_file("json=a=b.json"), Ok(file(Format::Json, "a=b.json")));
        assert_eq!(report_file("human=a"), Ok(file(Format::Text, "a")));
        assert!(report_file("yaml=a").unwrap_err().contains("`yaml` is no format: use text, markdown, json"));
        assert!(report_file("json").unwrap_err().contains("`json=FILE`"));
        assert!(report_file("json=").is_err());
    }
}
