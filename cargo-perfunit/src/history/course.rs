//! The course of a test over a history: the product of its steps, with a growing interval, until a direct comparison
//! over several commits replaces it.

use super::commit_comparer::{CommitComparer, CommitComparison};
use super::progress::Progress;
use perfunit_model::error::Result;
use perfunit_model::{
    Anchor, Change, Commit, Course, Entry, History, Point, Skipped, Span, Step, StepOutcome, StepTest, TestId, Verdict,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Returns the courses of all tests that changed in a step or over several, the largest change first.
pub fn courses(history: &History) -> Vec<Course> {
    let steps = history.steps().map(|(_, step)| step);
    let moved = steps.chain(history.spans.iter().map(|span| &span.step)).flat_map(Step::changed_tests);
    let tests: BTreeSet<&TestId> = moved.map(|found| &found.test).collect();
    let known = Known::of(history, &tests);
    let mut courses: Vec<Course> = tests.into_iter().map(|test| known.course(test)).collect();
    let size = |course: &Course| course.total().estimate.ln_1p().abs();
    courses.sort_by(|one, two| size(two).total_cmp(&size(one)).then_with(|| one.test.cmp(&two.test)));
    courses
}

/// Steps and spans of a history, indexed by test.
struct Known<'a> {
    history: &'a History,
    /// The result of a test in each entry; `None` if its code is equal or the entry was not compared.
    steps: HashMap<&'a TestId, Vec<Option<&'a StepTest>>>,
    /// Spans by the entry at which they end, each with the number of entries before its base.
    spans: HashMap<usize, Vec<(&'a Span, usize)>>,
}

impl<'a> Known<'a> {
    fn of(history: &'a History, tests: &BTreeSet<&'a TestId>) -> Self {
        let none = vec![None; history.entries.len()];
        let mut steps: HashMap<&TestId, Vec<_>> = tests.iter().map(|test| (*test, none.clone())).collect();
        for (index, entry) in history.entries.iter().enumerate() {
            for found in entry.step().into_iter().flat_map(|step| &step.tests) {
                if let Some(of_test) = steps.get_mut(&found.test) {
                    of_test[index] = Some(found);
                }
            }
        }
        let mut spans: HashMap<usize, Vec<(&Span, usize)>> = HashMap::new();
        for span in &history.spans {
            let ends = (history.place(&span.base.id), history.place(&span.head.id));
            if let (Some(start), Some(end)) = ends
                && start < end
            {
                spans.entry(end - 1).or_default().push((span, start));
            }
        }
        Self { history, steps, spans }
    }

    fn course(&self, test: &TestId) -> Course {
        let entries = &self.history.entries;
        let found = &self.steps[test];
        let mut points = vec![Point::START];
        let mut anchors = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            let mut at = after(points[index], entry, found[index], test);
            let ending = self.spans.get(&index).into_iter().flatten();
            for (span, start, direct, verdict) in ending.filter_map(|(span, start)| direct(span, *start, test)) {
                let steps = || entries[start..=index].iter().zip(found[start..=index].iter().copied());
                let of_both_ends = span.step.of(test);
                let mut compared = steps().filter_map(|(_, found)| found).chain(of_both_ends);
                anchors.push(Anchor {
                    since: span.base.clone(),
                    entry: index,
                    verdict,
                    direct,
                    product: product(steps(), test),
                    is_complete: self.history.left_out == 0
                        && steps().all(|(entry, found)| is_known(entry, found, test)),
                    has_other_test_code: compared.any(|found| found.test_code.is_some()),
                    has_moved: found[start..=index].iter().flatten().any(|found| changed_verdict(found).is_some()),
                });
                at = Point { moved: at.moved, is_known: true, is_anchored: true, ..times(points[start], direct) };
            }
            points.push(at);
        }
        points.remove(0);
        Course { test: test.clone(), points, anchors }
    }
}

/// Returns the result of a span for a test, if the span covers the test.
fn direct<'a>(span: &'a Span, start: usize, test: &TestId) -> Option<(&'a Span, usize, Change, Verdict)> {
    if !span.tests.contains(test) {
        return None;
    }
    match span.step.of(test) {
        Some(found) => found.figures.map(|figures| (span, start, figures.change, found.verdict)),
        None if !span.step.says_of(test) => None,
        // The test's code is equal at both ends.
        None => Some((span, start, Change { estimate: 0.0, low: 0.0, high: 0.0 }, Verdict::Same)),
    }
}

