//! Histories and searches as Markdown, for issues and release notes.

use super::bisection::{self, direction, explanation_lines, place, plain_line, without_figures};
use super::log::{Counts, Moves, anchors, changed_tests, error_rate, name, notes, skip_reason, sparkline, worst};
use crate::markdown::{code, plain};
use crate::pooled_change::describe_program;
use crate::text::TextOptions;
use perfunit_model::format::{self, Glyphs, count, percent, sentence, short_commit};
use perfunit_model::{
    Bisection, Change, Commit, Course, Entry, FoundStep, FoundTest, History, ProgramChange, SourceChange, StepOutcome,
    StepTest, Unresolved, Unsearched, variant_name,
};
use perfunit_system::date;
use std::fmt::Write as _;

/// Rows of each table.
const ROWS: usize = 30;
/// Tests or commits named in a cell.
const NAMED: usize = 3;

/// Returns GitHub Flavored Markdown. All foreign text is in code spans or escaped.
pub fn render(history: &History, courses: &[Course]) -> String {
    let counts = Counts::of(history);
    let last = history.entries.last().map_or(&history.base, |entry| &entry.commit);
    let (first, last) = (code(name(&history.base)), code(name(last)));
    let mut page = format!("### {first} to {last}\n\n{}", counts.text());
    if counts.open > 0 {
        let _ = write!(page, ", {} not compared yet", counts.open);
    }
    page.push_str(".\n");
    let moves = Moves::of(history);
    if !courses.is_empty() {
        page.push_str("\n| test | course | change | interval | largest steps |\n|---|---|--:|---|---|\n");
    }
    for course in courses.iter().take(ROWS) {
        let total = course.total();
        let (largest, left_out) = moves.largest(&course.test, NAMED);
        let mut steps: Vec<String> = largest
            .iter()
            .map(|one| format!("{} {}", code(short_commit(&one.commit.id)), percent(one.estimate())))
            .collect();
        if left_out > 0 {
            steps.push(format!("{left_out} more"));
        }
        steps.extend(anchors(course).map(|anchor| plain(&anchor)));
        let _ = writeln!(
            page,
            "| {} | {} | **{}** | {} to {} | {} |",
            code(&course.test.to_string()),
            code(&sparkline(&course.points, Glyphs::Unicode)),
            percent(total.estimate),
            percent(total.low),
            percent(total.high),
            steps.join(", ")
        );
    }
    more(courses.len(), "test", &mut page);
    commits(history, &mut page);
    left_out(history, &mut page);
    for note in notes(history, &counts) {
        let _ = writeln!(page, "\nNote: {}.", plain(&note));
    }
    let _ = writeln!(page, "\nBy `cargo perfunit log`: {}.", error_rate(history));
    page
}

fn more(all: usize, noun: &str, page: &mut String) {
    if all > ROWS {
        let _ = writeln!(page, "\n... and {} more.", count(all - ROWS, noun));
    }
}

/// Writes the commits with slower or faster tests, the latest first.
fn commits(history: &History, page: &mut String) {
    let moving = history.entries.iter().rev().filter_map(|entry| match &entry.outcome {
        StepOutcome::Compared(step) => {
            let verdict = worst(step).filter(|verdict| verdict.is_change())?;
            Some((entry, step, verdict))
        }
        StepOutcome::Skipped(_) | StepOutcome::Open => None,
    });
    let moving: Vec<_> = moving.collect();
    if moving.is_empty() {
        return;
    }
    page.push_str("\n| commit | subject | result | tests |\n|---|---|---|---|\n");
    for (entry, step, verdict) in moving.iter().take(ROWS) {
        let tests = changed_tests(step);
        let of_program = |program: &ProgramChange| format!("{} {}", code(&program.name), describe_program(program));
        let of_test = |found: &&StepTest| {
            let change = found.figures.map(|figures| format!(" {}", percent(figures.change.estimate)));
            let function = found.function.as_ref().map(|function| format!(": {}", code(function)));
            let test = code(&found.test.to_string());
            format!("{test}{}{}", change.unwrap_or_default(), function.unwrap_or_default())
        };
        let programs = step.programs.iter().filter(|program| program.verdict.is_change()).map(of_program);
        let mut named: Vec<String> = programs.chain(tests.iter().take(NAMED).map(of_test)).collect();
        if tests.len() > NAMED {
            named.push(format!("{} more", tests.len() - NAMED));
        }
        let word = variant_name(*verdict);
        let _ = writeln!(page, "| {} | {word} | {} |", commit(entry), named.join("<br>"));
    }
    more(moving.len(), "commit", page);
}

/// Formats id, day, tags and subject as two cells.
fn commit(entry: &Entry) -> String {
    let commit = &entry.commit;
    let tags: String = commit.tags.iter().map(|tag| code(tag) + " ").collect();
    let day = date::day(commit.seconds);
    format!("{} {day} | {tags}{}", code(short_commit(&commit.id)), plain(&commit.subject))
}

