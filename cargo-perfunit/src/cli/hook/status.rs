//! `cargo perfunit hook status`.

use crate::hook::{self, Managing, Origin, State, command_in, words_of};
use perfunit_model::error::{ExitCode, Result};
use perfunit_project::git::{HooksFolder, HooksOwner, PushedVersions, Repository};
use perfunit_system::term;
use std::fmt::Write as _;
use std::path::Path;

/// Prints where the hook is installed, what runs it, and what a push would compare now.
pub fn status(folder: &Path) -> Result<ExitCode> {
    let repository = Repository::discover(folder)?;
    let hooks = repository.hooks_folder()?;
    let state = hook::state(&hooks.path)?;
    let mut text = String::new();
    let mut line = |word: &str, rest: &str| {
        let _ = writeln!(text, "{word:>12}  {rest}");
    };
    let path = state.path.strip_prefix(repository.root()).unwrap_or(&state.path).display().to_string();
    let foreign = state.text.as_deref().filter(|_| state.origin == Origin::Foreign);
    let managing = Managing::find(repository.root(), foreign).filter(|managing| managing.runs_us);
    match (&state, &managing) {
        (State { origin: Origin::Ours, .. }, _) => line("Installed", &path),
        (State { origin: Origin::Edited, .. }, _) => {
            line("Installed", &format!("{path}, edited since it was installed"));
        }
        (_, Some(managing)) => {
            let (name, place) = (managing.manager.name(), managing.configuration.display());
            line("Installed", &format!("in {place}, which {name} reads"));
        }
        (State { text: Some(_), .. }, None) => line("Not", &format!("installed: {path} is another program's hook")),
        (State { text: None, .. }, None) => line("Not", "installed: `cargo perfunit hook install`"),
    }
    if let Some(command) = state.text.as_deref().filter(|_| state.origin != Origin::Foreign).and_then(command_in) {
        line("Runs", command);
    }
    if let Some(before) = &state.before {
        line("First", &before.strip_prefix(repository.root()).unwrap_or(before).display().to_string());
    }
    if let Some(whose) = whose(&hooks) {
        line("Hooks", &whose);
    }
    let base = state.text.as_deref().and_then(command_in).and_then(base_in);
    line("Now", &now(&repository, base.as_deref()));
    term::print(&text);
    Ok(ExitCode::Success)
}

/// Describes the hooks folder if it is unusual.
fn whose(HooksFolder { path, owner }: &HooksFolder) -> Option<String> {
    let path = path.display();
    match owner {
        HooksOwner::Repository => None,
        HooksOwner::Project => Some(format!("core.hooksPath is {path}, a folder of the project")),
        HooksOwner::Others => Some(format!("core.hooksPath is {path}, which other repositories may also use")),
    }
}

/// Returns the base that is stored in the hook.
fn base_in(command: &str) -> Option<String> {
    let ours = words_of(command).into_iter().take_while(|word| word != "--");
    ours.skip_while(|word| word != "--base").nth(1)
}

/// Describes what a push would compare now.
fn now(repository: &Repository, base: Option<&str>) -> String {
    let described = || -> Result<String> {
        let Some((remote, pushed)) = repository.next_push()? else {
            return Ok("no branch is checked out, so `git push` pushes nothing".to_owned());
        };
        let name = pushed.name();
        Ok(match repository.select_pushed(&pushed, &remote, base)? {
            PushedVersions::Nothing(why) => format!("pushing {name} to {remote} would compare nothing: it {why}"),
            PushedVersions::Two(pair) if pair.same_files => {
                format!("pushing {name} to {remote} would compare nothing: it has the files of {}", pair.base_name)
            }
            PushedVersions::Two(pair) => {
                format!("pushing {name} to {remote} would compare {} with {}", pair.head, pair.base_name)
            }
        })
    };
    described().unwrap_or_else(|error| format!("cannot determine what a push would compare: {}", error.message()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_base_is_read_as_the_shell_reads_it() {
        let base = |command| base_in(command).unwrap_or_default();
        assert_eq!(base("cargo perfunit hook run --base 'my branch' \"$@\""), "my branch");
        assert_eq!(base("cargo perfunit hook run \"$@\" -- --base x"), "");
    }
}
