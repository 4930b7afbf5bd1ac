//! `cargo perfunit merge`.

use super::arguments::{ConfigurationArguments, ReportingArguments, place, terminal};
use super::output::{ReportFile, RunOutput};
use clap::{ArgAction, Args};
use perfunit_model::error::{ExitCode, Result};
use perfunit_project::config::NoTests;
use perfunit_report::Format;
use perfunit_session as session;
use perfunit_session::MergeRequest;
use perfunit_system::term::ColorChoice;
use std::path::PathBuf;

/// Arguments of `merge`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  cargo perfunit merge shards                             merge all run.json files below a folder
  cargo perfunit merge shard-1/run.json shard-2/run.json  merge files by name
  cargo perfunit merge shards --report markdown=perf.md   also write a pull request comment

See docs/sharding.md for how to create shards.
")]
pub struct MergeArguments {
    /// Saved runs of all shards: `run.json` files, or folders that contain them.
    #[arg(required = true, value_name = "DIR|FILE")]
    pub shards: Vec<PathBuf>,
    /// Write the merged run to DIR/run.json instead of saving it in the workspace.
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Output format of the result on stdout.
    #[arg(long, alias = "format", value_enum, default_value_t, value_name = "FORMAT")]
    pub message_format: Format,
    /// Also write a report to a file; can be repeated.
    #[arg(long, value_name = "FORMAT=FILE", value_parser = ReportFile::<Format>::parse)]
    pub report: Vec<ReportFile>,
    /// What to do if there is nothing to measure [default: pass].
    #[arg(long, value_enum, value_name = "ACTION")]
    pub no_tests: Option<NoTests>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub reporting: ReportingArguments,
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub configuration: ConfigurationArguments,
    /// Directory for all generated artifacts.
    #[arg(long, value_name = "DIRECTORY", hide_short_help = true)]
    pub target_dir: Option<PathBuf>,
    /// Path to Cargo.toml.
    #[arg(long, value_name = "PATH", hide_short_help = true)]
    pub manifest_path: Option<PathBuf>,
    /// Print more details: p-value, effect size, pairs and reason for selection of each test.
    #[arg(long, short, action = ArgAction::Count)]
    pub verbose: u8,
    /// Only print the result.
    #[arg(long, short, conflicts_with = "verbose")]
    pub quiet: bool,
    /// When to color the output.
    #[arg(long, value_enum, value_name = "WHEN", env = "CARGO_TERM_COLOR", default_value_t)]
    pub color: ColorChoice,
}

impl MergeArguments {
    /// Joins the shards of a run and prints the result like `diff`.
    pub fn run(&self) -> Result<ExitCode> {
        let terminal = terminal(self.color, self.quiet);
        let (folder, manifest) = place(self.manifest_path.as_deref())?;
        let typed = self.reporting.layer(self.no_tests);
        let settings = self.configuration.find(&folder, manifest.as_deref(), typed, terminal)?.settings;
        let output = RunOutput::new(self.message_format, &self.report, &self.reporting, self.verbose, &settings)?;
        let mut run = session::merge(&MergeRequest {
            shards: self.shards.clone(),
            output: self.output.clone(),
            folder,
            manifest,
            target_dir: self.target_dir.clone(),
        })?;
        self.reporting.judge(&mut run);
        Ok(output.conclude(&run, terminal))
    }
}