/// Writes the commits that could not be compared.
fn left_out(history: &History, page: &mut String) {
    let left_out = history.entries.iter().rev().filter_map(|entry| match &entry.outcome {
        StepOutcome::Skipped(why) => Some((entry, why)),
        StepOutcome::Compared(_) | StepOutcome::Open => None,
    });
    let left_out: Vec<_> = left_out.collect();
    if left_out.is_empty() {
        return;
    }
    let _ = write!(page, "\n<details><summary>{} skipped</summary>\n\n", count(left_out.len(), "commit"));
    for (entry, why) in left_out.iter().take(ROWS) {
        let commit = &entry.commit;
        let (id, subject) = (code(short_commit(&commit.id)), plain(&commit.subject));
        let _ = writeln!(page, "- {id} {subject}: {}", plain(&skip_reason(why)));
    }
    more(left_out.len(), "commit", page);
    page.push_str("\n</details>\n");
}

/// Entries of a longer list.
const NAMED_TESTS: usize = 10;

/// Returns GitHub Flavored Markdown. All foreign text is in code spans or escaped.
pub fn bisection(bisection: &Bisection) -> String {
    let mut page = format!("### {}\n", heading(bisection));
    for found in &bisection.steps {
        found_step(found, &mut page);
    }
    for left in &bisection.unresolved {
        write_unresolved(left, &mut page);
    }
    for note in bisection::notes(bisection) {
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

fn found_step(found: &FoundStep, page: &mut String) {
    page.push('\n');
    for one in &found.commits {
        let _ = writeln!(page, "- {}", found_commit(one));
    }
    if found.commits.len() > 1 {
        page.push_str("\nOne of these: those before the last cannot be compared.\n");
    }
    let after = found.commits.last().map_or("", |commit| short_commit(&commit.id));
    let [before, after] = [short_commit(&found.base.id), after].map(code);
    let _ = writeln!(page, "\n| test | {before} | {after} | change | interval |");
    page.push_str("|---|--:|--:|--:|---|\n");
    for test in &found.tests {
        found_row(test, page);
    }
    let lines = found
        .tests
        .first()
        .map(|test| explanation_lines(test, &TextOptions { glyphs: Glyphs::Unicode, ..TextOptions::default() }));
    for (index, line) in lines.unwrap_or_default().iter().enumerate() {
        let _ = writeln!(page, "{}- {}", if index == 0 { "\n" } else { "" }, plain(line));
    }
    if let Some(source) = &found.source {
        difference(source, page);
    }
}

fn found_commit(commit: &Commit) -> String {
    format!("{} {} ({})", code(short_commit(&commit.id)), plain(&commit.subject), date::day(commit.seconds))
}

fn found_row(test: &FoundTest, page: &mut String) {
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
    // The fence must be longer than any in the text.
    let longest = lines.iter().flat_map(|line| line.split(|c| c != '`')).map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let _ = write!(page, "\n{}:\n\n{fence}diff\n{}\n{fence}\n", code(&place(source)), lines.join("\n"));
    if source.left_out > 0 {
        let _ = writeln!(page, "\n... and {} more lines.", source.left_out);
    }
}

fn write_unresolved(left: &Unresolved, page: &mut String) {
    let text = match left.because {
        Unsearched::Open => "Not searched yet",
        Unsearched::Lost => "The change shows over all of these commits, and not in one of them",
    };
    let _ = writeln!(page, "\n{text}:\n");
    for one in left.commits.iter().take(NAMED_TESTS) {
        let _ = writeln!(page, "- {}", found_commit(one));
    }
    if left.commits.len() > NAMED_TESTS {
        let _ = writeln!(page, "- ... and {} more", left.commits.len() - NAMED_TESTS);
    }
}

/// Writes the range, the skipped commits, and the command that repeats the comparison.
fn how(bisection: &Bisection, page: &mut String) {
    let Bisection { good, bad, change, commits, .. } = bisection;
    let range = format!("{} to {}", found_commit(good), found_commit(bad));
    let whole = format!("{} [{}]", percent(change.estimate), interval(*change));
    let _ = writeln!(page, "\n<details><summary>How it was found</summary>\n");
    let _ = writeln!(page, "- {} from {range}: {whole}", count(*commits, "commit"));
    if let Some(function) = &bisection.function {
        let _ = writeln!(page, "- tests that execute {}, by the one that changed most", code(function));
    }
    for (left_out, why) in bisection.skipped.iter().take(NAMED_TESTS) {
        let _ = writeln!(page, "- skipped: {}: {}", found_commit(left_out), plain(&skip_reason(why)));
    }
    if bisection.skipped.len() > NAMED_TESTS {
        let _ = writeln!(page, "- ... and {} more skipped", bisection.skipped.len() - NAMED_TESTS);
    }
    page.push_str("- times are of one machine, both versions in turns; `cargo perfunit` made this\n");
    for found in &bisection.steps {
        let head = found.commits.last().map_or("", |commit| short_commit(&commit.id));
        let test = shlex::try_quote(&bisection.test.name).unwrap_or_default();
        let _ = write!(page, "\n```sh\ncargo perfunit diff {}..{head} {test}\n```\n", short_commit(&found.base.id));
    }
    page.push_str("\n</details>\n");
}
