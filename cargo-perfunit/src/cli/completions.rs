//! `cargo perfunit completions`: scripts for completing `cargo-perfunit X` and, if the shell supports it, `cargo
//! perfunit X`.
//!
//! The latter needs an extension point in cargo's own completion. zsh calls the function of a subcommand if there is
//! one; for bash and fish the scripts contain extra lines; elvish and PowerShell have no such point.

use super::man::{BINARY, rename};
use clap::Args;
use clap_complete::Shell;
use perfunit_model::error::ExitCode;
use perfunit_system::term;

/// Completes `cargo perfunit ..` like `cargo-perfunit ..`, and everything else by cargo's completion.
const BASH_CARGO: &str = include_str!("completions/cargo.bash");
const FISH_CARGO: &str = include_str!("completions/cargo.fish");

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

See docs/commands/completions.md for the shells' support.
")]
pub struct CompletionsArguments {
    /// Shell to generate the script for.
    #[arg(value_enum)]
    pub shell: Shell,
}

impl CompletionsArguments {
    /// Prints the script for a shell.
    pub fn run(&self, command: clap::Command) -> ExitCode {
        term::print(&completions(command, self.shell));
        ExitCode::Success
    }
}

fn completions(command: clap::Command, shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut rename(command), BINARY, &mut script);
    let script = String::from_utf8_lossy(&script);
    match shell {
        // clap_complete 4.6 spells the state in two ways if the name contains a hyphen, and then completes no options
        // of subcommands: https://github.com/clap-rs/clap/issues/6421. Remove this with the version that fixes it.
        Shell::Bash => script.replace("cargo__subcmd__perfunit", "cargo__perfunit") + BASH_CARGO,
        Shell::Fish => script.into_owned() + FISH_CARGO,
        _ => script.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command() -> clap::Command {
        clap::Command::new("cargo perfunit")
            .bin_name("cargo perfunit")
            .subcommand(clap::Command::new("weigh").arg(clap::Arg::new("scale").long("scale")))
    }

    #[test]
    fn each_shell_gets_every_subcommand_and_option() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::Elvish, Shell::PowerShell] {
            let script = completions(command(), shell);
            for part in ["cargo-perfunit", "weigh", "scale"] {
                assert!(script.contains(part), "{shell}: no {part} in:\n{script}");
            }
            assert!(!script.contains("cargo perfunit weigh"), "{shell}: two words for one program:\n{script}");
        }
    }

    #[test]
    fn in_bash_the_states_of_a_subcommand_have_one_spelling() {
        let script = completions(command(), Shell::Bash);
        assert!(script.contains("cmd=\"cargo__perfunit__subcmd__weigh\""), "{script}");
        assert!(script.contains("        cargo__perfunit__subcmd__weigh)\n"), "{script}");
        assert!(script.contains("_cargo__perfunit() {") && BASH_CARGO.contains(" _cargo__perfunit "), "{script}");
    }

    #[test]
    fn bash_and_fish_also_complete_behind_cargo() {
        assert!(completions(command(), Shell::Bash).contains("complete -F _cargo_or_perfunit"));
        assert!(completions(command(), Shell::Fish).contains("complete --command cargo --condition"));
    }
}
