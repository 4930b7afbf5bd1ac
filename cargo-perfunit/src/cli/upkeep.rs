//! Subcommands about the tool and the machine: `clean`, `doctor`, `demo`.

use super::MessageFormat;
use super::comparing::folder;
use crate::commands::{self, CleanOptions};
use crate::error::{ExitCode, Result};
use crate::system::term::{self, ColorChoice, Terminal};
use clap::Args;
use std::path::PathBuf;

/// Arguments of `clean`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  cargo perfunit clean           what belongs to this project
  cargo perfunit clean --cache   also what is kept for all projects
")]
pub struct CleanArguments {
    /// Also remove what is kept for all projects.
    ///
    /// The runtime and macros, built once for each toolchain, and the machine's calibration.
    #[arg(long)]
    pub cache: bool,
    /// Path to Cargo.toml.
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
    /// Directory for all generated artifacts.
    #[arg(long, value_name = "DIRECTORY")]
    pub target_dir: Option<PathBuf>,
}

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
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub message_format: MessageFormat,
    /// Coloring of the output.
    #[arg(long, value_enum, value_name = "WHEN", env = "CARGO_TERM_COLOR", default_value_t)]
    pub color: ColorChoice,
}

/// Arguments of `demo`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  cargo perfunit demo             in a new folder
  cargo perfunit demo wordcount   in a folder of your choice
")]
pub struct DemoArguments {
    /// Folder to make the project in [default: a new one in the temporary folder].
    ///
    /// It must not exist yet, or be empty.
    pub folder: Option<PathBuf>,
}

impl CleanArguments {
    /// Removes and says so.
    pub fn run(&self) -> Result<ExitCode> {
        let options = CleanOptions {
            folder: folder()?,
            manifest: self.manifest_path.clone(),
            target_dir: self.target_dir.clone(),
            cache: self.cache,
        };
        commands::clean(&options, Terminal::default())
    }
}

impl DoctorArguments {
    /// Examines and prints.
    pub fn run(&self) -> Result<ExitCode> {
        term::set_color(self.color);
        commands::doctor(&folder()?, self.message_format == MessageFormat::Json, Terminal::default())
    }
}

impl DemoArguments {
    /// Makes the project and compares.
    pub fn run(&self) -> Result<ExitCode> {
        commands::demo(self.folder.as_deref(), Terminal::default())
    }
}
