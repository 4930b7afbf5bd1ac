//! `cargo perfunit hook run`: what git, or a hook manager, starts before a push.
//!
//! Only regressions block, and what the user asked to be denied: that we could not tell is no reason to keep anybody from
//! pushing, unless `--strict` says so.

use super::super::{DiffOutput, exit_code, report_files};
use super::install::only;
use crate::error::{Error, ExitCode, Result};
use crate::git::{Pushed, PushedPair, PushedVersions, Repository};
use crate::hook::{OnFailure, manifests};
use crate::model::Run;
use crate::report::{format, push, text};
use crate::session::{self, Options};
use crate::system::interrupt;
use crate::system::term::{self, Terminal};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What ends by itself when the budget is used up has this long to do so: reporting, for one.
const GRACE: Duration = Duration::from_secs(2);

/// A push to check.
#[derive(Debug, Clone)]
pub struct HookRun {
    /// Where git started the hook: the top of the working tree.
    pub folder: PathBuf,
    /// Name of the remote, or its address.
    pub remote: Option<String>,
    pub source: PushSource,
    /// What to compare with instead of what the remote has.
    pub base: Option<String>,
    /// Whether the user named the manifest.
    pub names_manifest: bool,
    /// What becomes of a push that could not be checked.
    pub failure: OnFailure,
}

/// How we know what is pushed.
#[derive(Debug, Clone)]
pub enum PushSource {
    /// Lines as git writes them to a hook.
    Lines(String),
    /// The branch that is checked out.
    Branch,
}

/// What `diff` would do for two commits.
pub struct DiffRequest {
    pub options: Options,
    /// What to print and what to fail on.
    pub output: DiffOutput,
}

/// Makes of two commits, the project's manifest and the time left what `diff` would make of them.
type Resolve<'a> = &'a dyn Fn(&PushedPair, Option<&Path>, Option<Duration>) -> Result<DiffRequest>;

/// Compares what is pushed with what the remote has.
pub fn hook_run(request: &HookRun, resolve: Resolve<'_>, terminal: Terminal) -> Result<ExitCode> {
    let check = Check { request, resolve, terminal, started: Instant::now() };
    let pairs = match check.pairs() {
        Ok(pairs) => pairs,
        Err(error) => return check.not_checked("this push", error),
    };
    let mut worst = ExitCode::Success;
    let mut budget = None;
    for (names, pair) in &pairs {
        let code = match check.compare(names, pair, &mut budget) {
            Ok(code) => code,
            Err(error) => check.not_checked(names, error)?,
        };
        // The first bad news stays, unless a regression follows.
        if worst == ExitCode::Success || code == ExitCode::Regression {
            worst = code;
        }
    }
    if worst != ExitCode::Success && worst != ExitCode::Interrupted {
        terminal.status("Push anyway", "`git push --no-verify`, or `PERFUNIT_SKIP=1 git push`");
    }
    Ok(worst)
}

/// A push being checked.
struct Check<'a> {
    request: &'a HookRun,
    resolve: Resolve<'a>,
    terminal: Terminal,
    started: Instant,
}

/// What the budget is and when it ends.
#[derive(Clone, Copy)]
struct Budget {
    whole: Duration,
    end: Instant,
}

