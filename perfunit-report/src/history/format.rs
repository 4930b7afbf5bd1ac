//! The formats of a history.

use super::{csv, document, entry, markdown, summary};
use crate::text::TextOptions;
use crate::{HtmlOptions, html};
use clap::ValueEnum;
use perfunit_model::{Course, History};

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
            let entries: String = history.entries.iter().rev().map(|one| entry::text(one, options)).collect();
            entries + &summary::text(history, courses, options)
        }
        HistoryFormat::Markdown => markdown::render(history, courses),
        HistoryFormat::Json => document::log_json(history, courses),
        HistoryFormat::Csv => csv::render(history),
        HistoryFormat::Html => html::history(history, courses, &HtmlOptions::default()),
    }
}
