//! The formats of a run's report and their options.

use super::sections::{Kind, Sections};
use super::text::TextOptions;
use clap::ValueEnum;
use perfunit_model::{Conclusion, Denied, Run, Verdict};

/// A format of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    /// A summary for people.
    #[default]
    #[value(alias = "human")]
    Text,
    /// One line for each test with a result, for scripts, editors and coding agents.
    Short,
    /// A comment for a pull request.
    Markdown,
    /// One versioned JSON document.
    Json,
    /// Test results for CI systems, as XML.
    Junit,
    /// One page for a browser, with plots.
    Html,
    /// Figures for Bencher, as JSON.
    Bmf,
    /// Workflow commands that annotate lines on GitHub.
    Github,
}

impl Format {
    /// Returns the name as typed on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Short => "short",
            Format::Markdown => "markdown",
            Format::Json => "json",
            Format::Junit => "junit",
            Format::Html => "html",
            Format::Bmf => "bmf",
            Format::Github => "github",
        }
    }
}

/// Options of the formats.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rendering {
    /// Options of the text format.
    pub text: TextOptions,
    /// Content of the Markdown if there is nothing to report.
    pub when_fine: WhenFine,
    /// Facts that fail a run in addition to slower tests.
    pub denied: Denied,
}

/// The comment on a run without slower or faster tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum WhenFine {
    /// Two lines.
    #[default]
    Short,
    /// An empty report.
    Silent,
}

/// Returns true if nothing in a run needs attention.
pub(super) fn is_fine(run: &Run, sections: &Sections<'_>, denied: Denied) -> bool {
    Conclusion::of(run, denied) == Conclusion::Passed
        && run.count(Verdict::Faster) == 0
        && run.accepted_tests().next().is_none()
        && sections.get(Kind::Growth).is_none()
        && sections.get(Kind::Functions).is_none()
        && run.programs.iter().all(|program| !program.verdict.is_change())
        && sections.items(Kind::Generated).is_empty()
}
