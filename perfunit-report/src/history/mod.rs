//! Reports on several commits: the changes of each commit, and the commit that made a test slower.

mod bisection;
mod csv;
mod document;
mod log;
mod markdown;
mod releases;

pub use bisection::text as bisection;
pub use csv::{releases as releases_csv, render as csv};
pub use document::{BisectDocument, LogDocument, ReleasesDocument, bisect_json, releases_json};
pub(super) use log::{
    Counts, Move, Moves, anchors, changed_tests, counts, error_rate, name, notes, skip_reason, worst,
};
pub use log::{entry, summary};
pub use markdown::{bisection as bisect_markdown, render as markdown};
pub use releases::{release, summary as releases_summary};

use crate::text::TextOptions;
use crate::{HtmlOptions, html};
use clap::ValueEnum;
use perfunit_model::format::{self, count};
use perfunit_model::{Commit, Course, History, Joined, Skipped};
use std::time::Duration;

/// Format of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum HistoryFormat {
    /// A summary for people.
    #[default]
    #[value(alias = "human")]
    Text,
    /// Commits and tests that changed, for an issue or release notes.
    Markdown,
    /// One versioned JSON document.
    Json,
    /// A row for each test of each commit.
    Csv,
    /// One page for a browser, with the courses of tests.
    Html,
}

/// Renders the report of a history; text has ANSI colors.
pub fn render(history: &History, courses: &[Course], format: HistoryFormat, options: &TextOptions) -> String {
    match format {
        HistoryFormat::Text => {
            let entries: String = history.entries.iter().rev().map(|one| entry(one, options)).collect();
            entries + &summary(history, courses, options)
        }
        HistoryFormat::Markdown => markdown(history, courses),
        HistoryFormat::Json => document::log_json(history, courses),
        HistoryFormat::Csv => csv(history),
        HistoryFormat::Html => html::history(history, courses, &HtmlOptions::default()),
    }
}

/// Describes how much of a log is left.
pub fn left(left: usize, of: usize, time: Option<Duration>) -> String {
    let time = time.map(|time| format!(", about {}", format::seconds(time))).unwrap_or_default();
    format!("{} of {of}{time}", count(left, "commit"))
}

/// Describes the result of importing a file.
pub fn describe_import(joined: Joined) -> String {
    let Joined { new, same, contradictions, usable } = joined;
    let said = |n: usize, text: String| if n > 0 { text } else { String::new() };
    let useless = (new + same + contradictions).saturating_sub(usable);
    format!(
        "{}, {same} known before{}{}",
        count(new, "new result"),
        said(contradictions, format!(", {contradictions} with other figures than those that are here, which stay")),
        said(useless, format!("; {useless} were made with other options or another toolchain, and are not used now")),
    )
}

/// Describes the tests to compare next over several commits.
pub fn anchoring(base: &Commit, head: &Commit, tests: usize) -> String {
    format!("{} directly, {} against {}", count(tests, "test"), name(head), name(base))
}

/// Returns the reason why tests are not compared over several commits.
pub fn not_anchored(base: &Commit, head: &Commit, why: &Skipped) -> String {
    let [base, head] = [base, head].map(name);
    format!("{head} and {base} are not compared directly: {}", skip_reason(why))
}

#[cfg(test)]
mod tests;
