//! Several commits: what each changed, and which one made a test slower.

mod anchors;
mod bisection;
mod csv;
mod document;
mod entry;
mod progress;
mod releases;
mod releases_csv;
mod releases_document;
mod summary;

pub use bisection::text as bisection;
pub use csv::render as csv;
pub use document::{BisectDocument, LogDocument, bisect_json, log_json};
pub use entry::text as entry;
pub use progress::{anchoring, joined, left};
pub use releases::{release, summary as releases_summary};
pub use releases_csv::render as releases_csv;
pub use releases_document::{ReleasesDocument, releases_json};
pub use summary::text as summary;

use super::format::{one_line, short_commit};
use super::style::{DIM, Text};
use crate::model::{Commit, Skipped};
use crate::system::date;

/// Id, day, tags and subject.
fn commit(commit: &Commit) -> Text {
    let tags = if commit.tags.is_empty() { String::new() } else { format!("({}) ", commit.tags.join(", ")) };
    Text::plain(short_commit(&commit.id))
        .with(DIM, format!(" {} ", date::day(commit.seconds)))
        .and(format!("{tags}{}", one_line(&commit.subject)))
}

/// As people call it: by its tag, if it has one.
fn name(commit: &Commit) -> &str {
    commit.tags.first().map_or_else(|| short_commit(&commit.id), String::as_str)
}

/// The same for programs.
fn name_in_full(commit: &Commit) -> &str {
    commit.tags.first().unwrap_or(&commit.id)
}

fn skipped(why: &Skipped) -> String {
    match why {
        Skipped::DoesNotBuild { error } => format!("does not build: {}", one_line(error)),
        Skipped::NothingBefore => "no commit before it in the range builds".to_owned(),
        Skipped::Failed { error } => format!("could not be compared: {}", one_line(error)),
    }
}

#[cfg(test)]
mod tests;
