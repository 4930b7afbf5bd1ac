//! Result of a search for commits.

use super::log::{self, commit, skip_reason};
use crate::causes;
use crate::terminal::{BAD, DIM, GOOD, INDENT, PLAIN, STRONG, Screen, Text, WARN, test_id};
use crate::text::TextOptions;
use perfunit_model::format::{self, count, one_line, short_commit};
use perfunit_model::{
    Bisection, Commit, Direction, FoundStep, FoundTest, ReasonKind, SourceChange, StepTest, Unresolved, Unsearched,
    variant_name,
};

/// Returns the text for the terminal.
pub fn text(bisection: &Bisection, options: &TextOptions) -> String {
    let mut screen = Screen::new(options.width, options.glyphs);
    let Bisection { test, good, bad, change, .. } = bisection;
    let ends =
        format!("  {} from {} to {}", format::with_interval(*change), short_commit(&good.id), short_commit(&bad.id));
    screen.status("Test", STRONG, &test_id(test).and(ends));
    for (other, change) in &bisection.others {
        screen.below(INDENT, &test_id(other).and(format!("  {}", format::with_interval(*change))));
    }
    for (left_out, why) in &bisection.skipped {
        screen.status("Skipped", WARN, &commit(left_out).with(DIM, format!("  {}", skip_reason(why))));
    }
    screen.bar();
    for found in &bisection.steps {
        step(found, options, &mut screen);
    }
    for left in &bisection.unresolved {
        write_unresolved(left, bisection.commits, &mut screen);
    }
    for note in notes(bisection) {
        screen.status("Note", WARN, &Text::plain(note));
    }
    screen.finish()
}

fn step(found: &FoundStep, options: &TextOptions, screen: &mut Screen) {
    let style = match direction(found) {
        Direction::Slower => BAD,
        Direction::Faster => GOOD,
    };
    if let [one] = &found.commits[..] {
        screen.status("Commit", style, &commit(one));
    } else {
        screen.status("One of", style, &Text::plain("these; those before the last cannot be compared"));
        list(&found.commits, screen);
    }
    for test in &found.tests {
        screen.below(INDENT, &line(test, options));
    }
    for line in found.tests.first().map(|test| explanation_lines(test, options)).unwrap_or_default() {
        screen.below(INDENT, &Text::plain(line));
    }
    if let Some(source) = &found.source {
        difference(source, screen);
    }
}

/// Returns the direction of the searched test.
pub(super) fn direction(found: &FoundStep) -> Direction {
    let figures = found.tests.first().and_then(|test| test.found.figures);
    if figures.is_some_and(|figures| figures.change.estimate < 0.0) { Direction::Faster } else { Direction::Slower }
}

fn line(test: &FoundTest, options: &TextOptions) -> Text {
    let found = &test.found;
    if found.figures.is_none() {
        return test_id(&found.test).with(DIM, format!("  {}", without_figures(found)));
    }
    // An explanation already names the function.
    let function = found.function.clone().filter(|_| test.explanation.is_none());
    log::line(&StepTest { function, ..found.clone() }, options)
}

/// Describes a test without figures.
pub(super) fn without_figures(found: &StepTest) -> String {
    match found.reason {
        Some(ReasonKind::SameCode | ReasonKind::SameExecutable | ReasonKind::NotExecuted) => {
            "unchanged code".to_owned()
        }
        why => format!("not measured: {}", why.map_or("unknown".to_owned(), variant_name)),
    }
}

/// Returns the responsible functions of a test and other causes, or the reason why there are none.
pub(super) fn explanation_lines(test: &FoundTest, options: &TextOptions) -> Vec<String> {
    match (&test.explanation, &test.unexplained) {
        (Some(explanation), _) => causes::lines(explanation, options.glyphs),
        (None, Some(why)) => vec![format!("not explained: {}", one_line(&why.to_string()))],
        (None, None) => Vec::new(),
    }
}

fn difference(source: &SourceChange, screen: &mut Screen) {
    screen.below(INDENT, &Text::new(DIM, one_line(&place(source))));
    for line in &source.diff {
        let style = match line.as_bytes().first() {
            Some(b'+') => GOOD.dimmed(),
            Some(b'-') => BAD.dimmed(),
            _ => PLAIN,
        };
        screen.line(&Text::default().pad(INDENT).with(style, plain_line(line)));
    }
    if source.left_out > 0 {
        screen.below(INDENT, &Text::new(DIM, format!("... and {} more lines", source.left_out)));
    }
}

pub(super) fn place(source: &SourceChange) -> String {
    format!("{}:{}", source.file, source.line)
}

/// Returns a line of source text without control characters.
pub(super) fn plain_line(line: &str) -> String {
    line.replace('\t', "    ").replace(char::is_control, " ")
}

fn write_unresolved(left: &Unresolved, of: usize, screen: &mut Screen) {
    match left.because {
        Unsearched::Open => {
            let text = format!("{} of {of} left; the same command goes on", count(left.commits.len(), "commit"));
            screen.status("Open", WARN, &Text::plain(text));
        }
        Unsearched::Lost => {
            let text = "no single commit: the change shows over all of these and not in one of them";
            screen.status("Not found", WARN, &Text::plain(text));
        }
    }
    list(&left.commits, screen);
}

/// Returns further observations of the search.
pub(super) fn notes(bisection: &Bisection) -> Vec<String> {
    let further = bisection.further;
    if let Some(rest) = bisection.rest {
        let both = "the test got slower and faster within the range".to_owned();
        let is_both = bisection.steps.iter().any(|step| direction(step) != bisection.direction);
        let rest = format!("all other commits together: {}", format::with_interval(rest));
        return is_both.then_some(both).into_iter().chain([rest]).collect();
    }
    let seen = [(further.slower, Direction::Slower, "slower"), (further.faster, Direction::Faster, "faster")];
    let seen = seen.into_iter().filter(|(is_seen, ..)| *is_seen);
    seen.map(|(_, direction, word)| {
        let too = if direction == bisection.direction { ", too" } else { "" };
        format!("other commits of the range made it {word}{too}; --all searches each")
    })
    .collect()
}

/// Commits shown of a long list.
const SHOWN: usize = 10;

fn list(commits: &[Commit], screen: &mut Screen) {
    for one in commits.iter().take(SHOWN) {
        screen.below(INDENT, &commit(one));
    }
    if commits.len() > SHOWN {
        screen.below(INDENT, &Text::new(DIM, format!("... and {} more", commits.len() - SHOWN)));
    }
}
