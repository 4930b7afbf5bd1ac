//! `cargo perfunit clean`.

use super::arguments::place;
use crate::error::{ExitCode, Result};
use crate::session;
use crate::system::cache;
use crate::system::fs;
use crate::system::term::Terminal;
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

impl CleanArguments {
    /// Removes our folder below the target folder.
    pub fn run(&self) -> Result<ExitCode> {
        let terminal = Terminal::default();
        let (folder, manifest) = place(self.manifest_path.as_deref())?;
        let ours = session::home(&folder, manifest.as_deref(), self.target_dir.as_deref())?;
        let cache = self.cache.then(|| cache::folder(&ours)).transpose()?;
        if ours.exists() {
            // Not under the feet of a run.
            let _lock = session::lock(&ours, terminal)?;
            fs::remove_dir_all(&ours)?;
        }
        terminal.status("Removed", &ours.display().to_string());
        if let Some(cache) = cache {
            fs::remove_dir_all(&cache)?;
            terminal.status("Removed", &cache.display().to_string());
        }
        Ok(ExitCode::Success)
    }
}
