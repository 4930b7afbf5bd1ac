//! Releases in the terminal: the tests that got slower or faster between releases.

use super::log::{self, commit, name, skip_reason};
use crate::figures;
use crate::figures::Detail;
use crate::terminal::{DIM, GOOD, INDENT, STRONG, Screen, Text, WARN, test_name};
use crate::text::TextOptions;
use perfunit_model::format::{self, count, short_commit};
use perfunit_model::{Release, Releases, Step, StepOutcome, StepTest, Verdict, variant_name};
use std::collections::BTreeMap;

/// Commits named of those that were not compared.
const NAMED: usize = 5;

/// Formats a release for the terminal.
pub fn release(release: &Release, options: &TextOptions) -> String {
    let mut screen = Screen::new(options.width, options.glyphs);
    let title = commit(&release.head);
    match &release.outcome {
        StepOutcome::Compared(step) => write_compared(release, step, options, &mut screen),
        StepOutcome::Skipped(why) => {
            screen.status("Skipped", WARN, &title);
            screen.below(INDENT, &Text::new(DIM, skip_reason(why)));
        }
        StepOutcome::Open => screen.status("Open", WARN, &title.with(DIM, "  not compared yet")),
    }
    screen.finish()
}

fn write_compared(release: &Release, step: &Step, options: &TextOptions, screen: &mut Screen) {
    log::heading(step, &commit(&release.head), screen);
    let against = format!("against {}, {}: ", name(&release.base), count(release.commits.len(), "commit"));
    screen.below(INDENT, &Text::new(DIM, against + &log::counts(step)));
    for found in log::changed_tests(step) {
        screen.below(INDENT, &log::line(found, options));
        for (by, at) in release.moved_by(&found.test) {
            let change = at.figures.map(|figures| format::percent(figures.change.estimate)).unwrap_or_default();
            screen.below(INDENT + 2, &Text::new(DIM, format!("{change} by ")).join(commit(by)));
        }
    }
    for (function, moved) in by_function(step) {
        screen.below(INDENT, &Text::new(STRONG, function).and(format!(": {moved}")));
    }
    let open: Vec<&str> = release.open().map(|commit| short_commit(&commit.id)).collect();
    if !open.is_empty() {
        let more = if open.len() > NAMED { ", ..." } else { "" };
        let names = open.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
        let of = release.commits.len();
        let range = format!("{}..{}", name(&release.base), name(&release.head));
        let text = format!(
            "{} of {of} not looked at ({names}{more}): `cargo perfunit log {range}` does",
            count(open.len(), "commit")
        );
        screen.below(INDENT, &Text::new(WARN, text));
    }
    if options.detail == Detail::Full && !step.tests.is_empty() {
        table(step, screen);
    }
}

/// Counts the slower and faster tests of each responsible function.
fn by_function(step: &Step) -> Vec<(&str, String)> {
    let mut functions: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for found in step.changed_tests() {
        if let Some(function) = &found.function {
            functions.entry(function).or_default()[usize::from(found.verdict == Verdict::Faster)] += 1;
        }
    }
    let words = |[slower, faster]: [usize; 2]| {
        let counted = [(slower, "slower"), (faster, "faster")].into_iter().filter(|(n, _)| *n > 0);
        counted.map(|(n, word)| format!("{} {word}", count(n, "test"))).collect::<Vec<_>>().join(", ")
    };
    functions.into_iter().map(|(function, counts)| (function, words(counts))).collect()
}

/// Writes each test with the test code, metric and effect size of its verdict, or the reason for having none.
fn table(step: &Step, screen: &mut Screen) {
    let rows: Vec<[String; 5]> = step.tests.iter().map(cells).collect();
    let heading = ["test", "test code", "metric", "effect (d)", "verdict"].map(str::to_owned);
    let width =
        |column: usize| rows.iter().chain([&heading]).map(|row| row[column].chars().count()).max().unwrap_or_default();
    for (row, is_heading) in [(&heading, true)].into_iter().chain(rows.iter().map(|row| (row, false))) {
        let padded = row.iter().enumerate().map(|(column, cell)| format!("{cell:<width$}", width = width(column)));
        let line = padded.collect::<Vec<_>>().join("  ");
        screen.line(&Text::default().pad(INDENT).join(if is_heading {
            Text::new(DIM, line.trim_end())
        } else {
            Text::plain(line.trim_end())
        }));
    }
}

fn cells(found: &StepTest) -> [String; 5] {
    let metrics: Vec<&str> = found.metrics.iter().map(|metric| metric.name()).collect();
    let effect = found.figures.map(|figures| {
        let class = figures::effect_class(figures.effect.class);
        format!("{} {class}", format::number(figures.effect.d))
    });
    let verdict = figures::status(found.verdict, figures::Words::OfTime).0.to_lowercase();
    let verdict = found.reason.map_or_else(|| verdict.clone(), |reason| format!("{verdict}: {}", variant_name(reason)));
    [
        test_name(&found.test.name).to_string(),
        test_code(found).to_owned(),
        metrics.join(", "),
        effect.unwrap_or_default(),
        verdict,
    ]
}

/// Names the version that contributed the test code measured on both sides.
pub(super) fn test_code(found: &StepTest) -> &'static str {
    use perfunit_model::Side;
    match found.test_code {
        None => "unchanged",
        Some(Side::Base) => "old",
        Some(Side::Head) => "new",
    }
}

/// Returns the last lines of a log by releases.
pub fn summary(releases: &Releases, options: &TextOptions) -> String {
    let mut screen = Screen::new(options.width, options.glyphs);
    screen.bar();
    let with = |verdict: Verdict| {
        let steps = releases.releases.iter().filter_map(|release| release.outcome.step());
        steps.filter(|step| step.with(verdict).next().is_some()).count()
    };
    let counts = format!(
        "{}: {} with slower tests, {} with faster ones; ",
        count(releases.releases.len(), "comparison"),
        with(Verdict::Slower),
        with(Verdict::Faster)
    );
    let error = format!(
        "the probability that any test is falsely called slower or faster from release to release is at most {}",
        format::magnitude(releases.family_wise_error())
    );
    screen.status("Summary", if releases.interrupted { WARN } else { GOOD }, &Text::plain(counts).with(DIM, error));
    screen.finish()
}
