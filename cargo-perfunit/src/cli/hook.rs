//! `cargo perfunit hook`.

use super::arguments::{Arguments, Command};
use super::comparing::{folder, real};
use crate::commands::{self, DiffRequest, HookInstall, HookRun, PushSource};
use crate::config::{self, Deny, Value as _};
use crate::error::{Error, ExitCode, Result};
use crate::git::{LOCAL_VARIABLES, PushedPair};
use crate::hook::{OnFailure, Stored};
use crate::system::process;
use crate::system::term::{self, ColorChoice, Terminal};
use clap::{Args, Parser, Subcommand};
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The profile of the configuration, unless another one is named.
const PROFILE: &str = "hook";
/// Set to anything but 0, it skips the check.
const SKIP_VARIABLE: &str = "PERFUNIT_SKIP";

/// Arguments of `hook`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  cargo perfunit hook install                what is pushed is compared with what the remote has
  cargo perfunit hook install --budget 30s   and a push waits at most this long
  cargo perfunit hook status                 whether it is there, and what runs beside it
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
    /// Say whether the hook is installed, where, with which options, and what a push would compare now.
    Status,
    /// Compare what is pushed with what the remote has; git starts this before a push.
    ///
    /// Reads lines `<local ref> <local object> <remote ref> <remote object>` from standard input. Fails, which blocks
    /// the push, if a test got slower (100), or with `--deny inconclusive` could not be told (105), or with `--deny failing` fails on head alone (104).
    Run(RunArguments),
}

/// Arguments of `hook install`.
#[derive(Debug, Args)]
pub struct InstallArguments {
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub check: CheckArguments,
    /// Install it even into a folder of hooks that other repositories share, or beside a hook manager.
    #[arg(long)]
    pub force: bool,
}

/// Arguments of `hook run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// Name of the remote.
    pub remote: Option<String>,
    /// Its address.
    pub url: Option<String>,
    /// Take the branch that is checked out as pushed, instead of what standard input says: for hook managers that do not
    /// pass it on.
    #[arg(long)]
    pub branch: bool,
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub check: CheckArguments,
    /// Print only warnings and what blocks the push.
    #[arg(long, short)]
    pub quiet: bool,
    /// Coloring.
    #[arg(long, value_enum, value_name = "WHEN", env = "CARGO_TERM_COLOR", default_value_t)]
    pub color: ColorChoice,
}

/// How a push is checked.
#[derive(Debug, Args)]
pub struct CheckArguments {
    /// Longest check of everything that is pushed, builds included [default: the profile's; 60s].
    #[arg(long, value_name = "TIME", value_parser = config::duration)]
    pub budget: Option<Duration>,
    /// Profile of the configuration [default: hook].
    #[arg(long, short = 'P', value_name = "NAME", env = "PERFUNIT_PROFILE")]
    pub profile: Option<String>,
    /// Compare with the merge base with this revision instead of what the remote has.
    #[arg(long, value_name = "REV")]
    pub base: Option<String>,
    /// Also block pushes with such tests.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub deny: Vec<Deny>,
    /// Also block pushes that could not be checked: those that do not build, or not within the budget.
    #[arg(long)]
    pub strict: bool,
    /// Path to Cargo.toml [default: that of the only project in the repository].
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
    /// Further options and filters of `diff`.
    #[arg(last = true, value_name = "DIFF OPTIONS")]
    pub diff: Vec<String>,
}

impl HookArguments {
    /// Does what was asked for.
    pub fn run(&self) -> Result<ExitCode> {
        match &self.command {
            HookCommand::Install(arguments) => arguments.run(),
            HookCommand::Uninstall => commands::hook_uninstall(&folder()?, Terminal::default()),
            HookCommand::Status => commands::hook_status(&folder()?),
            HookCommand::Run(arguments) => arguments.run(),
        }
    }
}

impl InstallArguments {
    fn run(&self) -> Result<ExitCode> {
        // What `diff` would not understand is told now, and not at the next push.
        self.check.resolve("HEAD", "HEAD", None, None)?;
        let manifest = self.check.manifest_path.as_deref().map(real).transpose()?;
        let request = HookInstall { folder: folder()?, manifest, stored: self.check.stored(), force: self.force };
        commands::hook_install(&request, Terminal::default())
    }
}

impl RunArguments {
    fn run(&self) -> Result<ExitCode> {
        term::set_color(self.color);
        let terminal = Terminal { quiet: self.quiet };
        if std::env::var_os(SKIP_VARIABLE).is_some_and(|value| !value.is_empty() && value != "0") {
            terminal.status("Skipped", &format!("because {SKIP_VARIABLE} is set"));
            return Ok(ExitCode::Success);
        }
        if LOCAL_VARIABLES.iter().any(|name| std::env::var_os(name).is_some()) {
            return Err(process::restart_without(&LOCAL_VARIABLES));
        }
        let request = HookRun {
            folder: folder()?,
            remote: self.remote.clone().or_else(|| std::env::var("PRE_COMMIT_REMOTE_NAME").ok()),
            source: self.source()?,
            base: self.check.base.clone(),
            names_manifest: self.check.manifest_path.is_some(),
            failure: self.check.failure(),
        };
        let resolve = |pair: &PushedPair, manifest: Option<&Path>, left| {
            self.check.resolve(&pair.base, &pair.head, manifest, left)
        };
        commands::hook_run(&request, &resolve, terminal)
    }

