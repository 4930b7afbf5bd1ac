//! The formats of a run's report, and what they leave open.

use super::text::TextOptions;
use super::{generated, growth, ratchet, uncovered};
use clap::ValueEnum;
use perfunit_model::{Conclusion, Denied, Run, Verdict};

/// What a report is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    /// A summary for people.
    #[default]
    #[value(alias = "human")]
    Text,
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
    /// As it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Markdown => "markdown",
            Format::Json => "json",
            Format::Junit => "junit",
            Format::Html => "html",
            Format::Bmf => "bmf",
            Format::Github => "github",
        }
    }
}

/// What the formats leave open.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rendering {
    /// Of the text.
    pub text: TextOptions,
    /// Of the Markdown: what to say when there is nothing to say.
    pub when_fine: WhenFine,
    /// Which tests are failures besides those that got slower.
    pub denied: Denied,
}

/// What a comment says of a run in which nothing got slower or faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum WhenFine {
    /// That it is so, in two lines.
    #[default]
    Short,
    /// Nothing at all: the report is empty.
    Silent,
}

/// Returns whether a run holds nothing to look at.
pub(super) fn is_fine(run: &Run, denied: Denied) -> bool {
    Conclusion::of(run, denied) == Conclusion::Passed
        && run.count(Verdict::Faster) == 0
        && run.growing().next().is_none()
        && generated::items(run).is_empty()
}

/// Returns what the conclusion says that the counts of tests in a headline do not.
fn beyond_counts(run: &Run, conclusion: Conclusion) -> Option<String> {
    let said = match conclusion {
        Conclusion::Grows => growth::headline(run)?,
        Conclusion::GeneratedSlower => generated::headline(run)?,
        Conclusion::Uncovered => uncovered::headline(&run.selection)?,
        Conclusion::NotBuilt | Conclusion::NotCompared => {
            ratchet::headline(run).filter(|_| ratchet::is_bad(run)).or_else(|| generated::headline(run))?
        }
        Conclusion::FailsOnBase => "the selected tests fail on base".to_owned(),
        Conclusion::Undecided => "the run is undecided".to_owned(),
        Conclusion::Passed
        | Conclusion::Slower
        | Conclusion::SlowerThanRatchet
        | Conclusion::Interrupted
        | Conclusion::FailsOnHead
        | Conclusion::NothingMeasured => return None,
    };
    Some(said)
}

/// Appends what the conclusion says to a headline that counts tests.
pub(super) fn with_conclusion(headline: String, run: &Run, conclusion: Conclusion) -> String {
    match beyond_counts(run, conclusion) {
        Some(said) => format!("{headline}; {}{}", said[..1].to_lowercase(), &said[1..]),
        None => headline,
    }
}
