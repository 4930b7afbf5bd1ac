//! Several commits: what each changed, and which one made a test slower.

mod anchors;
mod bisection;
mod bisection_markdown;
mod csv;
mod document;
mod entry;
mod markdown;
mod moves;
mod progress;
mod releases;
mod releases_csv;
mod releases_document;
mod sparkline;
mod summary;

pub(super) use anchors::words as anchors;
pub use bisection::text as bisection;
pub use bisection_markdown::render as bisect_markdown;
pub use csv::render as csv;
pub use document::{BisectDocument, LogDocument, bisect_json, log_json};
pub use entry::text as entry;
pub(super) use entry::{counts, moved, worst};
pub use markdown::render as markdown;
pub(super) use moves::{Move, Moves};
pub use progress::{anchoring, joined, left, not_anchored};
pub use releases::{release, summary as releases_summary};
pub use releases_csv::render as releases_csv;
pub use releases_document::{ReleasesDocument, releases_json};
pub use summary::text as summary;
pub(super) use summary::{Counts, error_rate, notes};

use super::format::{one_line, short_commit};
use super::style::{DIM, Text};
use super::text::TextOptions;
use super::{HtmlOptions, html};
use crate::model::{Commit, Course, History, Skipped};
use crate::system::date;
use clap::ValueEnum;

/// What a history is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum HistoryFormat {
    /// A summary for people.
    #[default]
    #[value(alias = "human")]
    Text,
    /// Commits and tests that moved, for an issue or release notes.
    Markdown,
    /// One versioned JSON document.
    Json,
    /// A row for each test of each commit.
    Csv,
    /// One page for a browser, with the courses of tests.
    Html,
}

/// The report of a history; text comes with ANSI colours.
pub fn render(history: &History, courses: &[Course], format: HistoryFormat, options: &TextOptions) -> String {
    match format {
        HistoryFormat::Text => {
            let entries: String = history.entries.iter().rev().map(|one| entry(one, options)).collect();
            entries + &summary(history, courses, options)
        }
        HistoryFormat::Markdown => markdown(history, courses),
        HistoryFormat::Json => log_json(history, courses),
        HistoryFormat::Csv => csv(history),
        HistoryFormat::Html => html::history(history, courses, &HtmlOptions::default()),
    }
}

/// Id, day, tags and subject.
fn commit(commit: &Commit) -> Text {
    let tags = if commit.tags.is_empty() { String::new() } else { format!("({}) ", commit.tags.join(", ")) };
    Text::plain(short_commit(&commit.id))
        .with(DIM, format!(" {} ", date::day(commit.seconds)))
        .and(format!("{tags}{}", one_line(&commit.subject)))
}

/// As people call it: by its tag, if it has one.
pub(super) fn name(commit: &Commit) -> &str {
    commit.tags.first().map_or_else(|| short_commit(&commit.id), String::as_str)
}

/// The same for programs.
fn name_in_full(commit: &Commit) -> &str {
    commit.tags.first().unwrap_or(&commit.id)
}

pub(super) fn skipped(why: &Skipped) -> String {
    match why {
        Skipped::DoesNotBuild { error } => format!("does not build: {}", one_line(error)),
        Skipped::NothingBefore => "no commit before it in the range builds".to_owned(),
        Skipped::Failed { error } => format!("could not be compared: {}", one_line(error)),
    }
}

#[cfg(test)]
mod tests;
