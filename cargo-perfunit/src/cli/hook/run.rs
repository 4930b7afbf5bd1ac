//! `cargo perfunit hook run`: what git, or a hook manager, starts before a push.
//!
//! Regressions and denied findings block a push. A push that could not be checked is let through, except with
//! `--strict`.

use super::super::arguments::{folder, place, terminal};
use super::super::diff::DiffRequest;
use super::super::exit_code;
use super::super::output::{self, RunOutput};
use super::check::{CheckArguments, only_manifest};
use crate::hook::{OnFailure, unchecked_pushes};
use clap::Args;
use perfunit_model::error::{Error, ExitCode, Result};
use perfunit_model::format;
use perfunit_model::{Conclusion, Run};
use perfunit_project::git::{LOCAL_VARIABLES, PushedPair, PushedRef, PushedVersions, Repository};
use perfunit_report::{Detail, push, text};
use perfunit_session as session;
use perfunit_system::bug;
use perfunit_system::interrupt;
use perfunit_system::process;
use perfunit_system::term::{self, ColorChoice, Terminal};
use std::cell::RefCell;
use std::io::{IsTerminal, Read};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Skips the check if set to anything but 0.
const SKIP_VARIABLE: &str = "PERFUNIT_SKIP";

/// Arguments of `hook run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// Name of the remote.
    pub remote: Option<String>,
    /// URL of the remote.
    pub url: Option<String>,
    /// Check the checked-out branch instead of reading standard input, for hook managers that do not pass it on.
    #[arg(long)]
    pub branch: bool,
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub check: CheckArguments,
    /// Only print warnings and the reasons for blocking the push.
    #[arg(long, short)]
    pub quiet: bool,
    /// When to color the output.
    #[arg(long, value_enum, value_name = "WHEN", env = "CARGO_TERM_COLOR", default_value_t)]
    pub color: ColorChoice,
}

/// Source of the pushed versions.
enum PushSource {
    /// Lines that git writes to the hook.
    Lines(String),
    /// The checked-out branch.
    Branch,
}

impl RunArguments {
    /// Compares the pushed versions with the remote's.
    pub fn run(&self) -> Result<ExitCode> {
        let terminal = terminal(self.color, self.quiet);
        if std::env::var_os(SKIP_VARIABLE).is_some_and(|value| !value.is_empty() && value != "0") {
            terminal.status("Skipped", &format!("because {SKIP_VARIABLE} is set"));
            return Ok(ExitCode::Success);
        }
        if LOCAL_VARIABLES.iter().any(|name| std::env::var_os(name).is_some()) {
            return Err(process::restart_without(&LOCAL_VARIABLES));
        }
        let remote = self.remote.clone().or_else(|| std::env::var("PRE_COMMIT_REMOTE_NAME").ok());
        let (source, folder) = (self.source()?, folder()?);
        let (started, unchecked) = (Instant::now(), RefCell::default());
        let push = Push { check: &self.check, folder, terminal, started, unchecked };
        let pairs = match push.pairs(remote, &source) {
            Ok(pairs) => pairs,
            Err(error) => return push.not_checked("this push", error),
        };
        let mut budget = None;
        let mut codes = Vec::new();
        for (position, (names, pair)) in pairs.iter().enumerate() {
            push.pass_after_bug(&pairs[position..], &codes);
            // An error in one branch does not affect the results of others.
            let later = pairs.len() - position - 1;
            let checked = push.compare(names, pair, later, &mut budget).or_else(|error| push.not_checked(names, error));
            let code = checked.unwrap_or_else(|error| exit_code::told(&error));
            codes.push(code);
            if code == ExitCode::Interrupted {
                break;
            }
        }
        let code = conclude(codes, terminal);
        push.count_unchecked();
        Ok(code)
    }

    fn source(&self) -> Result<PushSource> {
        if self.branch {
            return Ok(PushSource::Branch);
        }
        if let Some(line) = pushed_by_pre_commit() {
            return Ok(PushSource::Lines(line));
        }
        let mut stdin = std::io::stdin();
        if stdin.is_terminal() {
            return Err(Error::usage("`hook run` expects the pushed refs on standard input, as git writes them")
                .hint("run `cargo perfunit hook run --branch` to check the current branch"));
        }
        let mut lines = String::new();
        stdin
            .read_to_string(&mut lines)
            .map_err(|error| Error::usage(format!("cannot read standard input: {error}")))?;
        Ok(PushSource::Lines(lines))
    }
}

/// Builds the error for `--branch` on a detached HEAD.
fn no_branch() -> Error {
    Error::setup("no branch is checked out, so `--branch` names no pushed version")
        .hint("check out the branch to push, or run `hook run` without `--branch` on git's lines for pre-push hooks")
}

