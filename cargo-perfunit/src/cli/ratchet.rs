//! `cargo perfunit ratchet`: the version with the project's accepted speed, and losses accepted on purpose.

use super::arguments::{place, terminal};
use crate::history::Project;
use clap::{Args, Subcommand};
use perfunit_model::error::{ExitCode, Result};
use perfunit_project::config::RATCHET_FILE;
use perfunit_report::ratchet;
use perfunit_system::term::{self, ColorChoice};
use std::path::PathBuf;

/// Arguments of `ratchet`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  cargo perfunit ratchet set v1.2.0     also compare with this release from now on
  cargo perfunit ratchet show           show the baseline and the accepted losses
  cargo perfunit ratchet accept parser::long --reason 'checks for overflow'
                                        accept a loss that the last `diff` measured
")]
pub struct RatchetArguments {
    /// The command.
    #[command(subcommand)]
    pub command: RatchetCommand,
}

/// Commands for the ratchet.
#[derive(Debug, Subcommand)]
pub enum RatchetCommand {
    /// Pin a version as the baseline: `diff` and the hook also compare with it.
    ///
    /// Removes the accepted losses, which relate to the previous baseline.
    Set {
        /// Version: a tag, a commit, or a branch at its current commit.
        #[arg(default_value = "HEAD", value_name = "REV")]
        revision: String,
        #[command(flatten)]
        #[allow(missing_docs, reason = "flattened into the help text")]
        project: ProjectArguments,
    },
    /// Accept the loss of a test since the baseline, as the last `diff` measured it.
    ///
    /// Afterwards, only a further loss of at least the threshold fails a run.
    Accept {
        /// Test: its name, or a part that matches only one slower test.
        test: String,
        /// Reason for accepting the loss; shown in reports.
        #[arg(long, value_name = "TEXT")]
        reason: String,
        #[command(flatten)]
        #[allow(missing_docs, reason = "flattened into the help text")]
        project: ProjectArguments,
    },
    /// Show the baseline and the accepted losses.
    Show {
        #[command(flatten)]
        #[allow(missing_docs, reason = "flattened into the help text")]
        project: ProjectArguments,
    },
}

/// The project.
#[derive(Debug, Args)]
pub struct ProjectArguments {
    /// Path to Cargo.toml.
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
    /// Directory for all generated artifacts.
    #[arg(long, value_name = "DIRECTORY")]
    pub target_dir: Option<PathBuf>,
}

impl ProjectArguments {
    fn project(&self) -> Result<Project> {
        let (folder, manifest) = place(self.manifest_path.as_deref())?;
        Ok(Project { folder, manifest, target_dir: self.target_dir.clone() })
    }
}

impl RatchetArguments {
    /// Runs the command.
    pub fn run(&self) -> Result<ExitCode> {
        let terminal = terminal(ColorChoice::default(), false);
        match &self.command {
            RatchetCommand::Set { revision, project } => {
                let accepted = project.project()?.pin_version(revision)?;
                terminal.status("Pinned", &format!("{} in {RATCHET_FILE}", ratchet::pinned(&accepted)));
            }
            RatchetCommand::Accept { test, reason, project } => {
                let accepted = project.project()?.accept_loss(test, reason)?;
                terminal.status("Accepted", &format!("{} {accepted}, in {RATCHET_FILE}", accepted.test));
            }
            RatchetCommand::Show { project } => {
                let accepted = project.project()?.accepted_version()?;
                let none = || "no baseline is set; `cargo perfunit ratchet set REV` sets one\n".to_owned();
                term::print(&accepted.as_ref().map_or_else(none, ratchet::project));
            }
        }
        Ok(ExitCode::Success)
    }
}
