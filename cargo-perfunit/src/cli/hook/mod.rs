//! `cargo perfunit hook`: the `pre-push` hook, installed, looked at, removed and run.

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
  cargo perfunit hook install                what is pushed is compared with what the remote has
  cargo perfunit hook install --budget 30s   and a push waits at most this long
  cargo perfunit hook status                 whether it is installed, and what else runs
  cargo perfunit hook uninstall              as it was before

To push anyway: `git push --no-verify`, or PERFUNIT_SKIP=1.
")]
pub struct HookArguments {
    /// What to do.
    #[command(subcommand)]
    pub command: HookCommand,
}

/// What can be done with the hook.
#[derive(Debug, Subcommand)]
pub enum HookCommand {
    /// Install the hook; one that is there already is kept and runs first.
    ///
    /// Options are stored in the hook; those after `--` are given to `diff`.
    Install(InstallArguments),
    /// Remove the hook; one that was there before gets its place back.
    Uninstall,
    /// Show whether the hook is installed, where, with which options, and what a push would compare now.
    Status,
    /// Compare what is pushed with what the remote has; git starts this before a push.
    ///
    /// Reads lines `<local ref> <local object> <remote ref> <remote object>` from standard input. Fails, which blocks
    /// the push, if a test got slower (100), fails on head alone (104), or with `--deny inconclusive` is inconclusive (105).
    Run(RunArguments),
}

impl HookArguments {
    /// Does what was asked for.
    pub fn run(&self) -> Result<ExitCode> {
        match &self.command {
            HookCommand::Install(arguments) => arguments.run(),
            HookCommand::Uninstall => install::uninstall(&folder()?, Terminal::default()),
            HookCommand::Status => status::status(&folder()?),
            HookCommand::Run(arguments) => arguments.run(),
        }
    }
}
