//! The table of the commits of a history, the youngest first.

use super::course::anchor;
use super::rows;
use crate::figures::Words;
use crate::history::{counts, moved, skipped, worst};
use maud::{Markup, html};
use perfunit_model::format::{self, one_line, short_commit};
use perfunit_model::{Entry, History, Step, StepOutcome, Verdict};
use perfunit_system::date;

/// Tests named of a commit.
const NAMED: usize = 8;

/// All commits, those that could not be compared as well.
pub fn table(history: &History) -> Markup {
    html! {
        table id="commits" {
            thead {
                tr {
                    th.commit scope="col" { "Commit" }
                    th scope="col" { "Subject" }
                    th.verdict scope="col" { "Result" }
                }
            }
            tbody {
                @for entry in history.entries.iter().rev() {
                    (row(entry)) "\n"
                }
            }
        }
    }
}

fn row(entry: &Entry) -> Markup {
    let commit = &entry.commit;
    let (class, word) = result(entry);
    html! {
        tr class=(class) id=(anchor(&commit.id)) {
            th.commit scope="row" {
                code { (short_commit(&commit.id)) }
                span.target { (date::day(commit.seconds)) }
            }
            td {
                @for tag in &commit.tags {
                    b.tag { (one_line(tag)) } " "
                }
                (one_line(&commit.subject))
                @match &entry.outcome {
                    StepOutcome::Compared(step) => { (tests(step)) }
                    StepOutcome::Skipped(why) => { span.remark { (skipped(why)) } }
                    StepOutcome::Open => {}
                }
            }
            td.verdict { (word) }
        }
    }
}

/// A class and a word for what came of a commit.
fn result(entry: &Entry) -> (&'static str, String) {
    match &entry.outcome {
        StepOutcome::Compared(step) => match worst(step) {
            Some(verdict) => (rows::class(verdict), rows::word(verdict, Words::OfTime)),
            None => ("same", "= Unchanged".to_owned()),
        },
        StepOutcome::Skipped(_) => ("inconclusive", "× Skipped".to_owned()),
        StepOutcome::Open => (rows::class(Verdict::NotMeasured), "… Open".to_owned()),
    }
}

fn tests(step: &Step) -> Markup {
    let moved = moved(step);
    let left_out = moved.len().saturating_sub(NAMED);
    html! {
        span.remark { (counts(step)) }
        @if !moved.is_empty() {
            ul.moves {
                @for found in moved.into_iter().take(NAMED) {
                    li {
                        span class=(rows::class(found.verdict)) {
                            (rows::sign(found.verdict))
                            @if let Some(figures) = found.figures {
                                " " (format::percent(figures.change.estimate))
                            }
                        }
                        " " code { (one_line(&found.test.to_string())) }
                        @if let Some(function) = &found.function {
                            " " code.place { (one_line(function)) }
                        }
                    }
                }
                @if left_out > 0 {
                    li.note { "and " (left_out) " more" }
                }
            }
        }
    }
}