impl Check<'_> {
    /// What to compare, each pair once with the names of the branches that it is for.
    fn pairs(&self) -> Result<Vec<(String, PushedPair)>> {
        let repository = Repository::discover(&self.request.folder)?;
        let (remote, refs) = match &self.request.source {
            PushSource::Lines(lines) => {
                (None, lines.lines().filter(|line| !line.is_empty()).map(Pushed::parse).collect::<Result<Vec<_>>>()?)
            }
            PushSource::Branch => {
                repository.next_push()?.map(|(remote, pushed)| (Some(remote), vec![pushed])).unwrap_or_default()
            }
        };
        let remote = self.request.remote.clone().or(remote).unwrap_or_else(|| "origin".to_owned());
        let mut pairs: Vec<(String, PushedPair)> = Vec::new();
        for pushed in refs {
            let name = pushed.name();
            match repository.pushed(&pushed, &remote, self.request.base.as_deref())? {
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

    /// Compares two commits in the time that is left for all of them.
    fn compare(&self, names: &str, pair: &PushedPair, budget: &mut Option<Budget>) -> Result<ExitCode> {
        let manifest = self.manifest()?;
        let left = budget.map(|budget| budget.end.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) || interrupt::requested() {
            return Err(self.out_of_time(*budget, "before this could be compared"));
        }
        let DiffRequest { mut options, output } = (self.resolve)(pair, manifest.as_deref(), left)?;
        report_files::check(&output.files)?;
        if budget.is_none()
            && let Some(whole) = options.measuring.budget
        {
            *budget = Some(Budget { whole, end: self.started + whole });
            // Neither builds nor explanations know of an end.
            interrupt::stop_after((whole + GRACE).saturating_sub(self.started.elapsed()));
        }
        options.measuring.budget = budget.map(|budget| budget.end.saturating_duration_since(Instant::now()));
        // A bug of ours must not keep anybody from pushing; its message is on the screen by then.
        let run = catch_unwind(AssertUnwindSafe(|| session::diff(&options, self.terminal)));
        match run.unwrap_or_else(|_| Err(Error::new(ExitCode::Internal, "this is a bug of cargo-perfunit"))) {
            Ok(run) => Ok(self.verdict(names, pair, run, &output)),
            Err(_) if interrupt::by_clock() => {
                Err(self.out_of_time(*budget, "by building; what was built is kept for the next time"))
            }
            Err(error) => Err(error),
        }
    }

    /// Prints what came out.
    fn verdict(&self, names: &str, pair: &PushedPair, mut run: Run, output: &DiffOutput) -> ExitCode {
        run.interrupted &= !interrupt::by_clock();
        let code = report_files::write_all(&run, &output.files, &output.rendering, exit_code(&run, output.gate));
        if code != ExitCode::Success || output.rendering.text.verbose {
            term::print(&text::render(&run, &output.rendering.text));
        }
        match code {
            ExitCode::Regression | ExitCode::Inconclusive | ExitCode::TestsFailOnHead => {
                term::error(&push::blocked(names, &pair.base_name, &run, code));
                self.terminal.status("See more", "`cargo perfunit explain`");
                code
            }
            ExitCode::Interrupted => code,
            _ => {
                let seconds = format::seconds(self.started.elapsed());
                self.terminal.status("Passed", &format!("{} [{seconds}]", push::passed(names, &pair.base_name, &run)));
                if code == ExitCode::Success || self.request.failure == OnFailure::Pass {
                    ExitCode::Success
                } else {
                    code
                }
            }
        }
    }

    /// The manifest of the project, if the user names none and it does not lie at the top.
    fn manifest(&self) -> Result<Option<PathBuf>> {
        if self.request.names_manifest {
            return Ok(None);
        }
        let repository = Repository::discover(&self.request.folder)?;
        let manifest = only(manifests(repository.root()), repository.root())?;
        Ok(Some(repository.root().join(manifest)))
    }

    /// A failure of ours lets the push through, unless the user wants otherwise; Ctrl-C never does.
    fn not_checked(&self, what: &str, error: Error) -> Result<ExitCode> {
        if interrupt::requested() && !interrupt::by_clock() {
            return Err(Error::new(ExitCode::Interrupted, "interrupted"));
        }
        match self.request.failure {
            OnFailure::Block => Err(error),
            OnFailure::Pass => {
                self.terminal.warning(&format!("{what} was not checked, and is let through: {error}"));
                Ok(ExitCode::Success)
            }
        }
    }

    fn out_of_time(&self, budget: Option<Budget>, how: &str) -> Error {
        let whole = budget.map_or_else(|| self.started.elapsed(), |budget| budget.whole);
        let hint = "a longer one is stored in the hook by `cargo perfunit hook install --budget TIME`";
        Error::new(ExitCode::Inconclusive, format!("the budget of {} was used up {how}", format::seconds(whole)))
            .hint(hint)
    }
}
