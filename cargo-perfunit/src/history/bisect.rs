//! Which commit made a test slower.

use super::comparing::{Compared, Comparing};
use super::search::{self, Answer, Compare, Found, LogChange};
use crate::error::{Error, Result};
use crate::git::{Repository, Walk};
use crate::model::{Bisection, Change, Commit, Culprit, Side, Skipped, Step, StepTest, TestId, Verdict};
use crate::session::Options;
use crate::system::term::Terminal;
use std::path::PathBuf;

/// What to look for.
pub struct BisectRequest {
    /// How to compare; the budget is that of the whole search.
    pub options: Options,
    /// The whole name of a test, or a part that only one slower test has.
    pub test: String,
    /// The commit in which it was quick; none: the last tag.
    pub good: Option<String>,
    /// The commit in which it is slow; none: `HEAD`.
    pub bad: Option<String>,
    /// The file that keeps what was found out, unless it is the one in our folder.
    pub store: Option<PathBuf>,
}

/// Searches along first parents. Both ends are compared first, with all tests that have the name in theirs.
pub fn bisect(request: &BisectRequest, terminal: Terminal) -> Result<Bisection> {
    let commits = Repository::discover(&request.options.folder)?.walk(&walk(request)?)?;
    if let Some(note) = &commits.note {
        terminal.status("Range", note);
    }
    let line: Vec<Commit> = std::iter::once(commits.base).chain(commits.commits).collect();
    let last = line.len() - 1;
    let mut options = request.options.clone();
    options.filter.names = vec![request.test.clone()];
    let mut comparing = Comparing::open(&options, request.store.clone(), 1, terminal)?;
    let ends = ends(&mut comparing, &line)?;
    let test = slower(&ends, request)?;
    comparing.only(&test.name)?;
    let mut asking = Asking { comparing, test: test.clone(), line: &line, skipped: Vec::new(), terminal };
    let found = search::search(last, &mut asking)?;
    let culprit = culprit(&found, &mut asking)?;
    let skipped = asking.skipped.into_iter().map(|(index, why)| (line[index].clone(), why)).collect();
    let (good, bad) = (line[0].clone(), line[last].clone());
    let whole = ends.tests.iter().find(|found| found.test == test).and_then(|found| found.figures);
    let change = whole.map(|figures| figures.change).ok_or_else(|| Error::setup("the ends have no figures"))?;
    Ok(Bisection { test, good, bad, change, commits: last, culprit, skipped })
}

fn walk(request: &BisectRequest) -> Result<Walk> {
    let range = match (&request.good, &request.bad) {
        (Some(good), bad) => Some(format!("{good}..{}", bad.as_deref().unwrap_or("HEAD"))),
        (None, None) => None,
        (None, Some(_)) => {
            return Err(Error::usage("--bad needs --good").hint("name the commit in which the test was quick"));
        }
    };
    Ok(Walk { range, ..Walk::default() })
}

/// The good end against the bad one.
fn ends(comparing: &mut Comparing, line: &[Commit]) -> Result<Step> {
    let (good, bad) = (&line[0], &line[line.len() - 1]);
    match comparing.compare(&good.id, &bad.id)? {
        Compared::Step(step) => Ok(step),
        Compared::Broken(side, why) => {
            let (name, commit) = if side == Side::Base { ("good", good) } else { ("bad", bad) };
            let why = match why {
                Skipped::DoesNotBuild { error } | Skipped::Failed { error } => error,
                Skipped::NothingBefore => String::new(),
            };
            Err(Error::setup(format!("the {name} end {} does not build: {why}", short(commit)))
                .hint(format!("choose another commit with --{name}")))
        }
        Compared::Failed(error) => Err(error),
        Compared::Interrupted => Err(Error::setup("the ends could not be compared within the budget")),
    }
}

/// The test that is meant; it has to be slower at the bad end.
fn slower(ends: &Step, request: &BisectRequest) -> Result<TestId> {
    let exact: Vec<&StepTest> = ends.tests.iter().filter(|found| found.test.name == request.test).collect();
    let named = if exact.is_empty() { ends.tests.iter().collect() } else { exact };
    let slower: Vec<&StepTest> =
        named.iter().copied().filter(|found| found.verdict == Verdict::Slower && found.figures.is_some()).collect();
    match slower[..] {
        [found] => Ok(found.test.clone()),
        [] => Err(not_slower(&named, request)),
        _ => {
            let meant: Vec<&str> = slower.iter().map(|found| found.test.name.as_str()).collect();
            Err(Error::usage(format!("{} tests with `{}` in their names got slower", meant.len(), request.test))
                .hint(format!("name one of {}", meant.join(", "))))
        }
    }
}

