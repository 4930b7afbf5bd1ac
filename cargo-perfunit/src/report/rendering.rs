//! The formats of a run's report, and what they leave open.

use super::text::TextOptions;
use super::{generated, ratchet};
use crate::model::{GeneratedCalls, Outcome, Reason, Run, Side, Undecided, Verdict};
use clap::ValueEnum;
use std::iter;

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

/// What is a failure besides tests that got slower (`--deny`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "one for each word of the option")]
pub struct Denied {
    /// Inconclusive ones.
    pub inconclusive: bool,
    /// Of these, those that are probably slower.
    pub unconfirmed: bool,
    /// Changed functions that no test executes.
    pub uncovered: bool,
    /// Functions whose work grows with a larger power than before.
    pub growth: bool,
    /// Generated calls that got slower.
    pub generated: bool,
}

impl Denied {
    /// What is denied and could not be looked at.
    pub fn undecided(self, run: &Run) -> Vec<Undecided<'_>> {
        let mut all = Vec::new();
        if self.inconclusive {
            all.extend(run.undecided_tests());
        }
        // Whether or not that is denied: losses against the ratchet's version always count.
        let of_ratchet = |second: &&Run| !second.interrupted && (self.inconclusive || second.is_unchecked());
        let second = run.against_ratchet().filter(of_ratchet);
        all.extend(
            second.into_iter().flat_map(|second| second.undecided_tests().map(|test| test.against(&second.base))),
        );
        if self.uncovered || self.generated {
            all.extend(run.undecided_coverage());
        }
        if self.growth {
            all.extend(run.undecided_growth());
        }
        if self.growth && self.inconclusive {
            all.extend(run.undecided_growth_of_functions());
        }
        if self.generated {
            all.extend(run.undecided_calls());
        }
        all
    }

    /// The comparisons that count: that with base, that with the ratchet's version, and that of generated calls.
    pub fn comparisons(self, run: &Run) -> impl Iterator<Item = &Run> {
        let generated = run.generated.as_ref().filter(|_| self.generated).and_then(GeneratedCalls::run);
        iter::once(run).chain(run.against_ratchet()).chain(generated)
    }

    /// The tests of one comparison without a verdict of which that is denied.
    pub fn open(self, run: &Run) -> impl Iterator<Item = &Outcome> {
        run.outcomes.iter().filter(move |outcome| self.is_open(outcome))
    }

    /// Whether this test has no verdict and that is denied.
    pub fn is_open(self, outcome: &Outcome) -> bool {
        let is_probably_slower = matches!(outcome.reason, Some(Reason::Unconfirmed { seen: Verdict::Slower }));
        outcome.verdict == Verdict::Inconclusive && (self.inconclusive || self.unconfirmed && is_probably_slower)
    }
}

/// Whether a run holds nothing that somebody should look at.
pub(super) fn is_fine(run: &Run, denied: Denied) -> bool {
    let count = |verdict| run.count(verdict);
    let is_open = |run: &Run| run.interrupted || denied.open(run).next().is_some();
    let failing = run.failing(Side::Head).count();
    let is_covered = !denied.uncovered || run.selection.uncovered.is_empty();
    is_covered
        && denied.undecided(run).is_empty()
        && run.growing().next().is_none()
        && !ratchet::is_bad(run)
        && generated::items(run).is_empty()
        && !(denied.generated && generated::is_bad(run))
        && !denied.comparisons(run).any(is_open)
        && !run.is_unchecked()
        && !run.fails_on_base()
        && count(Verdict::Slower) + count(Verdict::Faster) + failing == 0
}
