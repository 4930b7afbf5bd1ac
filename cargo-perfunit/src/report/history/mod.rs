//! Several commits: what each changed, and which one made a test slower.

mod bisection;
mod bisection_markdown;
mod csv;
mod document;
mod entry;
mod summary;

pub use bisection::text as bisection;
pub use bisection_markdown::render as bisect_markdown;
pub use csv::render as csv;
pub use document::{BisectDocument, LogDocument, bisect_json, log_json};
pub use entry::text as entry;
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

fn skipped(why: &Skipped) -> String {
    match why {
        Skipped::DoesNotBuild { error } => format!("does not build: {}", one_line(error)),
        Skipped::NothingBefore => "no commit before it in the range builds".to_owned(),
        Skipped::Failed { error } => format!("could not be compared: {}", one_line(error)),
    }
}

#[cfg(test)]
mod tests;
