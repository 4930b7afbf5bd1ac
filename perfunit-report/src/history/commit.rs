//! A commit in words: what it is called, and why it was not compared.

use crate::style::{DIM, Text};
use perfunit_model::format::{one_line, short_commit};
use perfunit_model::{Commit, Skipped};
use perfunit_system::date;

/// Id, day, tags and subject.
pub fn commit(commit: &Commit) -> Text {
    let tags = if commit.tags.is_empty() { String::new() } else { format!("({}) ", commit.tags.join(", ")) };
    Text::plain(short_commit(&commit.id))
        .with(DIM, format!(" {} ", date::day(commit.seconds)))
        .and(format!("{tags}{}", one_line(&commit.subject)))
}

/// As people call it: by its tag, if it has one.
pub fn name(commit: &Commit) -> &str {
    commit.tags.first().map_or_else(|| short_commit(&commit.id), String::as_str)
}

/// The same for programs.
pub fn name_in_full(commit: &Commit) -> &str {
    commit.tags.first().unwrap_or(&commit.id)
}

/// Why a commit was not compared.
pub fn skipped(why: &Skipped) -> String {
    match why {
        Skipped::DoesNotBuild { error } => format!("does not build: {}", one_line(error)),
        Skipped::NothingBefore => "no commit before it in the range builds".to_owned(),
        Skipped::Unlisted => "the tests of the target could not be listed".to_owned(),
        Skipped::Failed { error } => format!("could not be compared: {}", one_line(error)),
    }
}
