//! Settings for some tests and files, selected by filtersets and path patterns.

use super::settings::Settings;
use super::source::{At, Source, SourceOf, Sourced};
use super::steps::Step;
use super::tables::{AcceptTable, DataTable, OverrideTable, SkipTable};
use super::values::{Day, Gates, Time, Value};
use globset::Glob;
use perfunit_model::error::{Error, Result};
use perfunit_model::{Acceptance, AcceptedIn, AcceptedLoss, Metric, Threshold};
use perfunit_system::date;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Rules of the configuration that concern some tests and files.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// Tests to consider at all; all tests if absent.
    pub default_filter: Option<Sourced<String>>,
    /// Settings that override the profile for some tests. For each setting, the first match wins.
    pub overrides: Vec<Override>,
    /// Tests to skip.
    pub skips: Vec<SkipRule>,
    /// Tests affected by changed data files.
    pub data: Vec<DataRule>,
    /// True if the threshold comes from the command line or the environment. Overrides and attributes then have no
    /// effect on it.
    pub typed_threshold: bool,
    /// Slowdowns that are accepted for some time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acceptances: Vec<Acceptance>,
    /// Accepted losses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<AcceptedLoss>,
    /// Commands that prepare each version, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
}

/// Settings that override the profile for some tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Override {
    /// Filterset that selects the tests.
    pub filter: Sourced<String>,
    /// Smallest change to report as slower or faster, as a fraction of base.
    pub threshold: Option<Threshold>,
    /// Time budget for measuring one test.
    pub per_test_budget: Option<Duration>,
    /// Timeout for each measured process.
    pub timeout: Option<Duration>,
    /// Metrics that decide the verdict.
    pub metrics: Option<Vec<Metric>>,
}

impl Override {
    /// Describes the override in the syntax of the configuration.
    pub fn says(&self) -> String {
        let parts = [
            self.threshold.map(|threshold| format!("threshold {threshold}")),
            self.per_test_budget.map(|time| format!("per-test-budget {}", Time(time).shown())),
            self.timeout.map(|time| format!("timeout {}", Time(time).shown())),
            self.metrics.as_ref().map(|metrics| format!("metrics {}", Gates(metrics.clone()).shown())),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        // The command line or the environment took precedence over every setting.
        if parts.is_empty() { "nothing in this run".to_owned() } else { parts.join(", ") }
    }
}

/// Tests to skip.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkipRule {
    /// Filterset that selects the tests.
    pub filter: Sourced<String>,
    /// Reason for skipping.
    pub reason: String,
}

/// Effect of changes to some data files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataRule {
    /// Path patterns, relative to the repository's root.
    pub paths: Vec<String>,
    /// Effect of a change.
    pub fate: DataFate,
    /// Source of the rule.
    pub from: Source,
}

/// Effect of a change to a data file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum DataFate {
    /// No test is affected.
    Ignored,
    /// Only the tests that match this filterset may be affected.
    Reaches(Sourced<String>),
}

impl OverrideTable {
    /// Validates the override. Drops settings that come from the command line or the environment, because those apply
    /// to all tests.
    pub fn validate(&self, settings: &Settings, place: SourceOf<'_>) -> Result<Override> {
        let Self { filter, threshold, per_test_budget, timeout, metrics } = self;
        if threshold.is_none() && per_test_budget.is_none() && timeout.is_none() && metrics.is_none() {
            return Err(Error::usage(format!("{}: this override sets nothing", place(filter.span())))
                .hint("set threshold, per-test-budget, timeout or metrics, or remove the override"));
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
    /// Validates the rule.
    pub fn validate(&self, place: SourceOf<'_>) -> Result<SkipRule> {
        let reason = self.reason.value().trim().to_owned();
        if reason.is_empty() {
            return Err(Error::usage(format!("{}: the reason is empty", place(self.reason.span())))
                .hint("say why these tests are skipped; reports show the reason"));
        }
        Ok(SkipRule { filter: filterset(&self.filter, place), reason })
    }
}

impl AcceptTable {
    /// Builds the acceptance, or the error that says what is wrong.
    pub fn validate(&self, place: SourceOf<'_>) -> Result<Acceptance> {
        let Self { name, at_most, because, until } = self;
        let Day(day) = until.value();
        if !date::is_day(day) {
            return Err(Error::usage(format!("{}: `{day}` is not a day", place(until.span())))
                .hint("write the last day on which the slowdown is accepted: until = \"2026-12-31\""));
        }
        let here = place(name.span());
        let from = AcceptedIn::Configuration { place: here.to_string(), until: day.clone() };
        let problem = |why| {
            Error::usage(format!("{here}: this entry accepts nothing: {why}"))
                .hint("write name = \"tests::long_lines\", at-most = \"5%\" and because = \"it checks for overflow\"")
        };
        Acceptance::new(name.value(), at_most.value(), because.value(), from).map_err(problem)
    }
}

impl DataTable {
    /// Validates the rule.
    pub fn validate(&self, place: SourceOf<'_>) -> Result<DataRule> {
        let from = place(self.paths.span());
        let ignored = self.ignore.as_ref().is_some_and(|at| *at.value());
        let fate = match (&self.reaches, ignored) {
            (None, true) => DataFate::Ignored,
            (Some(reaches), false) => DataFate::Reaches(filterset(reaches, place)),
            (Some(reaches), true) => {
                return Err(Error::usage(format!(
                    "{}: this rule has both `ignore` and `reaches`",
                    place(reaches.span())
                ))
                .hint("remove either `ignore = true` or `reaches = \"..\"`"));
            }
            (None, false) => {
                return Err(Error::usage(format!("{from}: this rule has neither `ignore` nor `reaches`"))
                    .hint("add `ignore = true` or `reaches = \"package(name)\"`"));
            }
        };
        if self.paths.value().is_empty() {
            return Err(
                Error::usage(format!("{from}: this rule has no paths")).hint("add some: paths = [\"tests/data/**\"]")
            );
        }
        for path in self.paths.value() {
            Glob::new(path).map_err(|error| {
                Error::usage(format!("{from}: invalid pattern `{path}`: {}", error.kind()))
                    .hint("`*` and `?` match parts of a name, `**` matches any folders, as in \"tests/data/**\"")
            })?;
        }
        Ok(DataRule { paths: self.paths.value().clone(), fate, from })
    }
}

fn filterset(at: &At<String>, place: SourceOf<'_>) -> Sourced<String> {
    Sourced { value: at.value().clone(), from: place(at.span()) }
}

fn time(at: Option<&At<Time>>) -> Option<Duration> {
    at.map(|at| at.value().0)
}
