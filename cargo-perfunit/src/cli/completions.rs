//! `cargo perfunit completions`: scripts with which a shell completes `cargo-perfunit X` and, where the shell lets us, `cargo perfunit X`.
//!
//! The second needs a place in cargo's own completion. zsh's calls the function of a subcommand if there is one; to those
//! of bash and fish a few lines are added; elvish and PowerShell have no such place.

use super::man::{BINARY, renamed};
use clap::Args;
use clap_complete::Shell;
use perfunit_model::error::ExitCode;
use perfunit_system::term;

/// Hands `cargo perfunit ..` to the completion of `cargo-perfunit ..`, and all else to cargo's own.
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

docs/commands/completions.md says what is completed where.
")]
pub struct CompletionsArguments {
    /// Shell to complete for.
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
    clap_complete::generate(shell, &mut renamed(command), BINARY, &mut script);
    let script = String::from_utf8_lossy(&script);
    match shell {
        // clap_complete 4.6 spells the state in two ways if the name has a hyphen, and then completes no option of a
        // subcommand: https://github.com/clap-rs/clap/issues/6421. To be removed with the version that mends it.
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
