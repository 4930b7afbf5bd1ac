//! Options for checking a push: typed for `hook install`, stored in the hook, and passed to `hook run` by the hook.

use super::super::diff::{DiffArguments, DiffRequest};
use crate::hook::{OnFailure, Stored, manifests};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, FromArgMatches as _};
use perfunit_model::error::{Error, Result};
use perfunit_project::config::{self, Deny, Limit, Time, Value as _};
use perfunit_project::git::PushedPair;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The default profile of the configuration.
const PROFILE: &str = "hook";

/// How to check a push.
#[derive(Debug, Args)]
pub struct CheckArguments {
    /// Time budget for checking a push, including builds [default: the profile's; 60s].
    #[arg(long, value_name = "TIME", value_parser = config::duration)]
    pub budget: Option<Duration>,
    /// Profile of the configuration [default: the environment's, or hook].
    #[arg(long, short = 'P', value_name = "NAME")]
    pub profile: Option<String>,
    /// Compare with the merge base with this revision instead of the remote's version.
    #[arg(long, value_name = "REV")]
    pub base: Option<String>,
    /// Also block pushes with these findings.
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',')]
    pub deny: Vec<Deny>,
    /// Also block pushes that could not be checked, because they do not build or exceed the budget before a test is
    /// measured.
    #[arg(long)]
    pub strict: bool,
    /// Path to Cargo.toml [default: that of the only project in the repository].
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
    /// Further options and filters of `diff`.
    #[arg(last = true, value_name = "DIFF OPTIONS")]
    pub diff: Vec<String>,
}

impl CheckArguments {
    pub fn failure(&self) -> OnFailure {
        if self.strict { OnFailure::Block } else { OnFailure::Pass }
    }

