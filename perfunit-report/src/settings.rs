//! The effective configuration for `show-config`: each setting with its source.

use perfunit_model::Acceptance;
use perfunit_model::format::threshold;
use perfunit_project::config::{DataFate, Override, Resolved, Row, Source, Step};
use serde::Serialize;
use std::fmt::Write as _;

/// The JSON document of `show-config`.
#[derive(Debug, Serialize)]
struct Document<'a> {
    format: u32,
    profile: &'a str,
    file: Option<&'a str>,
    settings: Vec<Setting>,
    overrides: Vec<Line>,
    skips: Vec<Line>,
    data: Vec<Line>,
    accepted: Vec<Line>,
    prepare: Vec<Line>,
    warnings: &'a [String],
}

#[derive(Debug, Serialize)]
struct Setting {
    key: &'static str,
    value: String,
    from: Source,
    /// The source in words.
    place: String,
}

/// A rule with its subject and source.
#[derive(Debug, Serialize)]
struct Line {
    about: String,
    says: String,
    place: String,
}

pub fn text(resolved: &Resolved) -> String {
    let file = resolved.file.as_deref().unwrap_or("no configuration file");
    let mut text = format!("{file}, profile {}\n\n", resolved.profile);
    let rows = resolved.settings.rows();
    let rows = rows.iter().map(|row| [row.key.to_owned(), quote(&row.value), row.from.to_string()]);
    table(&mut text, rows.collect());
    let sections = [
        ("Overrides", overrides(resolved)),
        ("Skipped tests", skips(resolved)),
        ("Data files", data(resolved)),
        ("Accepted slowdowns", acceptance_lines(resolved)),
        ("Preparing steps", prepare(resolved)),
    ];
    for (title, lines) in sections {
        if !lines.is_empty() {
            let _ = writeln!(text, "\n{title}");
            table(&mut text, lines.into_iter().map(|line| [line.about, line.says, line.place]).collect());
        }
    }
    text
}

pub fn json(resolved: &Resolved) -> String {
    let rows = resolved.settings.rows();
    let setting = |row: &Row| Setting {
        key: row.key,
        value: row.value.clone(),
        from: row.from.clone(),
        place: row.from.to_string(),
    };
    let document = Document {
        format: 1,
        profile: &resolved.profile,
        file: resolved.file.as_deref(),
        settings: rows.iter().map(setting).collect(),
        overrides: overrides(resolved),
        skips: skips(resolved),
        data: data(resolved),
        accepted: acceptance_lines(resolved),
        prepare: prepare(resolved),
        warnings: &resolved.warnings,
    };
    super::wire::pretty(&document)
}

fn quote(value: &str) -> String {
    if value.is_empty() { "-".to_owned() } else { value.to_owned() }
}

fn table(text: &mut String, rows: Vec<[String; 3]>) {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (first, second) = (width(0), width(1));
    for [about, says, place] in rows {
        let _ = writeln!(text, "  {about:first$}  {says:second$}  {place}");
    }
}

fn overrides(resolved: &Resolved) -> Vec<Line> {
    let line = |rule: &Override| Line {
        about: rule.filter.value.clone(),
        says: rule.says(),
        place: rule.filter.from.to_string(),
    };
    resolved.rules.overrides.iter().map(line).collect()
}

fn skips(resolved: &Resolved) -> Vec<Line> {
    let rules = resolved.rules.skips.iter();
    let line = rules.map(|rule| Line {
        about: rule.filter.value.clone(),
        says: rule.reason.clone(),
        place: rule.filter.from.to_string(),
    });
    line.collect()
}

fn acceptance_lines(resolved: &Resolved) -> Vec<Line> {
    let line = |accepted: &Acceptance| Line {
        about: accepted.name.clone(),
        says: format!("up to {}: {}", threshold(accepted.at_most), accepted.reason),
        place: accepted.from.to_string(),
    };
    resolved.rules.acceptances.iter().map(line).collect()
}

fn prepare(resolved: &Resolved) -> Vec<Line> {
    let line = |step: &Step| Line { about: step.command_line(), says: step.says(), place: step.from.to_string() };
    resolved.rules.steps.iter().map(line).collect()
}

fn data(resolved: &Resolved) -> Vec<Line> {
    let rules = resolved.rules.data.iter();
    let line = rules.map(|rule| Line {
        about: rule.paths.join(", "),
        says: match &rule.fate {
            DataFate::Ignored => "ignored".to_owned(),
            DataFate::Reaches(filter) => format!("may be read by {}", filter.value),
        },
        place: rule.from.to_string(),
    });
    line.collect()
}
