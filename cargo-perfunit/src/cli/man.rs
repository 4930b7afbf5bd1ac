//! `cargo perfunit man`: generates pages from the tree of subcommands.

mod facts;
mod page;

pub use facts::{ENVIRONMENT, FILES};
pub use page::{BINARY, rename};

use clap::Args;
use page::man_pages;
use perfunit_model::error::{ExitCode, Result};
use perfunit_system::fs;
use perfunit_system::term::Terminal;
use std::path::PathBuf;

/// Arguments of `man`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  cargo perfunit man ~/.local/share/man/man1    write pages to where `man` finds them
  cargo perfunit man pages                      write pages to a folder, such as for a package
")]
pub struct ManArguments {
    /// Folder for the pages; created if it does not exist.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

impl ManArguments {
    /// Writes the pages into a folder, which is created if it does not exist.
    pub fn run(&self, command: clap::Command) -> Result<ExitCode> {
        let folder = &self.folder;
        fs::create_dir_all(folder)?;
        let pages = man_pages(command);
        for page in &pages {
            fs::write(&folder.join(&page.file), page.roff.as_bytes())?;
        }
        Terminal::default().status("Wrote", &format!("{} pages to {}", pages.len(), folder.display()));
        Ok(ExitCode::Success)
    }
}
