//! The end of a log: courses and counts.

use super::anchors;
use super::moves::{Move, Moves};
use super::sparkline::sparkline;
use crate::screen::{INDENT, Screen};
use crate::style::{BAD, DIM, GOOD, STRONG, Text, WARN, test_id};
use crate::text::TextOptions;
use perfunit_model::format::{self, count, short_commit};
use perfunit_model::{Course, History, StepOutcome, Verdict};
use std::collections::BTreeSet;

/// Courses shown, unless everything is asked for.
const SHOWN: usize = 10;
/// Commits named of a course, unless everything is asked for.
const NAMED: usize = 6;

/// For people.
pub fn text(history: &History, courses: &[Course], options: &TextOptions) -> String {
    let mut screen = Screen::new(options.width, options.glyphs());
    screen.bar();
    let most = if options.verbose { courses.len() } else { SHOWN };
    let moves = Moves::of(history);
    for course in courses.iter().take(most) {
        write(&moves, course, options, &mut screen);
    }
    screen.more(INDENT, courses.len().saturating_sub(most));
    if !courses.is_empty() {
        screen.bar();
    }
    let counts = Counts::of(history);
    if counts.open > 0 {
        let text = format!("{} not compared yet; the same command goes on", count(counts.open, "commit"));
        screen.status("Open", WARN, &Text::plain(text));
    }
    for note in notes(history, &counts) {
        screen.status("Note", WARN, &Text::plain(note));
    }
    let style = if counts.open > 0 { WARN } else { GOOD };
    let text = Text::plain(counts.text()).with(DIM, format!("; {}", error_rate(history)));
    screen.status("Summary", style, &text);
    screen.finish()
}

/// How many commits came to what.
pub struct Counts {
    pub commits: usize,
    /// With slower tests, and with faster ones.
    pub slower: usize,
    pub faster: usize,
    /// In which no test can have changed.
    pub unchanged: usize,
    pub skipped: usize,
    pub open: usize,
    /// Of the range, but not looked at.
    pub left_out: usize,
}

impl Counts {
    pub fn of(history: &History) -> Self {
        let steps: Vec<_> = history.steps().map(|(_, step)| step).collect();
        let with = |verdict: Verdict| steps.iter().filter(|step| step.with(verdict).next().is_some()).count();
        let open = history.entries.iter().filter(|entry| entry.outcome == StepOutcome::Open).count();
        Self {
            commits: history.entries.len(),
            slower: with(Verdict::Slower),
            faster: with(Verdict::Faster),
            unchanged: steps.iter().filter(|step| step.tests.is_empty()).count(),
            skipped: history.entries.len() - steps.len() - open,
            open,
            left_out: history.left_out,
        }
    }

    /// Without those that are open.
    pub fn text(&self) -> String {
        let Self { slower, faster, unchanged, skipped, .. } = self;
        let commits = count(self.commits, "commit");
        let left_out = match self.left_out {
            0 => String::new(),
            others => format!(", {others} others of the range not looked at"),
        };
        format!(
            "{commits}: {slower} with slower tests, {faster} with faster ones, {unchanged} in which no test can have changed, {skipped} skipped{left_out}"
        )
    }
}

/// What limits the whole.
pub fn notes(history: &History, counts: &Counts) -> Vec<String> {
    let is_unfinished = history.interrupted && counts.open == 0;
    let unfinished = "not all tests are compared over the whole range yet; the same command goes on";
    let machines = machines(history);
    let several = format!("measured on {} models of processor: {}", machines.len(), machines.join(", "));
    let several = (machines.len() > 1).then_some(several);
    is_unfinished.then(|| unfinished.to_owned()).into_iter().chain(several).collect()
}

/// How sure all verdicts together are.
pub fn error_rate(history: &History) -> String {
    let rate = format::magnitude(history.family_wise_error());
    format!("the probability that any test is falsely called slower or faster is at most {rate}")
}

fn write(moves: &Moves<'_>, course: &Course, options: &TextOptions, screen: &mut Screen) {
    let total = course.total();
    let style = if total.estimate > 0.0 { BAD } else { GOOD };
    let change = format::percent(total.estimate);
    let text = test_id(&course.test).and("  ").with(style, change).with(DIM, format!("  {}", format::interval(total)));
    screen.status("Course", STRONG, &text);
    let drawn = sparkline(&course.points, screen.glyphs());
    screen.below(INDENT, &Text::plain(drawn).with(DIM, format!("  {}", named(moves, course, options))));
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

/// The commits that moved a test, as many of the largest as there is room for.
fn named(moves: &Moves<'_>, course: &Course, options: &TextOptions) -> String {
    let (largest, left_out) = moves.largest(&course.test, if options.verbose { usize::MAX } else { NAMED });
    let name = |one: &Move<'_>| format!("{} {}", short_commit(&one.commit.id), format::percent(one.estimate()));
    let mut texts: Vec<String> = largest.iter().map(name).collect();
    if left_out > 0 {
        texts.push(format!("and {left_out} smaller"));
    }
    texts.join(", ")
}
