//! `cargo perfunit merge`.

use super::comparing::{folder, real};
use super::diff::NoTests;
use super::report::{TellingArguments, report_file};
use crate::commands::{self, DiffOutput, Gate, ReportFile};
use crate::error::{ExitCode, Result};
use crate::pipeline::MergeRequest;
use crate::report::Format;
use crate::term::{self, ColorChoice, Terminal};
use clap::{ArgAction, Args};
use std::path::{Path, PathBuf};

/// Arguments of `merge`.
#[derive(Debug, Args)]
pub struct MergeArguments {
    /// Saved runs of all shards: their `run.json`, or folders with such somewhere below.
    #[arg(required = true, value_name = "DIR|FILE")]
    pub shards: Vec<PathBuf>,
    /// Write the merged run to DIR/run.json instead of beside the workspace's other runs.
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Output format of the result on stdout.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub message_format: Format,
    /// Also write a report to a file; may be given several times.
    #[arg(long, value_name = "FORMAT=FILE", value_parser = report_file)]
    pub report: Vec<ReportFile>,
    /// What to do when there is nothing to measure.
    #[arg(long, value_enum, default_value_t, value_name = "ACTION")]
    pub no_tests: NoTests,
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub telling: TellingArguments,
    /// Directory for all generated artifacts.
    #[arg(long, value_name = "DIRECTORY")]
    pub target_dir: Option<PathBuf>,
    /// Path to Cargo.toml.
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
    /// Say more: per test the p value, effect size, pairs and why it was selected.
    #[arg(long, short, action = ArgAction::Count)]
    pub verbose: u8,
    /// Print the result only.
    #[arg(long, short, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Coloring.
    #[arg(long, value_enum, value_name = "WHEN", env = "CARGO_TERM_COLOR", default_value_t)]
    pub color: ColorChoice,
}

impl MergeArguments {
    /// Joins and prints.
    pub fn run(&self) -> Result<ExitCode> {
        term::set_color(self.color);
        let manifest = self.manifest_path.as_deref().map(real).transpose()?;
        let folder = match manifest.as_deref().and_then(Path::parent) {
            Some(parent) => parent.to_owned(),
            None => folder()?,
        };
        let request = MergeRequest {
            shards: self.shards.clone(),
            output: self.output.clone(),
            folder,
            manifest,
            target_dir: self.target_dir.clone(),
        };
        let output = DiffOutput {
            format: self.message_format,
            rendering: self.telling.rendering(self.verbose),
            files: self.report.clone(),
            gate: Gate {
                fail_without_tests: self.no_tests == NoTests::Fail,
                inconclusive: self.telling.inconclusive(),
            },
        };
        commands::merge(&request, &output, Terminal { quiet: self.quiet })
    }
}