/// Returns the pushed ref in pre-commit's variables. pre-commit reads git's lines itself and passes one ref on.
fn pushed_by_pre_commit() -> Option<String> {
    let variable = |name: &str| std::env::var(format!("PRE_COMMIT_{name}")).ok().filter(|value| !value.is_empty());
    let (from, to) = (variable("FROM_REF")?, variable("TO_REF")?);
    let local = variable("LOCAL_BRANCH").unwrap_or_else(|| "HEAD".to_owned());
    let remote = variable("REMOTE_BRANCH").unwrap_or_else(|| local.clone());
    Some(format!("{local} {to} {remote} {from}"))
}

/// Returns the exit code of a push with these codes of its branches, after a hint if it blocks the push.
fn conclude(codes: Vec<ExitCode>, terminal: Terminal) -> ExitCode {
    let code = exit_code::worst(codes);
    if code != ExitCode::Success && code != ExitCode::Interrupted {
        terminal.status("Push anyway", "`git push --no-verify`, or `PERFUNIT_SKIP=1 git push`");
    }
    code
}

/// Lets the push through after a failed check, except with `--strict` or after Ctrl-C.
fn not_checked(what: &str, error: Error, failure: OnFailure, terminal: Terminal) -> Result<ExitCode> {
    if interrupt::by_user() {
        return Err(Error::new(ExitCode::Interrupted, "interrupted"));
    }
    match failure {
        OnFailure::Block => Err(error),
        OnFailure::Pass => {
            // The result is the last line.
            error.as_broken().iter().for_each(|broken| term::eprint(&broken.output));
            terminal.warning(&format!("{what} was not checked and is let through: {error}"));
            Ok(ExitCode::Success)
        }
    }
}

/// A push to check.
struct Push<'a> {
    check: &'a CheckArguments,
    /// The folder in which git started the hook: the root of the working tree.
    folder: PathBuf,
    terminal: Terminal,
    started: Instant,
    /// The base of pushes that exceeded the budget.
    unchecked: RefCell<Option<String>>,
}

/// The budget and its start.
#[derive(Clone, Copy)]
struct Budget {
    whole: Duration,
    end: Instant,
}

