//! `cargo perfunit merge`.

use super::comparing::{ConfigurationArguments, place};
use super::report::{TellingArguments, denied, report_file};
use crate::commands::{self, DiffOutput, Gate, ReportFile};
use crate::config::{Layer, NoTests, Sourced};
use crate::error::{ExitCode, Result};
use crate::report::{Format, Rendering};
use crate::session::MergeRequest;
use crate::system::term::{self, ColorChoice, Terminal};
use clap::{ArgAction, Args};
use std::path::PathBuf;

/// Arguments of `merge`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  cargo perfunit merge shards                             every run.json below a folder
  cargo perfunit merge shard-1/run.json shard-2/run.json  files by name
  cargo perfunit merge shards --report markdown=perf.md   with a comment for a pull request

How shards are made is described in docs/sharding.md.
")]
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
    /// What to do when there is nothing to measure [default: pass].
    #[arg(long, value_enum, value_name = "ACTION")]
    pub no_tests: Option<NoTests>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub telling: TellingArguments,
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub configuration: ConfigurationArguments,
    /// Directory for all generated artifacts.
    #[arg(long, value_name = "DIRECTORY", hide_short_help = true)]
    pub target_dir: Option<PathBuf>,
    /// Path to Cargo.toml.
    #[arg(long, value_name = "PATH", hide_short_help = true)]
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
        let terminal = Terminal { quiet: self.quiet };
        let (folder, manifest) = place(self.manifest_path.as_deref())?;
        let typed = Layer {
            no_tests: self.no_tests.map(Sourced::typed),
            deny: (!self.telling.deny.is_empty()).then(|| Sourced::typed(self.telling.deny.clone())),
            ..Layer::default()
        };
        let resolved = self.configuration.find(&folder, manifest.as_deref(), typed)?;
        for warning in &resolved.warnings {
            terminal.warning(warning);
        }
        let denied = denied(&resolved.settings.deny.value);
        let request = MergeRequest {
            shards: self.shards.clone(),
            output: self.output.clone(),
            folder,
            manifest,
            target_dir: self.target_dir.clone(),
        };
        let output = DiffOutput {
            format: self.message_format,
            rendering: Rendering { denied, ..self.telling.rendering(self.verbose) },
            files: self.report.clone(),
            gate: Gate { fail_without_tests: resolved.settings.no_tests.value == NoTests::Fail, denied },
        };
        commands::merge(&request, &output, terminal)
    }
}