fn not_slower(named: &[&StepTest], request: &BisectRequest) -> Error {
    let name = &request.test;
    let Some(found) = named.iter().find(|found| found.figures.is_some()).or(named.first()) else {
        return Error::usage(format!("no test with `{name}` in its name can have changed between the ends"))
            .hint("`cargo perfunit list GOOD..BAD --all` shows all tests of both, and what left each of them out");
    };
    let (test, good) = (&found.test.name, request.good.as_deref().unwrap_or("the good end"));
    match (found.verdict, found.figures) {
        (Verdict::Faster, Some(_)) => Error::usage(format!("`{test}` is faster at the bad end than at {good}")).hint(
            "exchange --good and --bad only if the history goes that way; `cargo perfunit log` shows both directions",
        ),
        (_, Some(figures)) => {
            let Change { estimate, low, high } = figures.change;
            let [estimate, low, high] = [estimate, low, high].map(|change| 100.0 * change);
            Error::usage(format!(
                "`{test}` is not slower at the bad end than at {good}: {estimate:+.1} % [{low:+.1} %, {high:+.1} %]"
            ))
            .hint("a smaller --threshold or a larger --per-test-budget sees smaller changes")
        }
        (_, None) => {
            let why = found.reason.as_deref().unwrap_or("unknown");
            Error::usage(format!("`{test}` cannot be compared at the ends ({why})"))
                .hint("`cargo perfunit diff GOOD..BAD` says more; choose other ends with --good and --bad")
        }
    }
}

fn culprit(found: &Found, asking: &mut Asking<'_>) -> Result<Culprit> {
    let between = |before: usize, after: usize| asking.line[before + 1..=after].to_vec();
    match *found {
        Found::Step { before, after, several, .. } => {
            let commits = between(before, after);
            // The search has just asked this.
            let step = asking.step(before, after, 1)?;
            let test = step.and_then(|step| step.tests.into_iter().find(|found| found.test == asking.test));
            let test = test.ok_or_else(|| Error::setup("the step that was found has no figures"))?;
            Ok(Culprit::Commits { commits, test, several })
        }
        Found::Stopped { before, after } => Ok(Culprit::Open(between(before, after))),
        Found::Lost { before, after, .. } => Ok(Culprit::Lost(between(before, after))),
        Found::NoChange(change) => Err(Error::setup(format!(
            "a second comparison of the ends does not confirm the first: {:+.1} %",
            100.0 * change.estimate.exp_m1()
        ))),
        Found::EndCannot(end) => Err(Error::setup(format!("{} cannot be compared", short(&asking.line[end])))),
    }
}

fn short(commit: &Commit) -> &str {
    commit.id.get(..7).unwrap_or(&commit.id)
}

/// Asks for one test, and remembers what cannot be compared.
struct Asking<'a> {
    comparing: Comparing,
    test: TestId,
    line: &'a [Commit],
    skipped: Vec<(usize, Skipped)>,
    terminal: Terminal,
}

impl Asking<'_> {
    /// `None` if nothing more is to be started, or one of them cannot be compared.
    fn step(&mut self, base: usize, head: usize, effort: u32) -> Result<Option<Step>> {
        match self.comparing.with_effort(effort).compare(&self.line[base].id, &self.line[head].id)? {
            Compared::Step(step) => Ok(Some(step)),
            _ => Ok(None),
        }
    }

    fn cannot(&mut self, index: usize, why: Skipped) -> Answer {
        self.terminal.status("Skipping", &format!("{} {}", short(&self.line[index]), self.line[index].subject));
        self.skipped.push((index, why));
        Answer::Cannot(index)
    }
}

impl Compare for Asking<'_> {
    fn compare(&mut self, base: usize, head: usize, effort: u32) -> Result<Answer> {
        let compared = self.comparing.with_effort(effort).compare(&self.line[base].id, &self.line[head].id)?;
        Ok(match compared {
            Compared::Step(step) => match step.tests.iter().find(|found| found.test == self.test) {
                // The base has the test: it is in the step unless its code is equal.
                None => Answer::Change(LogChange::NONE),
                Some(StepTest { figures: Some(figures), .. }) => {
                    let log = |change: f64| change.max(-0.999_999).ln_1p();
                    let Change { estimate, low, high } = figures.change;
                    Answer::Change(LogChange { estimate: log(estimate), low: log(low), high: log(high) })
                }
                Some(StepTest { figures: None, reason, .. }) => {
                    let error = reason.clone().unwrap_or_default();
                    self.cannot(head, Skipped::Failed { error })
                }
            },
            Compared::Broken(side, why) => self.cannot(if side == Side::Base { base } else { head }, why),
            Compared::Failed(error) => self.cannot(head, Skipped::Failed { error: error.message().to_owned() }),
            Compared::Interrupted => Answer::Stop,
        })
    }
}
