//! `cargo perfunit doctor`.

use super::arguments::{MessageFormat, folder, terminal, text_options};
use crate::doctor;
use clap::Args;
use perfunit_model::error::{ExitCode, Result};
use perfunit_report as report;
use perfunit_system::term::{self, ColorChoice};

/// Arguments of `doctor`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  cargo perfunit doctor                         what could be better, and how
  cargo perfunit doctor --message-format json   the same, for a script

The findings are explained in docs/doctor.md. The exit code is 0, whatever is found.
")]
pub struct DoctorArguments {
    /// Output format of the result on stdout.
    #[arg(long, alias = "format", value_enum, default_value_t, value_name = "FORMAT")]
    pub message_format: MessageFormat,
    /// Coloring of the output.
    #[arg(long, value_enum, value_name = "WHEN", env = "CARGO_TERM_COLOR", default_value_t)]
    pub color: ColorChoice,
}

impl DoctorArguments {
    /// Examines this machine and prints what was found. Findings are no failure.
    pub fn run(&self) -> Result<ExitCode> {
        let checkup = doctor::examine(&folder()?, terminal(self.color, false));
        term::print(&match self.message_format {
            MessageFormat::Human => report::doctor::text(&checkup, &text_options(false)),
            MessageFormat::Json => report::doctor::json(&checkup),
        });
        Ok(ExitCode::Success)
    }
}
