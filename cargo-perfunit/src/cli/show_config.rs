//! `cargo perfunit show-config`.

use super::arguments::{ConfigurationArguments, MeasuringArguments, MessageFormat, place, terminal};
use clap::Args;
use perfunit_model::error::{ExitCode, Result};
use perfunit_project::config;
use perfunit_report::settings;
use perfunit_system::term::{self, ColorChoice};
use std::path::PathBuf;

/// Arguments of `show-config`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  cargo perfunit show-config                                 show the settings and their sources
  cargo perfunit show-config --profile ci --threshold 5%     show the settings with other options

See docs/configuration.md for all settings.
")]
pub struct ShowConfigArguments {
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub configuration: ConfigurationArguments,
    /// Print the JSON schema of the configuration file, for editors.
    #[arg(long, conflicts_with_all = ["config_file", "message_format"])]
    pub schema: bool,
    /// Output format of the result on stdout.
    #[arg(long, alias = "format", value_enum, default_value_t, value_name = "FORMAT")]
    pub message_format: MessageFormat,
    /// Path to Cargo.toml.
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
    /// When to color the output.
    #[arg(long, value_enum, value_name = "WHEN", env = "CARGO_TERM_COLOR", default_value_t)]
    pub color: ColorChoice,
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub measuring: MeasuringArguments,
}

impl ShowConfigArguments {
    /// Resolves the configuration and prints it.
    pub fn run(&self) -> Result<ExitCode> {
        let terminal = terminal(self.color, false);
        if self.schema {
            term::print(&config::schema());
            return Ok(ExitCode::Success);
        }
        let (folder, manifest) = place(self.manifest_path.as_deref())?;
        let typed = self.measuring.layer();
        let resolved = self.configuration.find(&folder, manifest.as_deref(), typed, terminal)?;
        config::ratchet_request(&resolved.settings.ratchet, resolved.accepted.as_ref())?;
        term::print(&match self.message_format {
            MessageFormat::Human => settings::text(&resolved),
            MessageFormat::Json => settings::json(&resolved),
        });
        Ok(ExitCode::Success)
    }
}
