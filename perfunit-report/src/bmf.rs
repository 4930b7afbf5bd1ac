//! Figures for Bencher, which follows them over time: a document in Bencher Metric Format (`--adapter json`).
//!
//! A benchmark is a test, named as everywhere else; tests without figures are left out. Measures:
//!
//! - `latency`: time of one run of the test body on head, ns. Its bounds are the interval of the change, applied to
//!   this time. They show how surely head differs from base, not how much two machines differ.
//! - `change`: head against base, in per cent.
//! - other deciding metrics (`--metric`), by their names (`allocations`, `peak-heap`, ...), in ns, bytes or as a count,
//!   with the smallest and the largest reading as bounds. Other metrics are left out because Bencher charges for each
//!   figure.

use super::wire::{finite, pretty};
use perfunit_model::{Measured, Metered, Metric, Outcome, Run};
use serde::Serialize;
use std::collections::BTreeMap;

/// Figures by benchmark and by measure.
type Document = BTreeMap<String, BTreeMap<&'static str, Figure>>;

/// A measure with its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Figure {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

/// Returns the document; empty without figures.
pub fn render(run: &Run) -> String {
    let known = run.outcomes.iter().map(|outcome| (outcome.test.to_string(), measures(outcome, run.gates_of(outcome))));
    pretty(&known.filter(|(_, measures)| !measures.is_empty()).collect::<Document>())
}

fn measures(outcome: &Outcome, gates: &[Metric]) -> BTreeMap<&'static str, Figure> {
    let time =
        outcome.measured.iter().flat_map(|measured| [("latency", latency(measured)), ("change", change(measured))]);
    let others = outcome.metrics.iter().filter(|(metric, _)| **metric != Metric::Time && gates.contains(metric));
    let others = others.filter_map(|(metric, metered)| Some((metric.name(), reading(metered.as_ref().ok()?))));
    time.chain(others).filter_map(|(name, value)| Some((name, value?))).collect()
}

fn latency(measured: &Measured) -> Option<Figure> {
    let change = measured.change;
    let scaled = |bound: f64| measured.head_ns * (1.0 + bound) / (1.0 + change.estimate);
    figure(measured.head_ns, scaled(change.low), scaled(change.high))
}

fn change(measured: &Measured) -> Option<Figure> {
    let [estimate, low, high] =
        [measured.change.estimate, measured.change.low, measured.change.high].map(|change| 100.0 * change);
    figure(estimate, low, high)
}

fn reading(metered: &Metered) -> Option<Figure> {
    let head = metered.readings.head;
    figure(head.value, head.low, head.high)
}

/// Returns a figure, or `None` if `value` is not finite.
fn figure(value: f64, low: f64, high: f64) -> Option<Figure> {
    Some(Figure { value: finite(value)?, lower_value: finite(low), upper_value: finite(high) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::samples::{full, measured, metered, outcome, run, unmeasured};
    use perfunit_model::{MetricVerdict, NotMetered, Verdict};
    use serde_json::{Value, json};

    /// Bencher's published schema of the format.
    fn schema() -> Value {
        let figure = json!({"type": "number"});
        let value = json!({
            "type": "object", "required": ["value"],
            "properties": {"value": figure, "lower_value": figure, "upper_value": figure},
        });
        let measures = json!({"type": "object", "patternProperties": {".+": value}});
        json!({
            "$schema": "http://json-schema.org/draft-07/schema",
            "type": "object", "patternProperties": {".+": measures},
        })
    }

    fn document(run: &Run) -> Value {
        let document = serde_json::from_str(&render(run)).unwrap();
        let validator = jsonschema::validator_for(&schema()).unwrap();
        let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
        document
    }

    #[test]
    fn a_test_is_a_benchmark_with_bounds() {
        let mut test = outcome("a", Verdict::Slower, Some(measured(1000.0, 0.5)));
        test.measured.as_mut().unwrap().change.low = 0.25;
        test.measured.as_mut().unwrap().change.high = 0.75;
        test.metrics.insert(Metric::Allocations, Ok(metered(MetricVerdict::More, 12.0, 18.0)));
        test.metrics.insert(Metric::Time, Ok(metered(MetricVerdict::More, 1.0, 2.0)));
        test.metrics.insert(Metric::PeakHeap, Ok(metered(MetricVerdict::More, 12.0, 18.0)));
        test.metrics.insert(Metric::Instructions, Err(NotMetered::SwitchedOff));
        let expected = json!({"mycrate a": {
            "latency": {"value": 1500.0, "lower_value": 1250.0, "upper_value": 1750.0},
            "change": {"value": 50.0, "lower_value": 25.0, "upper_value": 75.0},
            "allocations": {"value": 18.0, "lower_value": 18.0, "upper_value": 18.0},
        }});
        let mut run = run(vec![test, unmeasured("b", None)]);
        run.gates = vec![Metric::Time, Metric::Allocations, Metric::Instructions];
        assert_eq!(document(&run), expected);
    }

    #[test]
    fn what_is_not_a_number_is_left_out() {
        let nan = outcome("a", Verdict::Inconclusive, Some(measured(f64::NAN, f64::NAN)));
        assert_eq!(document(&run(vec![nan])), json!({}));
    }

    #[test]
    fn every_measured_test_is_there() {
        assert_eq!(document(&full()).as_object().unwrap().len(), 8);
    }
}