    /// Returns the options to store in the hook, for the project with this manifest.
    pub fn options_to_store(&self, manifest: &Path) -> Stored {
        let mut options = Vec::new();
        let mut add = |name: &str, value: String| options.extend([name.to_owned(), value]);
        if let Some(budget) = self.budget {
            add("--budget", Time(budget).shown());
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
        if manifest != Path::new("Cargo.toml") {
            options.extend(["--manifest-path".to_owned(), manifest.to_string_lossy().into_owned()]);
        }
        Stored { options, diff: self.diff.clone(), failure: self.failure() }
    }

    /// Resolves the options of `diff` for two commits, within the remaining time if it is known.
    pub fn resolve(&self, pair: &PushedPair, manifest: Option<&Path>, left: Option<Duration>) -> Result<DiffRequest> {
        let mut diff = self.diff_arguments()?;
        diff.common.base = Some(format!("{}..{}", pair.base, pair.head));
        if let Some(left) = left {
            diff.measuring.budget = Some(Limit(Some(left)));
        }
        let named = &mut diff.common.cargo.manifest_path;
        if named.is_none() {
            *named = manifest.map(Path::to_owned);
        }
        diff.resolve()
    }

    /// Parses the options of `diff`, with ours added.
    pub fn diff_arguments(&self) -> Result<DiffArguments> {
        let command = DiffArguments::augment_args(clap::Command::new("diff").bin_name("cargo perfunit diff"));
        // The first word is the base, which is replaced later.
        let words = ["diff", "HEAD"].into_iter().chain(self.diff.iter().map(String::as_str));
        let typed = command.try_get_matches_from(words);
        let typed = typed.and_then(|typed| Ok((DiffArguments::from_arg_matches(&typed)?, is_typed(&typed, "profile"))));
        let (mut diff, has_profile) = typed.map_err(|error| {
            let text = error.to_string();
            let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
            Error::usage(format!("invalid options of `diff` after `--`: {text}"))
        })?;
        let profile = &mut diff.common.configuration.profile;
        let (of_diff, of_environment) = if has_profile { (profile.take(), None) } else { (None, profile.take()) };
        *profile = either("--profile", self.profile.clone(), of_diff)?.or(of_environment);
        profile.get_or_insert_with(|| PROFILE.to_owned());
        let budget = self.budget.map(|time| Limit(Some(time)));
        diff.measuring.budget = either("--budget", budget, diff.measuring.budget)?;
        let manifest = &mut diff.common.cargo.manifest_path;
        *manifest = either("--manifest-path", self.manifest_path.clone(), manifest.take())?;
        diff.reporting.deny.extend(&self.deny);
        Ok(diff)
    }
}

/// Returns true if an option was typed, not set by the environment.
fn is_typed(matches: &ArgMatches, name: &str) -> bool {
    matches.value_source(name) == Some(ValueSource::CommandLine)
}

/// Merges an option that can be given before or after `--`.
fn either<T: PartialEq>(name: &str, ours: Option<T>, of_diff: Option<T>) -> Result<Option<T>> {
    match (ours, of_diff) {
        (Some(ours), Some(of_diff)) if ours != of_diff => {
            Err(Error::usage(format!("{name} is given both before and after `--`")).hint("keep the first one"))
        }
        (ours, of_diff) => Ok(ours.or(of_diff)),
    }
}

/// Returns the manifest of the only project in a repository, relative to its root.
pub fn only_manifest(root: &Path) -> Result<PathBuf> {
    let mut manifests = manifests(root);
    match (manifests.pop(), &manifests[..]) {
        (Some(manifest), []) => Ok(manifest),
        (None, _) => Err(Error::setup(format!("no Cargo project in {}", root.display()))
            .hint("name its Cargo.toml with `cargo perfunit hook install --manifest-path`")),
        (Some(last), others) => {
            let names: Vec<String> = others.iter().chain([&last]).map(|path| format!("`{}`", path.display())).collect();
            Err(Error::setup(format!("several Cargo projects in {}: {}", root.display(), names.join(", ")))
                .hint("choose one with `cargo perfunit hook install --manifest-path`"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        check: CheckArguments,
    }

    fn check(line: &str) -> CheckArguments {
        Typed::try_parse_from(["hook"].into_iter().chain(line.split_whitespace())).unwrap().check
    }

    fn resolve_line(line: &str, left: Option<Duration>) -> Result<DiffRequest> {
        let pair = PushedPair { base: "a".into(), base_name: "a".into(), head: "b".into(), same_files: false };
        check(line).resolve(&pair, None, left)
    }

    #[test]
    fn what_is_stored_is_understood_again() {
        let line = "--budget 1.5s --profile mine --base main --deny inconclusive --strict";
        let stored = check(&format!("{line} -- --threshold 5%")).options_to_store(Path::new("Cargo.toml"));
        assert_eq!(stored.command(""), format!("cargo perfunit hook run {line} -- --threshold '5%'"));
        assert_eq!(stored.failure, OnFailure::Block);
        let below = check("").options_to_store(Path::new("rust/Cargo.toml"));
        assert_eq!(below.command(""), "cargo perfunit hook run --manifest-path rust/Cargo.toml");
    }

    #[test]
    fn options_of_diff_are_checked_and_taken() {
        let request = resolve_line("-- --threshold 5% parser::", None).unwrap();
        assert_eq!(request.options.measuring.budget, Some(Duration::from_mins(1)));
        assert_eq!(request.options.measuring.threshold, "5%".parse().unwrap());
        assert_eq!(request.options.filter.names, ["parser::"]);
        assert_eq!(
            request.options.request,
            perfunit_project::git::Request::Range { base: "a".into(), head: Some("b".into()) }
        );
        let error = resolve_line("-- --treshold 5%", None).err().unwrap().to_string();
        assert!(error.contains("invalid options of `diff`") && error.contains("--threshold"), "{error}");
    }

    #[test]
    fn an_option_is_given_before_or_after_the_dashes() {
        let budget = |line: &str| resolve_line(line, None).map(|request| request.options.measuring.budget);
        assert_eq!(budget("--budget 30s").unwrap(), Some(Duration::from_secs(30)));
        assert_eq!(budget("-- --budget 30s").unwrap(), Some(Duration::from_secs(30)));
        assert!(
            budget("--budget 30s -- --budget 20s")
                .unwrap_err()
                .to_string()
                .contains("--budget is given both before and after `--`")
        );
    }

    #[test]
    fn the_time_left_replaces_the_budget() {
        let left = Some(Duration::from_millis(1234));
        assert_eq!(resolve_line("--budget 30s", left).unwrap().options.measuring.budget, left);
    }
}
