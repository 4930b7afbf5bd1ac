//! How these programs are started: what was typed, where they work, and which tool they ask.

use super::tool::Tool;
use super::{Result, copy};
use clap::{Args, Parser};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

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

/// The arguments, or nothing after saying how the program is used.
pub fn arguments<A: Parser>(usage: &str) -> Option<A> {
    let mut typed: Vec<_> = std::env::args_os().collect();
    // Cargo tells benchmarks that they are some.
    if typed.last().is_some_and(|argument| argument == "--bench") {
        typed.pop();
    }
    if typed.len() < 2 {
        println!("usage: cargo bench --bench {usage}; --help tells more");
        return None;
    }
    Some(A::parse_from(typed))
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
