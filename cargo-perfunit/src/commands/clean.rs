//! `cargo perfunit clean`.

use crate::error::{ExitCode, Result};
use crate::session;
use crate::system::cache;
use crate::system::fs;
use crate::system::term::Terminal;
use std::path::PathBuf;

#[derive(Debug, Clone)]
pub struct CleanOptions {
    /// Where the user stands.
    pub folder: PathBuf,
    pub manifest: Option<PathBuf>,
    pub target_dir: Option<PathBuf>,
    /// Also the parts kept for all projects.
    pub cache: bool,
}

/// Removes our folder below the target folder.
pub fn clean(options: &CleanOptions, terminal: Terminal) -> Result<ExitCode> {
    let ours = session::home(&options.folder, options.manifest.as_deref(), options.target_dir.as_deref())?;
    let cache = options.cache.then(|| cache::folder(&ours)).transpose()?;
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
