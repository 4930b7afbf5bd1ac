//! Subcommands about the tool and the machine: `clean`, `doctor`, `demo`.

use super::MessageFormat;
use super::comparing::folder;
use crate::commands::{self, CleanOptions};
use crate::error::{ExitCode, Result};
use crate::term::{self, ColorChoice, Terminal};
use clap::Args;
use std::path::PathBuf;

/// Arguments of `clean`.
#[derive(Debug, Args)]
pub struct CleanArguments {
    /// Also remove what is kept for all projects: the runtime and macros of each toolchain, the
    /// machine's calibration.
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
pub struct DoctorArguments {
    /// Output format of the result on stdout.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub message_format: MessageFormat,
    /// Coloring.
    #[arg(long, value_enum, value_name = "WHEN", env = "CARGO_TERM_COLOR", default_value_t)]
    pub color: ColorChoice,
}

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub struct DemoArguments {
    /// Folder to make the project in; must not exist or be empty [default: a new one in the temporary folder].
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