    fn source(&self) -> Result<PushSource> {
        if self.branch {
            return Ok(PushSource::Branch);
        }
        if let Some(line) = told_by_pre_commit() {
            return Ok(PushSource::Lines(line));
        }
        let mut stdin = std::io::stdin();
        if stdin.is_terminal() {
            return Err(Error::usage("`hook run` reads from standard input what is pushed, as git writes it")
                .hint("`cargo perfunit hook run --branch` takes the branch that is checked out as pushed"));
        }
        let mut lines = String::new();
        stdin
            .read_to_string(&mut lines)
            .map_err(|error| Error::usage(format!("cannot read standard input: {error}")))?;
        Ok(PushSource::Lines(lines))
    }
}

/// pre-commit reads what git says itself, and tells its hooks of one ref in the environment.
fn told_by_pre_commit() -> Option<String> {
    let variable = |name: &str| std::env::var(format!("PRE_COMMIT_{name}")).ok().filter(|value| !value.is_empty());
    let (from, to) = (variable("FROM_REF")?, variable("TO_REF")?);
    let local = variable("LOCAL_BRANCH").unwrap_or_else(|| "HEAD".to_owned());
    let remote = variable("REMOTE_BRANCH").unwrap_or_else(|| local.clone());
    Some(format!("{local} {to} {remote} {from}"))
}

impl CheckArguments {
    fn failure(&self) -> OnFailure {
        if self.strict { OnFailure::Block } else { OnFailure::Pass }
    }

    /// As options of the hook that is installed; the manifest is found out apart.
    fn stored(&self) -> Stored {
        let mut options = Vec::new();
        let mut add = |name: &str, value: String| options.extend([name.to_owned(), value]);
        if let Some(budget) = self.budget {
            add("--budget", shown(budget));
        }
        if let Some(profile) = &self.profile {
            add("--profile", profile.clone());
        }
        if let Some(base) = &self.base {
            add("--base", base.clone());
        }
        for deny in &self.deny {
            add("--deny", deny.shown());
        }
        if self.strict {
            options.push("--strict".to_owned());
        }
        Stored { options, diff: self.diff.clone(), failure: self.failure() }
    }

    /// What `diff` does for two commits, within the time that is left if that is known already.
    fn resolve(&self, base: &str, head: &str, manifest: Option<&Path>, left: Option<Duration>) -> Result<DiffRequest> {
        let mut line = vec!["cargo perfunit".to_owned(), "diff".to_owned(), format!("{base}..{head}")];
        line.extend(["--profile".to_owned(), self.profile.clone().unwrap_or_else(|| PROFILE.to_owned())]);
        if let Some(budget) = left.or(self.budget) {
            line.extend(["--budget".to_owned(), shown(budget)]);
        }
        for deny in &self.deny {
            line.extend(["--deny".to_owned(), deny.shown()]);
        }
        if let Some(manifest) = self.manifest_path.as_deref().or(manifest) {
            line.extend(["--manifest-path".to_owned(), manifest.to_string_lossy().into_owned()]);
        }
        line.extend(self.diff.iter().cloned());
        let typed = Arguments::try_parse_from(line).map_err(|error| {
            let text = error.to_string();
            let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
            Error::usage(format!("these are no options of `diff`: {text}"))
        })?;
        let Command::Diff(diff) = typed.command else { return Err(Error::usage("`diff` was not understood")) };
        diff.resolve()
    }
}

/// As it is typed.
fn shown(time: Duration) -> String {
    let millis = time.as_millis().max(1);
    if millis.is_multiple_of(1000) { format!("{}s", millis / 1000) } else { format!("{millis}ms") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str) -> CheckArguments {
        let words = ["cargo perfunit", "hook", "install"].into_iter().chain(line.split_whitespace());
        let Command::Hook(HookArguments { command: HookCommand::Install(install) }) =
            Arguments::try_parse_from(words).unwrap().command
        else {
            panic!("not install")
        };
        install.check
    }

    #[test]
    fn what_is_stored_is_understood_again() {
        let stored = check("--budget 1.5s -P mine --base main --deny inconclusive --strict -- --threshold 5%").stored();
        let expected = "cargo perfunit hook run --budget 1500ms --profile mine --base main --deny inconclusive --strict -- --threshold 5%";
        assert_eq!(stored.command(""), expected);
        assert_eq!(stored.failure, OnFailure::Block);
        let again = ["cargo perfunit", "hook", "run"].map(str::to_owned).into_iter().chain(stored.options);
        assert!(Arguments::try_parse_from(again.chain(["origin".to_owned(), "url".to_owned()])).is_ok());
    }

    #[test]
    fn options_of_diff_are_checked_and_taken() {
        let resolved = check("-- --threshold 5% parser::").resolve("a", "b", None, None).unwrap();
        assert_eq!(resolved.options.measuring.budget, Some(Duration::from_mins(1)));
        assert_eq!(resolved.options.measuring.threshold, "5%".parse().unwrap());
        assert_eq!(resolved.options.filter.names, ["parser::"]);
        let error = check("-- --treshold 5%").resolve("a", "b", None, None).err().unwrap().to_string();
        assert!(error.contains("no options of `diff`") && error.contains("--threshold"), "{error}");
    }

    #[test]
    fn the_time_left_replaces_the_budget() {
        let left = Some(Duration::from_millis(1234));
        assert_eq!(check("--budget 30s").resolve("a", "b", None, left).unwrap().options.measuring.budget, left);
    }
}
