//! The ends of a search: compares them and finds the tests that changed in between.

use super::commit_comparer::{CommitComparer, CommitComparison};
use perfunit_model::error::{Error, Result};
use perfunit_model::{
    Change, Commit, Direction, ReasonKind, Side, Skipped, Step, StepTest, TestId, format, variant_name,
};

/// The compared ends of a range.
pub struct Ends<'a> {
    pub good: &'a Commit,
    pub bad: &'a Commit,
    /// Direction of the searched changes.
    pub direction: Direction,
    pub step: Step,
}

/// Compares the ends.
pub fn compare<'a>(comparer: &CommitComparer, line: &'a [Commit], direction: Direction) -> Result<Ends<'a>> {
    let (good, bad) = (&line[0], &line[line.len() - 1]);
    match comparer.compare(&good.id, &bad.id)? {
        CommitComparison::Step(step) => Ok(Ends { good, bad, direction, step }),
        CommitComparison::Broken(side, why) => {
            let (name, commit) = if side == Side::Base { ("good", good) } else { ("bad", bad) };
            let why = match why {
                Skipped::DoesNotBuild { error } | Skipped::Failed { error } => error,
                Skipped::NothingBefore | Skipped::Unlisted | Skipped::NoTest => String::new(),
            };
            Err(Error::setup(format!("the {name} end {} does not build: {why}", commit.short()))
                .hint(format!("choose another commit with --{name}")))
        }
        CommitComparison::Failed(error) => Err(error),
        CommitComparison::Interrupted => Err(not_compared()),
    }
}

pub fn not_compared() -> Error {
    Error::setup("the ends could not be compared within the budget")
}

impl Ends<'_> {
    /// Returns the tests that changed in the searched direction, the largest change first.
    pub fn changed_tests(&self) -> Vec<(TestId, Change)> {
        let changed = self.step.with(self.direction.verdict());
        let mut changed: Vec<(TestId, Change)> =
            changed.filter_map(|found| Some((found.test.clone(), found.figures?.change))).collect();
        let size = |change: &Change| change.estimate.max(-0.999_999).ln_1p().abs();
        changed.sort_by(|(_, one), (_, two)| size(two).total_cmp(&size(one)));
        changed
    }

    /// Returns the only test that matches a name or a part of one and changed in the searched direction.
    pub fn the_test(&self, name: &str) -> Result<(TestId, Change)> {
        let mut moved = self.changed_tests();
        let is_whole = self.step.tests.iter().any(|found| found.test.is_called(name));
        moved.retain(|(test, _)| if is_whole { test.is_called(name) } else { test.name.contains(name) });
        match moved.len() {
            0 => Err(self.not_moved(name)),
            1 => Ok(moved.swap_remove(0)),
            several => {
                let meant: Vec<String> = moved.iter().map(|(test, _)| format!("`{test}`")).collect();
                Err(Error::usage(format!("{several} tests that got {} match `{name}`", self.direction))
                    .hint(format!("name one of {}", meant.join(", "))))
            }
        }
    }

    fn not_moved(&self, name: &str) -> Error {
        let direction = self.direction;
        let tests =
            || self.step.tests.iter().filter(|found| found.test.is_called(name) || found.test.name.contains(name));
        let whole = tests().find(|found| found.test.is_called(name));
        let found = whole.or_else(|| tests().find(|found| found.figures.is_some())).or_else(|| tests().next());
        let Some(StepTest { test, figures, reason, verdict, .. }) = found else {
            return Error::usage(format!("no test that can have changed between the ends matches `{name}`"))
                .hint("`cargo perfunit list GOOD..BAD` lists the tests that can have changed, `--why TEST` tells the reason for another");
        };
        let Some(figures) = figures else { return without_figures(test, *reason) };
        let figures = format::with_interval(figures.change);
        if *verdict == direction.opposite().verdict() {
            let got = direction.opposite();
            return Error::usage(format!("`{test}` is {got} at the bad end than at the good one: {figures}"))
                .hint(other_way(direction));
        }
        Error::usage(format!("`{test}` is not {direction} at the bad end than at the good one: {figures}"))
            .hint("a smaller --threshold or a larger --per-test-budget detects smaller changes")
    }
}

/// Returns a hint to search the opposite direction.
pub fn other_way(direction: Direction) -> &'static str {
    match direction {
        Direction::Slower => "use `--faster` to search the commit that made it faster",
        Direction::Faster => "remove `--faster` to search the commit that made it slower",
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
        .hint("run `cargo perfunit diff GOOD..BAD` for details, or choose other ends with --good and --bad"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::samples;
    use perfunit_model::Verdict;

    #[test]
    fn a_test_is_called_as_the_hint_calls_it_or_by_a_part_of_its_name() {
        let (good, bad) = (samples::commit(1), samples::commit(2));
        let slower = |name| (name, Verdict::Slower, 0.2);
        let mut step = samples::step("1", &[slower("works"), slower("works_well"), slower("other")]);
        let mut same = samples::test("other", Verdict::Slower, 0.3);
        same.test.target.package = "q".to_owned();
        step.tests.push(same);
        let ends = Ends { good: &good, bad: &bad, direction: Direction::Slower, step };
        let found = |name: &str| ends.the_test(name).map(|(test, _)| test.to_string());
        assert_eq!(found("works").unwrap(), "p works");
        assert_eq!(found("p works_well").unwrap(), "p works_well");
        assert_eq!(found("well").unwrap(), "p works_well");
        assert_eq!(found("q other").unwrap(), "q other");
        let error = |name: &str| found(name).unwrap_err().to_string();
        assert!(error("other").contains("name one of `q other`, `p other`"), "{}", error("other"));
        assert!(error("q works").contains("matches `q works`"), "{}", error("q works"));
    }
}