impl Push<'_> {
    /// Returns the pairs to compare, each once with the names of its branches.
    fn pairs(&self, remote: Option<String>, source: &PushSource) -> Result<Vec<(String, PushedPair)>> {
        let repository = Repository::discover(&self.folder)?;
        let (tracked, refs) = match source {
            PushSource::Lines(lines) => {
                (None, lines.lines().filter(|line| !line.is_empty()).map(PushedRef::parse).collect::<Result<Vec<_>>>()?)
            }
            PushSource::Branch => {
                let (remote, pushed) = repository.next_push()?.ok_or_else(no_branch)?;
                (Some(remote), vec![pushed])
            }
        };
        let remote = remote.or(tracked).unwrap_or_else(|| "origin".to_owned());
        let mut pairs: Vec<(String, PushedPair)> = Vec::new();
        for pushed in refs {
            let name = pushed.name();
            match repository.select_pushed(&pushed, &remote, self.check.base.as_deref())? {
                PushedVersions::Nothing(why) => self.nothing(&format!("{name} {why}")),
                PushedVersions::Two(pair) if pair.same_files => {
                    self.nothing(&format!("{name} has the files of {}", pair.base_name));
                }
                PushedVersions::Two(pair) => match pairs.iter_mut().find(|(_, known)| *known == pair) {
                    Some((names, _)) => *names = format!("{names}, {name}"),
                    None => pairs.push((name.to_owned(), pair)),
                },
            }
        }
        Ok(pairs)
    }

    fn nothing(&self, why: &str) {
        self.terminal.status("Passed", &format!("{why}: nothing to compare"));
    }

    /// Compares two commits in the remaining time, before this many later pairs.
    fn compare(&self, names: &str, pair: &PushedPair, later: usize, budget: &mut Option<Budget>) -> Result<ExitCode> {
        let manifest = self.manifest()?;
        let left = budget.map(|budget| budget.end.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) || interrupt::is_requested() {
            return Err(self.out_of_time(pair, *budget, "before this could be compared"));
        }
        let DiffRequest { mut options, output } = self.check.resolve(pair, manifest.as_deref(), left)?;
        if budget.is_none()
            && let Some(whole) = options.measuring.budget
        {
            *budget = Some(Budget { whole, end: self.started + whole });
            // Builds and explanations do not check the budget.
            interrupt::stop_after((whole + output::GRACE).saturating_sub(self.started.elapsed()));
        }
        options.measuring.budget = budget.map(|budget| budget.end.saturating_duration_since(Instant::now()));
        match output::diff(&options, self.terminal) {
            Ok(run) => self.conclude(names, pair, later, (&run, &output), *budget),
            Err(_) if interrupt::by_clock() => Err(self.out_of_time(pair, *budget, output::BY_BUILDING)),
            Err(error) => Err(error),
        }
    }

    /// Prints the result, in one line if nothing blocks the push.
    fn conclude(
        &self,
        names: &str,
        pair: &PushedPair,
        later: usize,
        (run, reporting): (&Run, &RunOutput),
        budget: Option<Budget>,
    ) -> Result<ExitCode> {
        let (code, denied) = (reporting.write(run), reporting.rendering.denied);
        let conclusion = reporting.conclusion(run);
        if run.is_unchecked() && conclusion == Conclusion::Undecided && !denied.inconclusive {
            return Err(self.out_of_time(pair, budget, "before a test could be measured"));
        }
        if run.outcomes.iter().any(|outcome| outcome.measured.is_some()) {
            // A failed reset of the counter must not fail a push.
            let _ = self.ours().and_then(|ours| unchecked_pushes::forget(&ours));
        }
        if code != ExitCode::Success || reporting.rendering.text.detail == Detail::Full {
            term::print(&text::render(run, &reporting.rendering.text, reporting.rendering.denied));
        }
        if let Some(why) = push::not_looked_at(run, (conclusion, denied)) {
            return self.not_checked(names, Error::new(code, why));
        }
        if exit_code::blocks_push(code) {
            term::error(&push::describe_block(names, &pair.base_name, run, (conclusion, denied)));
            self.terminal.status("See more", &format!("`{}`", push::explaining(run, conclusion, later)));
        } else if exit_code::of_push(code, self.check.failure()) == ExitCode::Success {
            let seconds = format::seconds(self.started.elapsed());
            self.terminal
                .status("Passed", &format!("{} [{seconds}]", push::describe_pass(names, &pair.base_name, run)));
        } else if code != ExitCode::Interrupted {
            term::error(&push::not_checked(names, run, code));
        }
        Ok(exit_code::of_push(code, self.check.failure()))
    }

    /// Reports the number of unchecked pushes, if this push is one.
    fn count_unchecked(&self) {
        if let Some(base) = &*self.unchecked.borrow() {
            let pushes = self.ours().and_then(|ours| unchecked_pushes::add(&ours)).unwrap_or(1);
            self.terminal.warning(&push::describe_unchecked(pushes, base));
        }
    }

    /// Returns our folder in the project.
    fn ours(&self) -> Result<PathBuf> {
        let manifest = match self.manifest()? {
            Some(manifest) => Some(manifest),
            None => self.check.manifest_path.clone(),
        };
        let (folder, manifest) = place(manifest.as_deref())?;
        let target_dir = self.check.diff_arguments()?.common.cargo.target_dir;
        session::home(&folder, manifest.as_deref(), target_dir.as_deref())
    }

    /// Returns the project's manifest if none is named and none is at the root.
    fn manifest(&self) -> Result<Option<PathBuf>> {
        if self.check.manifest_path.is_some() {
            return Ok(None);
        }
        let repository = Repository::discover(&self.folder)?;
        only_manifest(repository.root()).map(|manifest| Some(repository.root().join(manifest)))
    }

    fn not_checked(&self, what: &str, error: Error) -> Result<ExitCode> {
        not_checked(what, error, self.check.failure(), self.terminal)
    }

    /// Makes a bug in the tool not block the push: a panic during the next check ends the hook like a failed check of
    /// these pairs.
    fn pass_after_bug(&self, pairs: &[(String, PushedPair)], codes: &[ExitCode]) {
        let names: Vec<&str> = pairs.iter().map(|(names, _)| names.as_str()).collect();
        let (names, mut codes) = (names.join(", "), codes.to_vec());
        let (failure, terminal) = (self.check.failure(), self.terminal);
        bug::set_ending(move || {
            let error = Error::new(ExitCode::Internal, "this is a bug in cargo-perfunit");
            let code = not_checked(&names, error, failure, terminal).unwrap_or_else(|error| exit_code::told(&error));
            codes.push(code);
            conclude(codes, terminal)
        });
    }

    fn out_of_time(&self, pair: &PushedPair, budget: Option<Budget>, how: &str) -> Error {
        self.unchecked.replace(Some(pair.base.clone()));
        let whole = budget.map_or_else(|| self.started.elapsed(), |budget| budget.whole);
        let error = output::out_of_time(whole, how);
        match self.check.failure() {
            OnFailure::Block => error.hint("set a longer budget with `cargo perfunit hook install --budget TIME`"),
            // The last line tells what to do.
            OnFailure::Pass => error,
        }
    }
}
