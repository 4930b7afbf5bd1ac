//! Settings for some tests and files, which name them by filtersets and patterns.

use super::settings::Settings;
use super::source::{At, Source, Sourced};
use super::tables::{AcceptTable, DataTable, OverrideTable, SkipTable};
use super::values::{Gates, Time, Value};
use globset::Glob;
use perfunit_model::error::{Error, Result};
use perfunit_model::{Acceptance, AcceptedIn, AcceptedLoss, Metric, Threshold};
use perfunit_system::date;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::time::Duration;

/// What the configuration says of some tests and files.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// The tests that are taken at all; all if absent.
    pub default_filter: Option<Sourced<String>>,
    /// Other settings for some tests; the first that takes a test and has a setting counts.
    pub overrides: Vec<Override>,
    /// Tests that are left out.
    pub skips: Vec<SkipRule>,
    /// What changed data files mean.
    pub data: Vec<DataRule>,
    /// The threshold was typed or is in the environment: neither overrides nor attributes count against it.
    pub typed_threshold: bool,
    /// Slowdowns that are accepted for some time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acceptances: Vec<Acceptance>,
    /// Losses that are accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<AcceptedLoss>,
}

/// Other settings for some tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Override {
    /// Which, as a filterset.
    pub filter: Sourced<String>,
    /// Smallest change that counts, as a fraction of base.
    pub threshold: Option<Threshold>,
    /// Longest measuring of one test.
    pub per_test_budget: Option<Duration>,
    /// Longest life of one measured process.
    pub timeout: Option<Duration>,
    /// What decides.
    pub metrics: Option<Vec<Metric>>,
}

impl Override {
    /// What it sets, as it could be written.
    pub fn says(&self) -> String {
        let parts = [
            self.threshold.map(|threshold| format!("threshold {threshold}")),
            self.per_test_budget.map(|time| format!("per-test-budget {}", Time(time).shown())),
            self.timeout.map(|time| format!("timeout {}", Time(time).shown())),
            self.metrics.as_ref().map(|metrics| format!("metrics {}", Gates(metrics.clone()).shown())),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        // Everything that it sets was typed or is in the environment.
        if parts.is_empty() { "nothing in this run".to_owned() } else { parts.join(", ") }
    }
}

/// Tests that are left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkipRule {
    /// Which, as a filterset.
    pub filter: Sourced<String>,
    /// Why.
    pub reason: String,
}

/// What changes of some data files mean.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataRule {
    /// Patterns of paths from the root of the repository.
    pub paths: Vec<String>,
    /// What they mean.
    pub fate: DataFate,
    /// Where the rule stands.
    pub from: Source,
}

/// What the change of a data file means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum DataFate {
    /// Nothing.
    Ignored,
    /// That the tests of this filterset may read it, and no others.
    Reaches(Sourced<String>),
}

/// Names the place of a part of the file.
pub type Place<'a> = &'a dyn Fn(Range<usize>) -> Source;

impl OverrideTable {
    /// Checks it, and leaves out what was typed or is in the environment: that counts for all tests.
    pub fn resolved(&self, settings: &Settings, place: Place<'_>) -> Result<Override> {
        let Self { filter, threshold, per_test_budget, timeout, metrics } = self;
        if threshold.is_none() && per_test_budget.is_none() && timeout.is_none() && metrics.is_none() {
            return Err(Error::usage(format!("{}: this override sets nothing", place(filter.span())))
                .hint("give it threshold, per-test-budget, timeout or metrics, or remove it"));
        }
        let below = |from: &Source| !matches!(from, Source::CommandLine | Source::Environment { .. });
        Ok(Override {
            filter: filterset(filter, place),
            threshold: threshold.as_ref().map(|at| *at.value()).filter(|_| below(&settings.threshold.from)),
            per_test_budget: time(per_test_budget.as_ref()).filter(|_| below(&settings.per_test_budget.from)),
            timeout: time(timeout.as_ref()).filter(|_| below(&settings.timeout.from)),
            metrics: metrics.as_ref().map(|at| at.value().0.clone()).filter(|_| below(&settings.metrics.from)),
        })
    }
}

impl SkipTable {
    /// Checks it.
    pub fn resolved(&self, place: Place<'_>) -> Result<SkipRule> {
        let reason = self.reason.value().trim().to_owned();
        if reason.is_empty() {
            return Err(Error::usage(format!("{}: the reason is empty", place(self.reason.span())))
                .hint("say why these tests are not measured: it is shown in reports"));
        }
        Ok(SkipRule { filter: filterset(&self.filter, place), reason })
    }
}

impl AcceptTable {
    /// Builds the acceptance, or the error that says what is wrong.
    pub fn resolved(&self, place: Place<'_>) -> Result<Acceptance> {
        let Self { name, at_most, because, until } = self;
        if !date::is_day(until.value()) {
            return Err(Error::usage(format!("{}: `{}` is not a day", place(until.span()), until.value()))
                .hint("write the last day on which the slowdown is accepted: until = \"2026-12-31\""));
        }
        let here = place(name.span());
        let from = AcceptedIn::Configuration { place: here.to_string(), until: until.value().clone() };
        let problem = |why| {
            Error::usage(format!("{here}: this entry accepts nothing: {why}"))
                .hint("write name = \"tests::long_lines\", at-most = \"5%\" and because = \"it checks for overflow\"")
        };
        Acceptance::new(name.value(), at_most.value(), because.value(), from).map_err(problem)
    }
}

impl DataTable {
    /// Checks it.
    pub fn resolved(&self, place: Place<'_>) -> Result<DataRule> {
        let from = place(self.paths.span());
        let ignored = self.ignore.as_ref().is_some_and(|at| *at.value());
        let fate = match (&self.reaches, ignored) {
            (None, true) => DataFate::Ignored,
            (Some(reaches), false) => DataFate::Reaches(filterset(reaches, place)),
            (Some(reaches), true) => {
                return Err(Error::usage(format!(
                    "{}: these files are ignored, and reach tests as well",
                    place(reaches.span())
                ))
                .hint("keep one of `ignore = true` and `reaches = \"..\"`"));
            }
            (None, false) => {
                return Err(Error::usage(format!("{from}: this rule says nothing about its files"))
                    .hint("add `ignore = true` or `reaches = \"package(name)\"`"));
            }
        };
        if self.paths.value().is_empty() {
            return Err(
                Error::usage(format!("{from}: this rule has no paths")).hint("name some: paths = [\"tests/data/**\"]")
            );
        }
        for path in self.paths.value() {
            Glob::new(path).map_err(|error| {
                Error::usage(format!("{from}: invalid pattern `{path}`: {}", error.kind()))
                    .hint("`*` and `?` stand for parts of a name, `**` for any folders, as in \"tests/data/**\"")
            })?;
        }
        Ok(DataRule { paths: self.paths.value().clone(), fate, from })
    }
}

fn filterset(at: &At<String>, place: Place<'_>) -> Sourced<String> {
    Sourced { value: at.value().clone(), from: place(at.span()) }
}

fn time(at: Option<&At<Time>>) -> Option<Duration> {
    at.map(|at| at.value().0)
}
