//! `cargo perfunit archive`.

use super::arguments::{CommonArguments, folder};
use clap::Args;
use perfunit_model::error::{Error, ExitCode, Result};
use perfunit_model::format::count;
use perfunit_project::config::Layer;
use perfunit_session as session;
use perfunit_session::{Measuring, Options};
use std::path::PathBuf;

/// Arguments of `archive`.
#[derive(Debug, Args)]
#[command(mut_arg("partition", |argument| argument.hide(true)), after_long_help = "\
Examples:
  cargo perfunit archive main --archive-file perfunit.tar.zst   build on one machine
  cargo perfunit diff --use-archive perfunit.tar.zst            measure on another

See docs/sharding.md for the requirements.
")]
pub struct ArchiveArguments {
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub common: CommonArguments,
    /// Write the archive to FILE (a `.tar.zst`).
    #[arg(long, value_name = "FILE")]
    pub archive_file: PathBuf,
}

impl ArchiveArguments {
    /// Builds and packs both versions, and reports the content of the archive.
    pub fn run(&self) -> Result<ExitCode> {
        let terminal = self.common.terminal();
        if let Some(partition) = &self.common.partition {
            return Err(Error::usage(format!(
                "--partition {partition} cannot be used with `archive`: an archive serves all shards"
            ))
            .hint("give --partition to `diff --use-archive`"));
        }
        let resolved = self.common.resolve(Layer::default())?;
        let results = vec![folder()?.join(&self.archive_file)];
        let options = Options { results, ..self.common.options(&resolved, Measuring::default())? };
        let made = session::archive(&options, &self.archive_file, terminal)?;
        for warning in &made.warnings {
            terminal.status("Warning", &warning.to_string());
        }
        let megabytes = made.bytes as f64 / 1e6;
        let tests = match &made.nothing_because {
            Some(because) => format!("nothing to measure: {because}"),
            None => format!("{} to measure", count(made.tests, "test")),
        };
        let (base, head, file) = (&made.versions.base.label, &made.versions.head.label, self.archive_file.display());
        terminal.status("Archived", &format!("{base} and {head} in {file} ({megabytes:.1} MB), {tests}"));
        Ok(ExitCode::Success)
    }
}