/// Returns the product of steps.
fn product<'a>(steps: impl Iterator<Item = (&'a Entry, Option<&'a StepTest>)>, test: &TestId) -> Change {
    let Point { ratio, low, high, .. } = steps.fold(Point::START, |at, (entry, found)| after(at, entry, found, test));
    Change { estimate: ratio - 1.0, low: low - 1.0, high: high - 1.0 }
}

/// Returns true if the steps determine what happened to a test at a commit. A commit that does not build is part of the
/// next step.
fn is_known(entry: &Entry, found: Option<&StepTest>, test: &TestId) -> bool {
    match &entry.outcome {
        StepOutcome::Compared(step) => found.map_or_else(|| step.says_of(test), |found| found.figures.is_some()),
        StepOutcome::Skipped(why) => matches!(why, Skipped::DoesNotBuild { .. }),
        StepOutcome::Open => false,
    }
}

fn changed_verdict(found: &StepTest) -> Option<Verdict> {
    Some(found.verdict).filter(|verdict| verdict.is_change())
}

fn after(at: Point, entry: &Entry, found: Option<&StepTest>, test: &TestId) -> Point {
    let still = Point { moved: None, is_anchored: false, ..at };
    match (&entry.outcome, found) {
        // The effect of the commit shows in the next compared commit.
        (StepOutcome::Skipped(_) | StepOutcome::Open, _) => Point { is_known: false, ..still },
        // No code that the test can execute differs.
        (StepOutcome::Compared(step), None) => Point { is_known: step.says_of(test), ..still },
        (StepOutcome::Compared(_), Some(found)) => match found.figures {
            None => Point { is_known: false, ..still },
            Some(figures) => Point { moved: changed_verdict(found), is_known: true, ..times(still, figures.change) },
        },
    }
}

fn times(at: Point, Change { estimate, low, high }: Change) -> Point {
    // Intervals of first calls and whole processes can extend beyond -100 %.
    let factor = |change: f64| (1.0 + change).max(0.0);
    Point { ratio: at.ratio * factor(estimate), low: at.low * factor(low), high: at.high * factor(high), ..at }
}

/// Makes the direct comparisons that a history needs. Calls `announce` before each one, and if one is not possible.
pub fn anchor(
    history: &mut History,
    comparer: &CommitComparer,
    threshold: f64,
    announce: &mut dyn FnMut(Progress<'_>),
) -> Result<()> {
    for Wanted { base, head, tests } in list_wanted(history, threshold) {
        announce(Progress::Anchoring { base: &base, head: &head, tests: tests.len() });
        match comparer.compare_tests(&base.id, &head.id, &tests)? {
            CommitComparison::Step(step) => history.spans.push(Span { base, head, tests, step }),
            // The course remains the product of its steps.
            CommitComparison::Broken(_, why) => announce(Progress::NotAnchored { base: &base, head: &head, why }),
            CommitComparison::Failed(error) => {
                let why = Skipped::Failed { error: error.message().to_owned() };
                announce(Progress::NotAnchored { base: &base, head: &head, why });
            }
            CommitComparison::Interrupted => {
                history.interrupted = true;
                break;
            }
        }
    }
    Ok(())
}

/// A direct comparison to make.
#[derive(Debug, PartialEq)]
struct Wanted {
    base: Commit,
    head: Commit,
    tests: BTreeSet<TestId>,
}

/// The steps of a test since the beginning of a part.
#[derive(Default)]
struct Seen {
    /// Number of steps in which the test can have changed.
    steps: usize,
    /// Number of steps since the last direct comparison, and their uncertainty: the sum of half their intervals, as
    /// logarithms.
    fresh: usize,
    width: f64,
    has_figures: bool,
}

fn list_wanted(history: &History, threshold: f64) -> Vec<Wanted> {
    let entries = &history.entries;
    let is_release = |entry: &Entry| !entry.commit.tags.is_empty();
    let mut ends: Vec<usize> = (1..entries.len()).filter(|end| is_release(&entries[end - 1])).collect();
    ends.push(entries.len());
    let mut wanted = Vec::new();
    let mut start = 0;
    for end in &ends {
        wanted.extend(of_part(history, start..*end, Some(threshold)));
        start = *end;
    }
    if ends.len() > 1 {
        wanted.extend(of_part(history, 0..entries.len(), None));
    }
    wanted
}

/// Returns the comparisons for a part of the entries; without a threshold only one at its end.
fn of_part(history: &History, part: std::ops::Range<usize>, threshold: Option<f64>) -> Vec<Wanted> {
    let entries = &history.entries[part.clone()];
    // Entries that are still open will move these places.
    if entries.iter().any(|entry| entry.outcome == StepOutcome::Open) {
        return Vec::new();
    }
    let Some(last) = entries.iter().rposition(|entry| entry.step().is_some()) else { return Vec::new() };
    let Some(base) = beginning(history, part.start, entries) else { return Vec::new() };
    // A single step is already a direct comparison, unless commits were excluded.
    let needed = if history.left_out == 0 { 2 } else { 1 };
    let mut seen: BTreeMap<&TestId, Seen> = BTreeMap::new();
    let mut wanted = Vec::new();
    for (index, entry) in entries[..=last].iter().enumerate() {
        let Some(step) = entry.step() else { continue };
        note(step, &mut seen);
        let is_wide = |seen: &Seen| threshold.is_some_and(|threshold| seen.width > threshold.ln_1p()) && seen.fresh > 1;
        let is_due = |seen: &Seen| {
            seen.has_figures && seen.steps >= needed && seen.fresh > 0 && (index == last || is_wide(seen))
        };
        let due = seen.iter_mut().filter(|(_, seen)| is_due(seen));
        let tests: BTreeSet<TestId> = due
            .map(|(test, seen)| {
                (seen.fresh, seen.width) = (0, 0.0);
                (*test).clone()
            })
            .collect();
        if !tests.is_empty() {
            wanted.push(Wanted { base: base.clone(), head: entry.commit.clone(), tests });
        }
    }
    wanted
}

fn note<'a>(step: &'a Step, seen: &mut BTreeMap<&'a TestId, Seen>) {
    for found in &step.tests {
        let seen = seen.entry(&found.test).or_default();
        seen.steps += 1;
        seen.fresh += 1;
        if let Some(figures) = found.figures {
            let Change { low, high, .. } = figures.change;
            let log = |change: f64| change.max(-0.999_999).ln_1p();
            seen.width += (log(high) - log(low)) / 2.0;
            seen.has_figures = true;
        }
    }
}

