//! Where a search for commits ended, as text to paste into an issue.

use super::bisection::{direction, explained, notes, place, plain_line, without_figures};
use super::commit::skipped;
use crate::markdown::{code, plain};
use crate::text::TextOptions;
use perfunit_model::format::{self, Glyphs, count, percent, sentence, short_commit};
use perfunit_model::{Bisection, Change, Commit, FoundStep, FoundTest, SourceChange, Unresolved, Unsearched};
use perfunit_system::date;
use std::fmt::Write as _;

/// Commits named of many.
const NAMED: usize = 10;

/// GitHub Flavored Markdown; all foreign text is in code spans or escaped.
pub fn render(bisection: &Bisection) -> String {
    let mut page = format!("### {}\n", heading(bisection));
    for found in &bisection.steps {
        step(found, &mut page);
    }
    for left in &bisection.unresolved {
        unresolved(left, &mut page);
    }
    for note in notes(bisection) {
        let _ = writeln!(page, "\n{}", sentence(&note));
    }
    how(bisection, &mut page);
    page
}

fn heading(bisection: &Bisection) -> String {
    let test = code(&bisection.test.to_string());
    match &bisection.steps[..] {
        [] => format!("{test} changed ({}), and no single commit was found", percent(bisection.change.estimate)),
        [one] => {
            let commit = one.commits.last().map(|commit| code(short_commit(&commit.id))).unwrap_or_default();
            let found = one.tests.first().and_then(|test| test.found.figures);
            let change = found.map(|figures| format!(": {}", percent(figures.change.estimate))).unwrap_or_default();
            let place = if one.commits.len() > 1 { "in or before" } else { "in" };
            format!("{test} got {} {place} {commit}{change}", direction(one))
        }
        several => format!("{test} changed in {}", count(several.len(), "commit")),
    }
}

fn step(found: &FoundStep, page: &mut String) {
    page.push('\n');
    for one in &found.commits {
        let _ = writeln!(page, "- {}", commit(one));
    }
    if found.commits.len() > 1 {
        page.push_str("\nOne of these: those before the last cannot be compared.\n");
    }
    let after = found.commits.last().map_or("", |commit| short_commit(&commit.id));
    let [before, after] = [short_commit(&found.base.id), after].map(code);
    let _ = writeln!(page, "\n| test | {before} | {after} | change | interval |");
    page.push_str("|---|--:|--:|--:|---|\n");
    for test in &found.tests {
        row(test, page);
    }
    let lines =
        found.tests.first().map(|test| explained(test, &TextOptions { unicode: true, ..TextOptions::default() }));
    for (index, line) in lines.unwrap_or_default().iter().enumerate() {
        let _ = writeln!(page, "{}- {}", if index == 0 { "\n" } else { "" }, plain(line));
    }
    if let Some(source) = &found.source {
        difference(source, page);
    }
}

fn commit(commit: &Commit) -> String {
    format!("{} {} ({})", code(short_commit(&commit.id)), plain(&commit.subject), date::day(commit.seconds))
}

fn row(test: &FoundTest, page: &mut String) {
    let name = code(&test.found.test.to_string());
    let _ = match test.found.figures {
        None => {
            writeln!(page, "| {name} | | | {} | |", plain(&without_figures(&test.found)))
        }
        Some(figures) => {
            let [base, head] = [figures.base_ns, figures.head_ns].map(|ns| format::duration(ns, Glyphs::Unicode));
            let (change, interval) = (percent(figures.change.estimate), interval(figures.change));
            writeln!(page, "| {name} | {base} | {head} | **{change}** | {interval} |")
        }
    };
}

fn interval(change: Change) -> String {
    format!("{} to {}", percent(change.low), percent(change.high))
}

fn difference(source: &SourceChange, page: &mut String) {
    let lines: Vec<String> = source.diff.iter().map(|line| plain_line(line)).collect();
    // A longer fence than any in the text.
    let longest = lines.iter().flat_map(|line| line.split(|c| c != '`')).map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let _ = write!(page, "\n{}:\n\n{fence}diff\n{}\n{fence}\n", code(&place(source)), lines.join("\n"));
    if source.left_out > 0 {
        let _ = writeln!(page, "\n... and {} more lines.", source.left_out);
    }
}

fn unresolved(left: &Unresolved, page: &mut String) {
    let text = match left.because {
        Unsearched::Open => "Not searched yet",
        Unsearched::Lost => "The change shows over all of these commits, and not in one of them",
    };
    let _ = writeln!(page, "\n{text}:\n");
    for one in left.commits.iter().take(NAMED) {
        let _ = writeln!(page, "- {}", commit(one));
    }
    if left.commits.len() > NAMED {
        let _ = writeln!(page, "- ... and {} more", left.commits.len() - NAMED);
    }
}

/// The range, what could not be compared, and how to compare again.
fn how(bisection: &Bisection, page: &mut String) {
    let Bisection { good, bad, change, commits, .. } = bisection;
    let range = format!("{} to {}", commit(good), commit(bad));
    let whole = format!("{} [{}]", percent(change.estimate), interval(*change));
    let _ = writeln!(page, "\n<details><summary>How it was found</summary>\n");
    let _ = writeln!(page, "- {} from {range}: {whole}", count(*commits, "commit"));
    if let Some(function) = &bisection.function {
        let _ = writeln!(page, "- tests that execute {}, by the one that changed most", code(function));
    }
    for (left_out, why) in bisection.skipped.iter().take(NAMED) {
        let _ = writeln!(page, "- skipped: {}: {}", commit(left_out), plain(&skipped(why)));
    }
    if bisection.skipped.len() > NAMED {
        let _ = writeln!(page, "- ... and {} more skipped", bisection.skipped.len() - NAMED);
    }
    page.push_str("- times are of one machine, both versions in turns; `cargo perfunit` made this\n");
    for found in &bisection.steps {
        let head = found.commits.last().map_or("", |commit| short_commit(&commit.id));
        let test = shlex::try_quote(&bisection.test.name).unwrap_or_default();
        let _ = write!(page, "\n```sh\ncargo perfunit diff {}..{head} {test}\n```\n", short_commit(&found.base.id));
    }
    page.push_str("\n</details>\n");
}
