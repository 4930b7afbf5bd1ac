//! `cargo perfunit archive`.

use super::comparing::{CommonArguments, folder, options, resolved, terminal};
use crate::commands;
use crate::config::Layer;
use crate::error::{Error, ExitCode, Result};
use crate::session::{Measuring, Options};
use clap::Args;
use std::path::PathBuf;

/// Arguments of `archive`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  cargo perfunit archive main --archive-file perfunit.tar.zst   build here ..
  cargo perfunit diff --use-archive perfunit.tar.zst            .. and measure elsewhere

What it needs there is described in docs/sharding.md.
")]
pub struct ArchiveArguments {
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub common: CommonArguments,
    /// Where to write the archive, a `.tar.zst`.
    #[arg(long, value_name = "FILE")]
    pub archive_file: PathBuf,
}

impl ArchiveArguments {
    /// Builds and packs.
    pub fn run(&self) -> Result<ExitCode> {
        let terminal = terminal(&self.common);
        if let Some(partition) = &self.common.partition {
            return Err(Error::usage(format!("--partition {partition}: an archive is for all shards"))
                .hint("give --partition to `diff --use-archive`"));
        }
        let resolved = resolved(&self.common, Layer::default())?;
        let results = vec![folder()?.join(&self.archive_file)];
        let options = Options { results, ..options(&self.common, &resolved, Measuring::default())? };
        commands::archive(&options, &self.archive_file, terminal)
    }
}