/// Returns the commit before a part: the previous one, or the commit that the first step is compared with.
fn beginning(history: &History, start: usize, entries: &[Entry]) -> Option<Commit> {
    let at = |place: usize| place.checked_sub(1).map_or(&history.base, |index| &history.entries[index].commit);
    let first = entries.iter().find_map(Entry::step)?;
    let place = if history.left_out == 0 { history.place(&first.base)? } else { start };
    Some(at(place).clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::samples;
    use crate::history::samples::{commit, history};
    use perfunit_model::Side;
    use perfunit_model::Verdict;

    fn step(tests: &[(&str, Verdict, f64)]) -> StepOutcome {
        StepOutcome::Compared(samples::step("0", tests))
    }

    #[test]
    fn a_course_is_the_product_of_its_steps_and_equal_code_is_exactly_1() {
        let history = history(vec![
            step(&[("t", Verdict::Slower, 0.10)]),
            step(&[]),
            StepOutcome::Skipped(Skipped::NothingBefore),
            step(&[("t", Verdict::Faster, -0.5)]),
        ]);
        let courses = courses(&history);
        assert_eq!(courses.len(), 1);
        let points = &courses[0].points;
        let ratios: Vec<f64> = points.iter().map(|point| (point.ratio * 1000.0).round()).collect();
        assert_eq!(ratios, [1100.0, 1100.0, 1100.0, 550.0]);
        assert_eq!(points.iter().map(|point| point.is_known).collect::<Vec<_>>(), [true, true, false, true]);
        assert_eq!(points[1].low.to_bits(), points[0].low.to_bits());
        assert!(points[3].low < 0.55 && points[3].high > 0.55);
        assert!((courses[0].total().estimate + 0.45).abs() < 1e-9);
    }

    #[test]
    fn a_target_that_was_not_listed_does_not_say_that_code_is_equal() {
        let mut unlisted = samples::step("0", &[]);
        unlisted.unlisted.insert(samples::test("t", Verdict::Same, 0.0).test.target);
        let mut history = history(vec![step(&[("t", Verdict::Slower, 0.1)]), StepOutcome::Compared(unlisted.clone())]);
        let known = |history: &History| courses(history)[0].points.iter().map(|at| at.is_known).collect::<Vec<_>>();
        assert_eq!(known(&history), [true, false]);
        let direct = Span { step: unlisted, ..span(0, 2, &[], "t") };
        history.spans = vec![direct];
        assert!(courses(&history)[0].anchors.is_empty());
    }

    #[test]
    fn only_tests_that_moved_have_a_course_the_largest_change_first() {
        let history = history(vec![
            step(&[("still", Verdict::Same, 0.0), ("up", Verdict::Slower, 0.2)]),
            step(&[("down", Verdict::Faster, -0.4)]),
        ]);
        let names: Vec<String> = courses(&history).into_iter().map(|course| course.test.name).collect();
        assert_eq!(names, ["down", "up"]);
    }

    fn span(base: usize, head: usize, tests: &[(&str, Verdict, f64)], asked: &str) -> Span {
        let step = samples::step(&base.to_string(), tests);
        let tests = BTreeSet::from([samples::test(asked, Verdict::Same, 0.0).test]);
        Span { base: commit(base), head: commit(head), tests, step }
    }

    fn per_mille(points: &[Point]) -> Vec<(f64, bool)> {
        points.iter().map(|point| ((point.ratio * 1000.0).round(), point.is_anchored)).collect()
    }

    #[test]
    fn small_steps_that_add_up_are_found_by_the_direct_comparison() {
        let small = || step(&[("t", Verdict::Inconclusive, 0.015)]);
        let mut history = history(vec![small(), step(&[]), small(), small()]);
        assert_eq!(courses(&history), []);
        history.spans = vec![span(0, 4, &[("t", Verdict::Slower, 0.04)], "t")];
        let course = courses(&history).remove(0);
        assert_eq!(per_mille(&course.points), [(1015.0, false), (1015.0, false), (1030.0, false), (1040.0, true)]);
        let anchor = &course.anchors[0];
        assert!(anchor.is_gradual() && !anchor.is_contradiction(), "{anchor:?}");
        assert_eq!((anchor.entry, &*anchor.since.id), (3, "0"));
        // The interval is that of the one direct comparison.
        assert!((course.total().low - 0.03).abs() < 1e-9 && (course.total().high - 0.05).abs() < 1e-9);
        assert!(anchor.product.high > 0.07, "{anchor:?}");
    }

    #[test]
    fn a_direct_comparison_that_contradicts_the_steps_counts_and_is_marked() {
        let mut history = history(vec![
            step(&[("t", Verdict::Slower, 0.10)]),
            step(&[("t", Verdict::Slower, 0.10)]),
            step(&[("t", Verdict::Slower, 0.10)]),
        ]);
        // The first span shows equal code at both ends; the second does not cover the test.
        history.spans = vec![span(0, 2, &[], "t"), span(1, 3, &[], "u")];
        let course = courses(&history).remove(0);
        assert_eq!(per_mille(&course.points), [(1100.0, false), (1000.0, true), (1100.0, false)]);
        assert_eq!(course.anchors.len(), 1);
        assert!(course.anchors[0].is_contradiction() && !course.anchors[0].is_gradual());
        // The steps do not cover everything, so there is no contradiction.
        history.left_out = 1;
        assert!(!courses(&history)[0].anchors[0].is_contradiction());
    }

    #[test]
    fn with_other_test_code_the_steps_do_other_work_than_the_direct_comparison() {
        let faster = || step(&[("t", Verdict::Faster, -0.1)]);
        let direct = || span(0, 2, &[("t", Verdict::Faster, -0.05)], "t");
        let anchor = |entries: Vec<StepOutcome>, direct: Span| {
            let mut history = history(entries);
            history.spans = vec![direct];
            courses(&history).remove(0).anchors.remove(0)
        };
        assert!(anchor(vec![faster(), faster()], direct()).is_contradiction());

        let mut between = samples::step("0", &[("t", Verdict::Faster, -0.1)]);
        between.tests[0].test_code = Some(Side::Head);
        let of_a_step = anchor(vec![StepOutcome::Compared(between), faster()], direct());
        let mut over_both = direct();
        over_both.step.tests[0].test_code = Some(Side::Base);
        for anchor in [of_a_step, anchor(vec![faster(), faster()], over_both)] {
            assert!(anchor.differs() && !anchor.is_contradiction(), "{anchor:?}");
        }
    }

    #[test]
    fn an_anchor_begins_where_its_first_commit_stands() {
        let mut history = history(vec![
            step(&[("t", Verdict::Slower, 0.5)]),
            step(&[("t", Verdict::Same, 0.0)]),
            step(&[("t", Verdict::Same, 0.0)]),
        ]);
        history.spans = vec![span(1, 3, &[("t", Verdict::Faster, -0.2)], "t")];
        assert_eq!(per_mille(&courses(&history)[0].points), [(1500.0, false), (1500.0, false), (1200.0, true)]);
    }

    /// Builds a history with changes of a test by commit, each with an interval of two per cent; `None` for a commit
    /// without a step.
    fn with_gaps(steps: &[Option<&[(&str, f64)]>]) -> History {
        let mut base = 0;
        let outcomes = steps.iter().zip(1..).map(|(tests, id)| {
            let Some(tests) = tests else {
                return StepOutcome::Skipped(Skipped::DoesNotBuild { error: String::new() });
            };
            let tests: Vec<_> = tests.iter().map(|(name, change)| (*name, Verdict::Same, *change)).collect();
            StepOutcome::Compared(samples::step(&std::mem::replace(&mut base, id).to_string(), &tests))
        });
        samples::history(outcomes.collect())
    }

    #[track_caller]
    fn check(history: &History, threshold: f64, expected: &[(&str, &str, &str)]) {
        let wanted = list_wanted(history, threshold);
        let names = |wanted: &Wanted| wanted.tests.iter().map(|test| test.name.clone()).collect::<Vec<_>>().join(" ");
        let found: Vec<_> = wanted.iter().map(|one| (one.base.id.clone(), one.head.id.clone(), names(one))).collect();
        let found: Vec<_> = found.iter().map(|(base, head, names)| (&**base, &**head, &**names)).collect();
        assert_eq!(found, expected);
    }

    const BOTH: Option<&[(&str, f64)]> = Some(&[("t", 0.01), ("u", 0.0)]);
    const ONE: Option<&[(&str, f64)]> = Some(&[("t", 0.01)]);
    const EQUAL: Option<&[(&str, f64)]> = Some(&[]);

    #[test]
    fn tests_that_changed_in_several_commits_are_compared_over_all_of_them() {
        check(&with_gaps(&[BOTH, EQUAL, ONE]), 0.5, &[("0", "3", "t")]);
        check(&with_gaps(&[BOTH, EQUAL, EQUAL]), 0.5, &[]);
        check(&with_gaps(&[EQUAL, EQUAL]), 0.5, &[]);
    }

    #[test]
    fn where_the_steps_leave_more_open_than_the_threshold_tests_are_compared_in_between() {
        // Each step adds 1 % of uncertainty, and the third exceeds 2.5 %.
        let six = with_gaps(&[BOTH, ONE, ONE, ONE, ONE, ONE]);
        check(&six, 0.025, &[("0", "3", "t"), ("0", "6", "t")]);
        check(&with_gaps(&[BOTH, BOTH, BOTH, ONE]), 0.025, &[("0", "3", "t u"), ("0", "4", "t")]);
        // Equal code adds no uncertainty, so there is nothing to compare at the end.
        check(&with_gaps(&[BOTH, BOTH, BOTH, EQUAL]), 0.025, &[("0", "3", "t u")]);
    }

    #[test]
    fn a_release_begins_anew_and_the_whole_range_is_compared_at_its_end() {
        let mut history = with_gaps(&[ONE, ONE, BOTH, BOTH, EQUAL]);
        history.entries[1].commit.tags.push("v1".to_owned());
        check(&history, 0.5, &[("0", "2", "t"), ("2", "5", "t u"), ("0", "5", "t u")]);
    }

    #[test]
    fn what_does_not_build_is_no_end_and_what_is_open_is_waited_for() {
        check(&with_gaps(&[None, ONE, None, ONE, None]), 0.5, &[("0", "4", "t")]);
        let mut open = with_gaps(&[ONE, ONE, ONE]);
        open.entries[1].outcome = StepOutcome::Open;
        check(&open, 0.001, &[]);
    }

    #[test]
    fn beside_commits_that_were_left_out_a_single_step_is_not_the_whole() {
        let mut history = with_gaps(&[EQUAL, ONE]);
        history.left_out = 3;
        check(&history, 0.5, &[("0", "2", "t")]);
    }

    #[test]
    fn there_are_at_most_as_many_comparisons_as_commits() {
        for tagged in 0..5 {
            let mut history = with_gaps(&[BOTH; 5]);
            history.entries[tagged].commit.tags.push("v1".to_owned());
            assert!(list_wanted(&history, 1e-6).len() <= 5, "{tagged}");
            history.left_out = 1;
            assert!(list_wanted(&history, 1e-6).len() <= 6, "{tagged}");
        }
    }
}
