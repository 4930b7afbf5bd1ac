//! Subcommands that say what the tool can do, to shells and to `man`: `completions`, `man`.

use super::Arguments;
use crate::commands;
use crate::error::{ExitCode, Result};
use crate::manual::Shell;
use crate::system::term::Terminal;
use clap::{Args, CommandFactory};
use std::path::PathBuf;

/// Arguments of `completions`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  source <(cargo perfunit completions bash)                     Bash, in ~/.bashrc
  cargo perfunit completions zsh > ~/.zfunc/_cargo-perfunit     Zsh, a folder of $fpath
  cargo perfunit completions fish > perfunit.fish               Fish, in ~/.config/fish/conf.d
  eval (cargo-perfunit completions elvish | slurp)              Elvish, in rc.elv
  cargo-perfunit completions powershell | Out-String | Invoke-Expression
                                                                PowerShell, in $PROFILE

docs/commands/completions.md says what is completed where.
")]
pub struct CompletionsArguments {
    /// For which shell.
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Arguments of `man`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  cargo perfunit man ~/.local/share/man/man1    where `man cargo-perfunit` finds them
  cargo perfunit man pages                      anywhere, for a package
")]
pub struct ManArguments {
    /// Folder to write the pages to; made where it is missing.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

impl CompletionsArguments {
    /// Prints the script.
    pub fn run(&self) -> Result<ExitCode> {
        commands::completions(Arguments::command(), self.shell)
    }
}

impl ManArguments {
    /// Writes the pages.
    pub fn run(&self) -> Result<ExitCode> {
        commands::man(Arguments::command(), &self.folder, Terminal::default())
    }
}
