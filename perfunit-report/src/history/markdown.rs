//! A history for an issue or for release notes: the tests that moved, and the commits that moved them.

use super::anchors;
use super::commit::{name, skipped};
use super::entry::{moved, worst};
use super::moves::Moves;
use super::sparkline::sparkline;
use super::summary::{Counts, error_rate, notes};
use crate::markdown::{code, plain};
use perfunit_model::format::{Glyphs, count, percent, short_commit};
use perfunit_model::{Course, Entry, History, StepOutcome, variant_name};
use perfunit_system::date;
use std::fmt::Write as _;

/// Rows of each table.
const ROWS: usize = 30;
/// Tests or commits named in a cell.
const NAMED: usize = 3;

/// GitHub Flavored Markdown; all foreign text is in code spans or escaped.
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
        steps.extend(anchors::words(course).map(|anchor| plain(&anchor)));
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

/// The commits with slower or faster tests, the youngest first.
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
        let tests = moved(step);
        let mut named: Vec<String> = tests
            .iter()
            .take(NAMED)
            .map(|found| {
                let change = found.figures.map(|figures| format!(" {}", percent(figures.change.estimate)));
                let function = found.function.as_ref().map(|function| format!(": {}", code(function)));
                let test = code(&found.test.to_string());
                format!("{test}{}{}", change.unwrap_or_default(), function.unwrap_or_default())
            })
            .collect();
        if tests.len() > NAMED {
            named.push(format!("{} more", tests.len() - NAMED));
        }
        let word = variant_name(*verdict);
        let _ = writeln!(page, "| {} | {word} | {} |", commit(entry), named.join("<br>"));
    }
    more(moving.len(), "commit", page);
}

/// Id, day, tags and subject, in two cells.
fn commit(entry: &Entry) -> String {
    let commit = &entry.commit;
    let tags: String = commit.tags.iter().map(|tag| code(tag) + " ").collect();
    let day = date::day(commit.seconds);
    format!("{} {day} | {tags}{}", code(short_commit(&commit.id)), plain(&commit.subject))
}

/// The commits that could not be compared.
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
        let _ = writeln!(page, "- {id} {subject}: {}", plain(&skipped(why)));
    }
    more(left_out.len(), "commit", page);
    page.push_str("\n</details>\n");
}
