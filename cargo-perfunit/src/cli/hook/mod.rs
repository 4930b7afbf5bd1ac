//! `cargo perfunit hook`: installs, shows, removes and runs the `pre-push` hook.

mod check;
mod install;
mod run;
mod status;

use super::arguments::folder;
use clap::{Args, Subcommand};
use install::InstallArguments;
use perfunit_model::error::{ExitCode, Result};
use perfunit_system::term::Terminal;
use run::RunArguments;

/// Arguments of `hook`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  cargo perfunit hook install                compare each pushed version with the remote's
  cargo perfunit hook install --budget 30s   delay a push by at most 30 s
  cargo perfunit hook status                 show if the hook is installed, and what a push would compare
  cargo perfunit hook uninstall              remove the hook and restore an earlier one

To push anyway: `git push --no-verify`, or PERFUNIT_SKIP=1.
")]
pub struct HookArguments {
    /// The command.
    #[command(subcommand)]
    pub command: HookCommand,
}

/// Commands for the hook.
#[derive(Debug, Subcommand)]
pub enum HookCommand {
    /// Install the hook; an existing hook is kept and runs first.
    ///
    /// Options are stored in the hook; those after `--` are passed to `diff`.
    Install(InstallArguments),
    /// Remove the hook; an earlier hook is restored.
    Uninstall,
    /// Show where the hook is installed, its options, and what a push would compare now.
    Status,
    /// Compare the pushed version with the remote's; git runs this before a push.
    ///
    /// Reads lines `<local ref> <local object> <remote ref> <remote object>` from standard input. Blocks the push if a
    /// test got slower (exit code 100), newly fails (104), or has a finding that `--deny` names (105, 106).
    Run(RunArguments),
}

impl HookArguments {
    /// Runs the command.
    pub fn run(&self) -> Result<ExitCode> {
        match &self.command {
            HookCommand::Install(arguments) => arguments.run(),
            HookCommand::Uninstall => install::uninstall(&folder()?, Terminal::default()),
            HookCommand::Status => status::status(&folder()?),
            HookCommand::Run(arguments) => arguments.run(),
        }
    }
}
