//! How these programs are started: what was typed, where they work, and which tool they ask.

#[path = "typed.rs"]
mod typed;

use super::tool::Tool;
use super::{Result, copy};
use clap::Args;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
pub use typed::arguments;

/// Arguments that all programs have who call the tool.
#[derive(Debug, Args)]
pub struct Place {
    /// Folder for all that is made, and for the rows [default: a new one in the temporary folder]. With the same folder
    /// a later run goes on where this one stopped.
    #[arg(long, value_name = "FOLDER")]
    work: Option<PathBuf>,
    /// Executable of the tool [default: the one built with this benchmark].
    #[arg(long, value_name = "PATH")]
    pub tool: Option<PathBuf>,
    /// Options of the tool: packages, targets, features, tests.
    #[arg(last = true)]
    pub options: Vec<String>,
}

/// A folder to work in; a temporary one goes with this.
pub struct Work {
    folder: PathBuf,
    _temporary: Option<TempDir>,
}

impl Place {
    /// The folder, made if it is not there.
    pub fn work(&self) -> Result<Work> {
        let temporary = if self.work.is_none() { Some(tempfile::tempdir()?) } else { None };
        let folder = match &temporary {
            Some(temporary) => temporary.path().to_owned(),
            None => copy::typed(self.work.as_deref().unwrap_or(Path::new(""))),
        };
        std::fs::create_dir_all(&folder)?;
        Ok(Work { folder: folder.canonicalize()?, _temporary: temporary })
    }

    /// The tool with the options that were typed, after these.
    pub fn tool(&self, options: &[String]) -> Result<Tool> {
        Tool::new(self.tool.as_deref().map(copy::typed), [options, &self.options].concat())
    }
}

impl AsRef<Path> for Work {
    fn as_ref(&self) -> &Path {
        &self.folder
    }
}
