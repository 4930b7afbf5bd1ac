//! The course of a test over a history: the product of its steps, with an interval that grows by what they leave open.

use crate::model::{Change, Course, History, Point, Step, StepOutcome, TestId, Verdict};
use std::collections::BTreeMap;

/// The courses of all tests that moved, those that changed most first.
pub fn courses(history: &History) -> Vec<Course> {
    let mut courses: BTreeMap<&TestId, Vec<Point>> = BTreeMap::new();
    for (_, step) in history.steps() {
        for found in step.moved() {
            courses.entry(&found.test).or_default();
        }
    }
    for (test, points) in &mut courses {
        let mut at = Point::START;
        for entry in &history.entries {
            at = match &entry.outcome {
                StepOutcome::Compared(step) => after(at, step, test),
                // What the commit did shows in the next one that is compared.
                StepOutcome::Skipped(_) | StepOutcome::Open => Point { moved: None, is_known: false, ..at },
            };
            points.push(at);
        }
    }
    let mut courses: Vec<Course> =
        courses.into_iter().map(|(test, points)| Course { test: test.clone(), points }).collect();
    let size = |course: &Course| course.total().estimate.ln_1p().abs();
    courses.sort_by(|one, two| size(two).total_cmp(&size(one)));
    courses
}

fn after(at: Point, step: &Step, test: &TestId) -> Point {
    let Some(found) = step.tests.iter().find(|found| found.test == *test) else {
        // Nothing that it can execute differs.
        return Point { moved: None, is_known: true, ..at };
    };
    let Some(figures) = found.figures else { return Point { moved: None, is_known: false, ..at } };
    let Change { estimate, low, high } = figures.change;
    // First calls and whole processes that could not be told apart have ends beyond -100 %.
    let factor = |change: f64| (1.0 + change).max(0.0);
    Point {
        ratio: at.ratio * factor(estimate),
        low: at.low * factor(low),
        high: at.high * factor(high),
        moved: Some(found.verdict).filter(|verdict| matches!(verdict, Verdict::Slower | Verdict::Faster)),
        is_known: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::samples;
    use crate::model::{Commit, Entry, Skipped};

    fn history(outcomes: Vec<StepOutcome>) -> History {
        let commit = |id: usize| Commit { id: id.to_string(), subject: String::new(), seconds: 0, tags: Vec::new() };
        let entries = outcomes.into_iter().enumerate();
        let entries = entries.map(|(id, outcome)| Entry { commit: commit(id + 1), outcome }).collect();
        History { base: commit(0), entries, note: None, interrupted: false }
    }

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
    fn only_tests_that_moved_have_a_course_the_largest_change_first() {
        let history = history(vec![
            step(&[("still", Verdict::Same, 0.0), ("up", Verdict::Slower, 0.2)]),
            step(&[("down", Verdict::Faster, -0.4)]),
        ]);
        let names: Vec<String> = courses(&history).into_iter().map(|course| course.test.name).collect();
        assert_eq!(names, ["down", "up"]);
    }
}
