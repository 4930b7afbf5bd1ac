//! A commit of a history, as soon as it is known.

use super::commit::{commit, skipped};
use crate::figures::{self, Words};
use crate::screen::{INDENT, Screen};
use crate::style::{DIM, PLAIN, Text, WARN, test_id};
use crate::text::TextOptions;
use perfunit_model::format::{self, count};
use perfunit_model::{Entry, Step, StepOutcome, StepTest, Verdict};

/// Tests shown of a commit, unless everything is asked for.
const SHOWN: usize = 5;

/// For people.
pub fn text(entry: &Entry, options: &TextOptions) -> String {
    let mut screen = Screen::new(options.width, options.glyphs());
    let name = commit(&entry.commit);
    match &entry.outcome {
        StepOutcome::Compared(step) => compared(step, &name, options, &mut screen),
        StepOutcome::Skipped(why) => {
            screen.status("Skipped", WARN, &name);
            screen.below(INDENT, &Text::new(DIM, skipped(why)));
        }
        StepOutcome::Open => screen.status("Open", WARN, &name.with(DIM, "  not compared yet")),
    }
    screen.finish()
}

fn compared(step: &Step, name: &Text, options: &TextOptions, screen: &mut Screen) {
    heading(step, name, screen);
    screen.below(INDENT, &Text::new(DIM, counts(step)));
    let moved = moved(step);
    let most = if options.verbose { moved.len() } else { SHOWN };
    for found in moved.iter().take(most) {
        screen.below(INDENT, &line(found, options));
    }
    screen.more(INDENT, moved.len().saturating_sub(most));
}

/// The worst verdict of its tests, if it has any.
pub fn worst(step: &Step) -> Option<Verdict> {
    use Verdict::{ChangedBelowThreshold, Faster, Inconclusive, NotMeasured, Same, Slower};
    let worst = [Slower, Faster, Inconclusive, ChangedBelowThreshold, Same, NotMeasured];
    worst.into_iter().find(|verdict| step.with(*verdict).next().is_some())
}

/// Slower and faster tests, the largest change first.
pub fn moved(step: &Step) -> Vec<&StepTest> {
    let mut moved: Vec<&StepTest> = step.moved().collect();
    let size = |found: &StepTest| found.figures.map_or(0.0, |figures| figures.change.estimate.ln_1p().abs());
    moved.sort_by(|one, two| size(two).total_cmp(&size(one)));
    moved
}

/// The worst verdict.
pub(super) fn heading(step: &Step, name: &Text, screen: &mut Screen) {
    match worst(step) {
        Some(verdict) => {
            let (word, style) = figures::status(verdict, Words::OfTime);
            screen.status(word, style, name);
        }
        None => screen.status("Unchanged", PLAIN, name),
    }
}

/// How many tests, and what became of them.
pub fn counts(step: &Step) -> String {
    let unlisted: Vec<String> =
        step.unlisted.iter().map(|target| format!("; tests of {target} are not known")).collect();
    format!("{}{}", counts_of_tests(step), unlisted.concat())
}

fn counts_of_tests(step: &Step) -> String {
    if step.tests.is_empty() {
        let because = step.nothing_because.map(|because| format!(": {because}"));
        return format!("no test can have changed{}", because.unwrap_or_default());
    }
    let verdicts = [
        (Verdict::Slower, "slower"),
        (Verdict::Faster, "faster"),
        (Verdict::ChangedBelowThreshold, "changed below the threshold"),
        (Verdict::Same, "same"),
        (Verdict::Inconclusive, "inconclusive"),
        (Verdict::NotMeasured, "not measured"),
    ];
    let counted = verdicts.into_iter().map(|(verdict, word)| (step.with(verdict).count(), word));
    let counted: Vec<String> = counted.filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    let of = if step.found > 0 { format!(" of {}", step.found) } else { String::new() };
    format!("{}{of}: {}", count(step.tests.len(), "test"), counted.join(", "))
}

/// A test that got slower or faster.
pub(super) fn line(found: &StepTest, options: &TextOptions) -> Text {
    let (word, style) = figures::status(found.verdict, Words::OfTime);
    let mut text = test_id(&found.test).and("  ");
    if let Some(figures) = found.figures {
        let glyphs = options.glyphs();
        let [base, head] = [figures.base_ns, figures.head_ns].map(|ns| format::duration(ns, glyphs));
        let change = format::percent(figures.change.estimate);
        text = text
            .and(format!("{base} {} {head}  ", glyphs.arrow()))
            .with(style, format!("{change} {}", word.to_lowercase()))
            .with(DIM, format!("  {}", format::interval(figures.change)));
    }
    match &found.function {
        Some(function) => text.and(format!("  {function}")),
        None => text,
    }
}
