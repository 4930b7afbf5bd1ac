//! The end of a log: courses and counts.

use super::anchors;
use crate::model::{Course, History, Point, StepOutcome, Verdict};
use crate::report::format::{self, Glyphs, count, short_commit};
use crate::report::screen::{INDENT, Screen};
use crate::report::style::{BAD, DIM, GOOD, STRONG, Text, WARN, test_id};
use crate::report::text::TextOptions;
use std::collections::BTreeSet;

/// Courses shown, unless everything is asked for.
const SHOWN: usize = 10;
/// Columns of a course.
const WIDEST: usize = 40;

/// For people.
pub fn text(history: &History, courses: &[Course], options: &TextOptions) -> String {
    let mut screen = Screen::new(options.width, options.glyphs());
    screen.bar();
    let most = if options.verbose { courses.len() } else { SHOWN };
    for course in courses.iter().take(most) {
        write(history, course, &mut screen);
    }
    screen.more(INDENT, courses.len().saturating_sub(most));
    if !courses.is_empty() {
        screen.bar();
    }
    let open = history.entries.iter().filter(|entry| entry.outcome == StepOutcome::Open).count();
    if open > 0 {
        let text = format!("{} not compared yet; the same command goes on", count(open, "commit"));
        screen.status("Open", WARN, &Text::plain(text));
    } else if history.interrupted {
        let text = "not all tests are compared over the whole range yet; the same command goes on";
        screen.status("Open", WARN, &Text::plain(text));
    }
    let machines = machines(history);
    if machines.len() > 1 {
        let text = format!("measured on {} models of processor: {}", machines.len(), machines.join(", "));
        screen.status("Note", WARN, &Text::plain(text));
    }
    let error = format!(
        "the probability that any test is falsely called slower or faster is at most {}",
        format::magnitude(history.family_wise_error())
    );
    screen.status("Summary", if open > 0 { WARN } else { GOOD }, &Text::plain(counts(history, open)).with(DIM, error));
    screen.finish()
}

fn counts(history: &History, open: usize) -> String {
    let steps: Vec<_> = history.steps().map(|(_, step)| step).collect();
    let with = |verdict: Verdict| steps.iter().filter(|step| step.with(verdict).next().is_some()).count();
    let unchanged = steps.iter().filter(|step| step.tests.is_empty()).count();
    let skipped = history.entries.len() - steps.len() - open;
    format!(
        "{}: {} with slower tests, {} with faster ones, {unchanged} in which no test can have changed, {skipped} skipped; ",
        count(history.entries.len(), "commit"),
        with(Verdict::Slower),
        with(Verdict::Faster),
    )
}

fn write(history: &History, course: &Course, screen: &mut Screen) {
    let total = course.total();
    let style = if total.estimate > 0.0 { BAD } else { GOOD };
    let [change, low, high] = [total.estimate, total.low, total.high].map(format::percent);
    let text = test_id(&course.test).and("  ").with(style, change).with(DIM, format!("  [{low}, {high}]"));
    screen.status("Course", STRONG, &text);
    let drawn = sparkline(&course.points, screen.glyphs());
    let steps = history.entries.iter().zip(&course.points).filter(|(_, point)| point.moved.is_some());
    let mut before = 1.0;
    let mut named = Vec::new();
    for (entry, point) in steps {
        let at = history.entries.iter().position(|other| other.commit == entry.commit);
        before = at.and_then(|at| at.checked_sub(1)).map_or(before, |at| course.points[at].ratio);
        named.push(format!("{} {}", short_commit(&entry.commit.id), format::percent(point.ratio / before - 1.0)));
    }
    screen.below(INDENT, &Text::plain(drawn).with(DIM, format!("  {}", named.join(", "))));
    for anchor in anchors::shown(course) {
        screen.below(INDENT, &anchors::text(anchor));
    }
}

/// Models of processor on which anything was measured.
fn machines(history: &History) -> Vec<&str> {
    let steps = history.steps().map(|(_, step)| step).chain(history.spans.iter().map(|span| &span.step));
    let measured = steps.filter(|step| step.tests.iter().any(|test| test.figures.is_some()));
    measured.map(|step| step.machine.as_str()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The course in characters, at most as many as [`WIDEST`]; `?` where nothing is known.
fn sparkline(points: &[Point], glyphs: Glyphs) -> String {
    const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    const ASCII: [char; 8] = ['_', '.', ':', '-', '=', '+', '*', '#'];
    let levels = if glyphs == Glyphs::Unicode { LEVELS } else { ASCII };
    let log = |point: &Point| point.ratio.max(f64::MIN_POSITIVE).ln();
    let low = points.iter().map(log).fold(0.0, f64::min);
    let high = points.iter().map(log).fold(0.0, f64::max);
    let level = |point: &Point| {
        let part = if high > low { (log(point) - low) / (high - low) } else { 0.0 };
        levels[(part * (LEVELS.len() - 1) as f64).round() as usize]
    };
    let each = points.len().div_ceil(WIDEST).max(1);
    points
        .chunks(each)
        .filter_map(<[Point]>::last)
        .map(|point| if point.is_known { level(point) } else { '?' })
        .collect()
}
