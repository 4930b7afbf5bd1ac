//! Searches the commits that changed a test.

use super::commit_comparer::CommitComparer;
use super::search::{self, Found, Left, Searched};
use super::test_comparer::{self, TestComparer};
use super::{ends, function, step_details};
use perfunit_model::error::{Error, Result};
use perfunit_model::{Bisection, Commit, Direction, Explain, Further, TestId, Unresolved, Unsearched, format};
use perfunit_project::git::{Repository, Walk};
use perfunit_select::Filter;
use perfunit_session::Options;
use perfunit_system::term::Terminal;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The request of a search.
pub struct BisectRequest {
    /// Options of the comparisons; the budget covers the whole search.
    pub options: Options,
    pub subject: Subject,
    pub direction: Direction,
    pub steps: Steps,
    /// The commit before the change; defaults to the last tag.
    pub good: Option<String>,
    /// The commit after the change; defaults to `HEAD`.
    pub bad: Option<String>,
    /// The file that stores results; defaults to the one in our folder.
    pub store: Option<PathBuf>,
}

/// The subject of a search.
pub enum Subject {
    /// The name of a test, or a part that matches only one changed test.
    Test(String),
    /// A function's name or the end of its path, which stands for the changed tests that execute it.
    Function(String),
}

/// Number of steps to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steps {
    Largest,
    /// All steps beyond the threshold.
    All,
}

/// Searches along first parents. Both ends are compared first, with all matching tests.
pub fn bisect(request: &BisectRequest, terminal: Terminal) -> Result<Bisection> {
    let repository = Repository::discover(&request.options.folder)?;
    let commits = repository.walk(&walk(request)?)?;
    if let Some(note) = &commits.note {
        terminal.status("Range", note);
    }
    let line: Vec<Commit> = std::iter::once(commits.base).chain(commits.commits).collect();
    let last = line.len() - 1;
    let mut options = request.options.clone();
    // Only the result is explained, not the comparisons on the way.
    options.explaining.explain = Explain::Never;
    let explain = match request.options.explaining.explain {
        Explain::Auto => Explain::Always,
        typed => typed,
    };
    if let Subject::Test(name) = &request.subject {
        options.filter.names = filters(name, &options.filter);
    }
    let comparer = CommitComparer::open(&options, request.store.clone(), 1, terminal)?;
    let direction = request.direction;
    let ends = ends::compare(&comparer, &line, direction)?;
    let mut tests = match &request.subject {
        Subject::Test(name) => vec![ends.the_test(name)?],
        Subject::Function(path) => function::tests(path, &ends, &comparer, explain)?,
    };
    let others = tests.split_off(1);
    let (test, change) = tests.swap_remove(0);
    let comparer = comparer.of_tests(vec![test.name.clone()])?;
    let (line, repository) = (&line[..], &repository);
    let mut comparer = TestComparer {
        commits: comparer,
        test: test.clone(),
        direction,
        line,
        repository,
        explain,
        skipped: Vec::new(),
        terminal,
        traces: BTreeMap::new(),
    };
    let threshold = request.options.measuring.threshold.fraction().ln_1p();
    let searched = require_search(
        match request.steps {
            Steps::Largest => search::largest(last, &mut comparer)?,
            Steps::All => search::all(last, threshold, &mut comparer)?,
        },
        line,
    )?;
    let mut bisection = Bisection {
        test,
        function: match &request.subject {
            Subject::Test(_) => None,
            Subject::Function(path) => Some(path.clone()),
        },
        others,
        direction,
        good: line[0].clone(),
        bad: line[last].clone(),
        change,
        commits: last,
        steps: Vec::new(),
        unresolved: Vec::new(),
        further: further(&searched, direction),
        rest: searched.rest.map(|rest| test_comparer::change(rest, direction)),
        skipped: Vec::new(),
    };
    describe(&searched, &mut bisection, &mut comparer)?;
    bisection.skipped = comparer.skipped.into_iter().map(|(index, why)| (line[index].clone(), why)).collect();
    Ok(bisection)
}

/// Returns the filters that select at least the named test. Reports name it with its target, which has no space; names of
/// doc tests and benchmarks may have spaces, too.
fn filters(typed: &str, filter: &Filter) -> Vec<String> {
    match typed.split_once(' ') {
        None => vec![typed.to_owned()],
        Some((_, without_target)) if filter.exact => vec![typed.to_owned(), without_target.to_owned()],
        Some((_, without_target)) => vec![without_target.to_owned()],
    }
}

fn walk(request: &BisectRequest) -> Result<Walk> {
    let range = match (&request.good, &request.bad) {
        (Some(good), bad) => Some(format!("{good}..{}", bad.as_deref().unwrap_or("HEAD"))),
        (None, None) => None,
        (None, Some(_)) => {
            return Err(Error::usage("--bad needs --good").hint("name the commit before the change"));
        }
    };
    Ok(Walk { range, ..Walk::default() })
}

fn require_search(found: Found, line: &[Commit]) -> Result<Searched> {
    match found {
        Found::Searched(searched) => Ok(searched),
        Found::NoChange(change) => Err(Error::setup(format!(
            "a second comparison of the ends does not confirm the first: {}",
            format::percent(change.estimate.exp_m1())
        ))
        .hint("a larger --per-test-budget measures longer")),
        Found::EndCannot(end) => Err(Error::setup(format!("{} cannot be compared", line[end].short()))),
    }
}

fn further(searched: &Searched, direction: Direction) -> Further {
    let steps = |is: fn(f64) -> bool| searched.steps.iter().filter(|step| is(step.change.estimate)).count();
    let (up, down) = match searched.rest {
        // With all steps searched, those other than the largest are the further changes.
        Some(_) => (steps(|change| change > 0.0) > 1, steps(|change| change < 0.0) > 0),
        None => (searched.up, searched.down),
    };
    match direction {
        Direction::Slower => Further { slower: up, faster: down },
        Direction::Faster => Further { slower: down, faster: up },
    }
}

/// Explains each step, and lists the rest.
fn describe(searched: &Searched, bisection: &mut Bisection, comparer: &mut TestComparer<'_>) -> Result<()> {
    let tests: Vec<TestId> =
        std::iter::once(&bisection.test).chain(bisection.others.iter().map(|(test, _)| test)).cloned().collect();
    let line = comparer.line;
    let between = |before: usize, after: usize| line[before + 1..=after].to_vec();
    for step in &searched.steps {
        match step_details::describe(*step, &tests, comparer)? {
            Some(found) => bisection.steps.push(found),
            None => bisection
                .unresolved
                .push(Unresolved { commits: between(step.before, step.after), because: Unsearched::Lost }),
        }
    }
    for (stretch, left) in &searched.left {
        let because = match left {
            Left::Stopped => Unsearched::Open,
            Left::Lost => Unsearched::Lost,
        };
        bisection.unresolved.push(Unresolved { commits: between(stretch.before, stretch.after), because });
    }
    Ok(())
}
