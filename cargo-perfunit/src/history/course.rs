//! The course of a test over a history: the product of its steps, with an interval that grows by what they leave open.

use crate::model::{Change, Course, History, Point, StepOutcome, StepTest, TestId, Verdict};
use std::collections::HashMap;

/// The courses of all tests that moved, those that changed most first.
pub fn courses(history: &History) -> Vec<Course> {
    // By test, which of its steps are known; all others are of equal code.
    let mut measured: HashMap<&TestId, Vec<(usize, &StepTest)>> = HashMap::new();
    for (_, step) in history.steps() {
        for found in step.moved() {
            measured.entry(&found.test).or_default();
        }
    }
    for (index, entry) in history.entries.iter().enumerate() {
        let StepOutcome::Compared(step) = &entry.outcome else { continue };
        for found in &step.tests {
            if let Some(steps) = measured.get_mut(&found.test) {
                steps.push((index, found));
            }
        }
    }
    let mut courses: Vec<Course> = measured.into_iter().map(|(test, steps)| course(history, test, &steps)).collect();
    let size = |course: &Course| course.total().estimate.ln_1p().abs();
    courses.sort_by(|one, two| size(two).total_cmp(&size(one)).then_with(|| one.test.cmp(&two.test)));
    courses
}

fn course(history: &History, test: &TestId, steps: &[(usize, &StepTest)]) -> Course {
    let mut steps = steps.iter().peekable();
    let mut points = Vec::with_capacity(history.entries.len());
    let mut at = Point::START;
    for (index, entry) in history.entries.iter().enumerate() {
        let found = steps.next_if(|(of, _)| *of == index);
        at = match (&entry.outcome, found) {
            // What the commit did shows in the next one that is compared.
            (StepOutcome::Skipped(_) | StepOutcome::Open, _) => Point { moved: None, is_known: false, ..at },
            // Nothing that it can execute differs.
            (StepOutcome::Compared(_), None) => Point { moved: None, is_known: true, ..at },
            (StepOutcome::Compared(_), Some((_, found))) => after(at, found),
        };
        points.push(at);
    }
    Course { test: test.clone(), points }
}

fn after(at: Point, found: &StepTest) -> Point {
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
