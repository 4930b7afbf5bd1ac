//! `cargo perfunit ratchet`: the version whose speed the project accepts, and losses that it accepts on purpose.

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
  cargo perfunit ratchet set v1.2.0     compare with this release, too, from now on
  cargo perfunit ratchet show           what is accepted
  cargo perfunit ratchet accept parser::long --reason 'checks for overflow'
                                        accept what the last `diff` found
")]
pub struct RatchetArguments {
    /// What to do.
    #[command(subcommand)]
    pub command: RatchetCommand,
}

/// What can be done with it.
#[derive(Debug, Subcommand)]
pub enum RatchetCommand {
    /// Accept the speed of a version: `diff` and the hook compare with it from then on.
    ///
    /// Losses that were accepted before are forgotten, as they were against another version.
    Set {
        /// Version: a tag, a commit, a branch as it is now.
        #[arg(default_value = "HEAD", value_name = "REV")]
        revision: String,
        #[command(flatten)]
        #[allow(missing_docs, reason = "flattened into the help text")]
        project: ProjectArguments,
    },
    /// Accept the loss of a test since the accepted version, as the last `diff` measured it.
    ///
    /// Later only what goes beyond it, by the threshold or more, fails a run.
    Accept {
        /// Test: its name, or a part that no other slower test has.
        test: String,
        /// Why the loss is accepted; shown in reports.
        #[arg(long, value_name = "TEXT")]
        reason: String,
        #[command(flatten)]
        #[allow(missing_docs, reason = "flattened into the help text")]
        project: ProjectArguments,
    },
    /// Show the accepted version and the accepted losses.
    Show {
        #[command(flatten)]
        #[allow(missing_docs, reason = "flattened into the help text")]
        project: ProjectArguments,
    },
}

/// Which project is meant.
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
    /// Does what was asked for.
    pub fn run(&self) -> Result<ExitCode> {
        let terminal = terminal(ColorChoice::default(), false);
        match &self.command {
            RatchetCommand::Set { revision, project } => {
                let accepted = project.project()?.accept_version(revision)?;
                terminal.status("Accepted", &format!("{} in {RATCHET_FILE}", ratchet::project(&accepted).trim_end()));
            }
            RatchetCommand::Accept { test, reason, project } => {
                let accepted = project.project()?.accept_loss(test, reason)?;
                terminal.status("Accepted", &format!("{} {accepted}, in {RATCHET_FILE}", accepted.test));
            }
            RatchetCommand::Show { project } => {
                let accepted = project.project()?.accepted()?;
                let none = || "nothing is accepted: `cargo perfunit ratchet set REV` names a version\n".to_owned();
                term::print(&accepted.as_ref().map_or_else(none, ratchet::project));
            }
        }
        Ok(ExitCode::Success)
    }
}
