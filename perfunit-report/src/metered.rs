//! Wire types of a test's metrics.

use super::wire::{Interval, finite};
use perfunit_model as model;
use perfunit_model::{Basis, Metric, MetricVerdict, Metrics, NotMetered, Unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One metric; figures are `null` where it is unavailable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricResult {
    /// `more`, `less`, `changed-below-threshold`, `same`, `inconclusive`, `varies` or `unavailable`.
    pub verdict: String,
    /// `ns`, `bytes` or `count`.
    pub unit: String,
    /// What was read on base.
    pub base: Option<Readings>,
    /// What was read on head.
    pub head: Option<Readings>,
    /// Head against base, as fractions of base; `null` if base has none of it.
    pub change: Option<Interval>,
    /// The smallest change that counts, as a fraction of base.
    pub threshold: Option<f64>,
    /// What was read: `pairs`, `calls` or `first-calls`.
    pub basis: Option<String>,
    /// How many.
    pub readings: Option<usize>,
    /// Why there are no figures.
    pub unavailable: Option<Unavailable>,
}

/// What was read on a side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Readings {
    /// Median.
    pub value: Option<f64>,
    /// Smallest.
    pub low: Option<f64>,
    /// Largest.
    pub high: Option<f64>,
}

/// Why there are no figures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unavailable {
    /// `own-allocator`, `static`, ...
    pub kind: String,
    /// The same in words.
    pub text: String,
}

/// Time and work that do not go together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CrossCheck {
    /// `suspect` or `work-alone`.
    pub kind: String,
    /// The metrics that changed alone.
    pub metrics: Vec<String>,
    /// The same as a sentence.
    pub text: String,
}

/// All metrics by name; `None` for a test that was not measured.
pub fn metrics(metrics: &Metrics) -> Option<BTreeMap<String, MetricResult>> {
    let result = |(metric, metered): (&Metric, &_)| (metric.name().to_owned(), MetricResult::of(*metric, metered));
    (!metrics.is_empty()).then(|| metrics.iter().map(result).collect())
}

impl MetricResult {
    fn of(metric: Metric, metered: &Result<model::Metered, NotMetered>) -> Self {
        let known = metered.as_ref().ok();
        let basis = known.map(|known| match known.basis {
            Basis::Pairs(count) => ("pairs", count),
            Basis::Calls(count) => ("calls", count),
            Basis::FirstCalls(count) => ("first-calls", count),
        });
        Self {
            verdict: known.map_or("unavailable", |known| verdict(known.verdict)).to_owned(),
            unit: unit(metric).to_owned(),
            base: known.map(|known| Readings::from(&known.readings.base)),
            head: known.map(|known| Readings::from(&known.readings.head)),
            change: known.and_then(|known| known.change).map(Interval::from),
            threshold: known.and_then(|known| finite(known.threshold)),
            basis: basis.map(|(basis, _)| basis.to_owned()),
            readings: basis.map(|(_, count)| count),
            unavailable: metered.as_ref().err().map(Unavailable::from),
        }
    }
}

impl From<&model::Readings> for Readings {
    fn from(readings: &model::Readings) -> Self {
        Self { value: finite(readings.value), low: finite(readings.low), high: finite(readings.high) }
    }
}

impl From<&NotMetered> for Unavailable {
    fn from(why: &NotMetered) -> Self {
        Self { kind: why.kind().to_owned(), text: why.to_string() }
    }
}

impl From<&model::CrossCheck> for CrossCheck {
    fn from(check: &model::CrossCheck) -> Self {
        let metrics = match check {
            model::CrossCheck::Suspect => Vec::new(),
            model::CrossCheck::WorkAlone(metrics) => metrics.iter().map(|metric| metric.name().to_owned()).collect(),
        };
        Self { kind: check.kind().to_owned(), metrics, text: check.to_string() }
    }
}

fn unit(metric: Metric) -> &'static str {
    match metric.unit() {
        Unit::Nanoseconds => "ns",
        Unit::Bytes => "bytes",
        Unit::Count => "count",
    }
}

fn verdict(verdict: MetricVerdict) -> &'static str {
    match verdict {
        MetricVerdict::More => "more",
        MetricVerdict::Less => "less",
        MetricVerdict::ChangedBelowThreshold => "changed-below-threshold",
        MetricVerdict::Same => "same",
        MetricVerdict::Inconclusive => "inconclusive",
        MetricVerdict::Varies => "varies",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::samples::metered;
    use serde_json::json;

    #[test]
    fn a_metric_has_every_promised_field() {
        let sample = Metrics::from([
            (Metric::Allocations, Ok(metered(MetricVerdict::More, 12.0, 18.0))),
            (Metric::Instructions, Err(NotMetered::SwitchedOff)),
        ]);
        let expected = json!({
            "allocations": {
                "verdict": "more", "unit": "count", "base": {"value": 12.0, "low": 12.0, "high": 12.0},
                "head": {"value": 18.0, "low": 18.0, "high": 18.0}, "change": {"estimate": 0.5, "low": 0.5, "high": 0.5},
                "threshold": 0.01, "basis": "calls", "readings": 5, "unavailable": null,
            },
            "instructions": {
                "verdict": "unavailable", "unit": "count", "base": null, "head": null, "change": null, "threshold": null,
                "basis": null, "readings": null, "unavailable": {"kind": "switched-off", "text": "not asked for"},
            },
        });
        assert_eq!(serde_json::to_value(metrics(&sample)).unwrap(), expected);
        assert_eq!(metrics(&Metrics::new()), None);
    }

    #[test]
    fn a_cross_check_names_its_metrics() {
        let alone = CrossCheck::from(&model::CrossCheck::WorkAlone(vec![Metric::AllocatedBytes]));
        assert_eq!((alone.kind.as_str(), alone.metrics), ("work-alone", vec!["allocated-bytes".to_owned()]));
        assert_eq!(CrossCheck::from(&model::CrossCheck::Suspect).kind, "suspect");
    }
}
