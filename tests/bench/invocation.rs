//! The invocation of these programs: arguments, working folder, and tool.

#[path = "typed.rs"]
mod typed;

use super::tool::Tool;
use super::{Result, copy};
use clap::Args;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
pub use typed::arguments;

/// Arguments of all programs that call the tool.
#[derive(Debug, Args)]
pub struct Place {
    /// Folder for files and results [default: a new temporary folder]. With the same folder, a later run continues
    /// where this one stopped
    #[arg(long, value_name = "FOLDER")]
    work: Option<PathBuf>,
    /// Executable of the tool [default: the one built with this benchmark]
    #[arg(long, value_name = "PATH")]
    pub tool: Option<PathBuf>,
    /// Options of the tool: packages, targets, features, tests
    #[arg(last = true)]
    pub options: Vec<String>,
}

/// A working folder; a temporary one is removed when this is dropped.
pub struct Work {
    folder: PathBuf,
    _temporary: Option<TempDir>,
}

impl Place {
    /// Returns the folder and creates it if it is missing.
    pub fn work(&self) -> Result<Work> {
        let temporary = if self.work.is_none() { Some(tempfile::tempdir()?) } else { None };
        let folder = match &temporary {
            Some(temporary) => temporary.path().to_owned(),
            None => copy::typed(self.work.as_deref().unwrap_or(Path::new(""))),
        };
        std::fs::create_dir_all(&folder)?;
        Ok(Work { folder: folder.canonicalize()?, _temporary: temporary })
    }

    /// Returns the tool with these options, followed by the typed ones.
    pub fn tool(&self, options: &[String]) -> Result<Tool> {
        Tool::new(self.tool.as_deref().map(copy::typed), [options, &self.options].concat())
    }
}

impl AsRef<Path> for Work {
    fn as_ref(&self) -> &Path {
        &self.folder
    }
}
