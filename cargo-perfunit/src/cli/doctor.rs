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
  cargo perfunit doctor                         check the machine and show advice
  cargo perfunit doctor --message-format json   print the findings for a script

See docs/doctor.md for all findings. The exit code is always 0.
")]
pub struct DoctorArguments {
    /// Output format of the result on stdout.
    #[arg(long, alias = "format", value_enum, default_value_t, value_name = "FORMAT")]
    pub message_format: MessageFormat,
    /// When to color the output.
    #[arg(long, value_enum, value_name = "WHEN", env = "CARGO_TERM_COLOR", default_value_t)]
    pub color: ColorChoice,
}

impl DoctorArguments {
    /// Examines this machine and prints the findings, which do not fail the command.
    pub fn run(&self) -> Result<ExitCode> {
        let checkup = doctor::examine(&folder()?, terminal(self.color, false));
        term::print(&match self.message_format {
            MessageFormat::Human => report::doctor::text(&checkup, &text_options(false)),
            MessageFormat::Json => report::doctor::json(&checkup),
        });
        Ok(ExitCode::Success)
    }
}
