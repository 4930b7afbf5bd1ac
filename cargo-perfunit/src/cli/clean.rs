//! `cargo perfunit clean`.

use super::arguments::place;
use clap::Args;
use perfunit_model::error::{ExitCode, Result};
use perfunit_session as session;
use perfunit_system::cache;
use perfunit_system::fs;
use perfunit_system::term::Terminal;
use std::path::{Path, PathBuf};

/// Arguments of `clean`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  cargo perfunit clean           remove the files of this project
  cargo perfunit clean --cache   also remove files shared by all projects
")]
pub struct CleanArguments {
    /// Also remove what is shared by all projects.
    ///
    /// The runtime and macros, which are built once per toolchain, and the machine's calibration.
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
        // Waits for runs in progress.
        let _lock = ours.exists().then(|| session::lock(&ours, terminal)).transpose()?;
        remove(&ours, terminal)?;
        cache.map_or(Ok(()), |cache| remove(&cache, terminal))?;
        Ok(ExitCode::Success)
    }
}

/// Removes a folder, and reports what was removed.
fn remove(folder: &Path, terminal: Terminal) -> Result<()> {
    let path = folder.display();
    if folder.exists() {
        fs::remove_dir_all(folder)?;
        terminal.status("Removed", &path.to_string());
    } else {
        terminal.status("Removed", &format!("nothing: {path} does not exist"));
    }
    Ok(())
}
