//! The ends of a search: whether they can be compared, and which tests changed between them.

use super::comparing::{Compared, Comparing};
use perfunit_model::error::{Error, Result};
use perfunit_model::{Change, Commit, Direction, ReasonKind, Side, Skipped, Step, StepTest, TestId, variant_name};

/// Both ends of the line, compared.
pub struct Ends<'a> {
    pub good: &'a Commit,
    pub bad: &'a Commit,
    /// Changes in this direction are searched.
    pub direction: Direction,
    pub step: Step,
}

/// Compares the ends.
pub fn compare<'a>(comparing: &Comparing, line: &'a [Commit], direction: Direction) -> Result<Ends<'a>> {
    let (good, bad) = (&line[0], &line[line.len() - 1]);
    match comparing.compare(&good.id, &bad.id)? {
        Compared::Step(step) => Ok(Ends { good, bad, direction, step }),
        Compared::Broken(side, why) => {
            let (name, commit) = if side == Side::Base { ("good", good) } else { ("bad", bad) };
            let why = match why {
                Skipped::DoesNotBuild { error } | Skipped::Failed { error } => error,
                Skipped::NothingBefore | Skipped::Unlisted => String::new(),
            };
            Err(Error::setup(format!("the {name} end {} does not build: {why}", commit.short()))
                .hint(format!("choose another commit with --{name}")))
        }
        Compared::Failed(error) => Err(error),
        Compared::Interrupted => Err(not_compared()),
    }
}

pub fn not_compared() -> Error {
    Error::setup("the ends could not be compared within the budget")
}

impl Ends<'_> {
    /// Tests that changed in the direction that is meant, the largest change first.
    pub fn moved(&self) -> Vec<(TestId, Change)> {
        let changed = self.step.with(self.direction.verdict());
        let mut changed: Vec<(TestId, Change)> =
            changed.filter_map(|found| Some((found.test.clone(), found.figures?.change))).collect();
        let size = |change: &Change| change.estimate.max(-0.999_999).ln_1p().abs();
        changed.sort_by(|(_, one), (_, two)| size(two).total_cmp(&size(one)));
        changed
    }

    /// The one test that is meant by its name or a part of it; it has to have changed.
    pub fn the_test(&self, name: &str) -> Result<(TestId, Change)> {
        let mut moved = self.moved();
        if self.step.tests.iter().any(|found| found.test.name == name) {
            moved.retain(|(test, _)| test.name == name);
        }
        match moved.len() {
            0 => Err(self.not_moved(name)),
            1 => Ok(moved.swap_remove(0)),
            several => {
                let meant: Vec<String> = moved.iter().map(|(test, _)| test.to_string()).collect();
                Err(Error::usage(format!("{several} tests with `{name}` in their names got {}", self.direction))
                    .hint(format!("name one of {}; -p or --test tells targets apart", meant.join(", "))))
            }
        }
    }

    fn not_moved(&self, name: &str) -> Error {
        let (tests, direction) = (&self.step.tests, self.direction);
        let exact = tests.iter().find(|found| found.test.name == name);
        let found = exact.or_else(|| tests.iter().find(|found| found.figures.is_some())).or(tests.first());
        let Some(StepTest { test, figures, reason, verdict, .. }) = found else {
            return Error::usage(format!("no test with `{name}` in its name can have changed between the ends"))
                .hint("`cargo perfunit list GOOD..BAD --all` shows all tests of both, and what left each of them out");
        };
        let Some(figures) = figures else { return without_figures(test, *reason) };
        let Change { estimate, low, high } = figures.change;
        let [estimate, low, high] = [estimate, low, high].map(|change| 100.0 * change);
        let figures = format!("{estimate:+.1} % [{low:+.1} %, {high:+.1} %]");
        if *verdict == direction.opposite().verdict() {
            let got = direction.opposite();
            return Error::usage(format!("`{test}` is {got} at the bad end than at the good one: {figures}"))
                .hint(other_way(direction));
        }
        Error::usage(format!("`{test}` is not {direction} at the bad end than at the good one: {figures}"))
            .hint("a smaller --threshold or a larger --per-test-budget detects smaller changes")
    }
}

/// How to search for the opposite.
pub fn other_way(direction: Direction) -> &'static str {
    match direction {
        Direction::Slower => "`--faster` searches the commit that made it faster",
        Direction::Faster => "without `--faster` the commit that made it slower is searched",
    }
}

fn without_figures(test: &TestId, reason: Option<ReasonKind>) -> Error {
    let only = |here: &str, there: &str| {
        Error::usage(format!(
            "`{test}` exists only at the {here} end: it does not build or pass with the code of the {there} one"
        ))
        .hint(format!("choose a commit that has the test with --{there}"))
    };
    match reason {
        Some(ReasonKind::New) => only("bad", "good"),
        Some(ReasonKind::Removed) => only("good", "bad"),
        why => Error::usage(format!(
            "`{test}` cannot be compared at the ends ({})",
            why.map_or("unknown".into(), variant_name)
        ))
        .hint("`cargo perfunit diff GOOD..BAD` says more; choose other ends with --good and --bad"),
    }
}
