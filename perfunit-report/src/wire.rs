//! Wire types shared by the JSON documents. They are separate from the domain types so that both can change
//! independently.
//!
//! `docs/json.md` describes each field. A figure that is not finite is `null`.

use perfunit_decide as decide;
use perfunit_model as model;
use perfunit_model::{FailedOn, Sides, TargetKind, TestId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of all documents. It increases when a field is removed or changes its meaning, but not for new fields.
pub const SCHEMA_VERSION: u32 = 4;

/// A test; flattened into the objects about tests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Test {
    /// Package name.
    pub package: String,
    /// `package`, `package::test`, `package::bin/name`: the binary id of cargo-nextest.
    pub target: String,
    /// `lib`, `bin`, `test`, `example`, `bench` or `doctest`.
    pub target_kind: TargetKind,
    /// Path inside the crate, as libtest prints it; of a doc test the path of its item and a number.
    pub name: String,
}

impl From<&TestId> for Test {
    fn from(test: &TestId) -> Self {
        Self {
            package: test.target.package.clone(),
            target: test.target.to_string(),
            target_kind: test.target.kind,
            name: test.name.clone(),
        }
    }
}

/// A figure with its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Best estimate.
    pub estimate: Option<f64>,
    /// Lower end.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// Result of single calls in random order for a test with one much slower version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bound {
    /// `at-least`.
    pub kind: String,
    /// Each call of the slower version took at least this many times as long as the longest call of the other version.
    pub ratio: Option<f64>,
    /// Time limit after which calls of the slower version were stopped, in nanoseconds; null if all of them ended.
    pub limit_ns: Option<f64>,
    /// Number of calls of each version.
    pub calls: Sides<usize>,
}

impl From<&model::Bound> for Bound {
    fn from(bound: &model::Bound) -> Self {
        Self {
            kind: "at-least".to_owned(),
            ratio: finite(bound.ratio),
            limit_ns: bound.limit_ns.and_then(finite),
            calls: bound.calls,
        }
    }
}

/// Throughput of a benchmark in the unit that it declares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Throughput {
    pub unit: model::WorkUnit,
    /// Units per second on base.
    pub base_per_second: Option<f64>,
    /// Units per second on head.
    pub head_per_second: Option<f64>,
}

impl Throughput {
    pub fn of(measured: &model::Measured) -> Option<Self> {
        let (unit, per_second) = measured.per_second()?;
        Some(Self { unit, base_per_second: finite(per_second.base), head_per_second: finite(per_second.head) })
    }
}

/// Reason for a missing or weaker verdict. Only the fields of its kind are present after `text`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// `ignored`, `folded-away`, `too-long`, ...
    pub kind: String,
    /// The reason as a sentence.
    pub text: String,
    /// The versions on which the test does not pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<FailedOn>,
    /// True if the test sometimes passes on these versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intermittent: Option<bool>,
    /// Panic message, signal, exit status, or the obstacle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Direction of the first pairs: `slower` or `faster`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<model::Verdict>,
    /// The unavailable metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// The changed item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// Time of one run on base, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ns: Option<f64>,
    /// Time of one run on head, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_ns: Option<f64>,
    /// True if a test that timed out on one side was confirmed to hang there, while it ends far sooner on the other
    /// side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<bool>,
    /// Time of one run, or the limit that was exceeded, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// The budget per test that would suffice, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed_seconds: Option<f64>,
    /// Number of changed functions that the test can reach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub functions: Option<usize>,
    /// The file that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The shard that measures the test, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<usize>,
}

/// Implements conversion from types with the same three figures.
macro_rules! intervals_from {
    ($($type:ty),*) => {$(
        impl From<$type> for Interval {
            fn from(figure: $type) -> Self {
                Self { estimate: finite(figure.estimate), low: finite(figure.low), high: finite(figure.high) }
            }
        }
    )*};
}
intervals_from!(model::Change, model::Difference, model::Exponent, decide::Interval);

impl From<&model::Reason> for Reason {
    fn from(reason: &model::Reason) -> Self {
        use model::Reason as R;
        let plain = Self { kind: model::variant_name(reason.kind()), text: reason.to_string(), ..Self::default() };
        match reason {
            R::Unconfirmed { seen } | R::AsPlacesDo { seen, .. } => Self { seen: Some(*seen), ..plain },
            R::FoldedAway { ns } | R::LostInStart { ns } => Self { ns: finite(*ns), ..plain },
            R::TooLong { seconds, needed_seconds, ns } => Self {
                seconds: finite(*seconds),
                needed_seconds: finite(*needed_seconds),
                ns: ns.and_then(|ns| finite(ns.base)),
                head_ns: ns.and_then(|ns| finite(ns.head)),
                ..plain
            },
            R::TimedOut { side, seconds, confirmed } => {
                Self { side: Some(*side), seconds: finite(*seconds), confirmed: Some(*confirmed), ..plain }
            }
            R::Fails { side, how, intermittent } | R::Crashes { side, how, intermittent } => {
                Self { side: Some(*side), intermittent: Some(*intermittent), ..plain }.because(&how.to_string())
            }
            R::TestChanged { item } => Self { item: Some(item.to_string()), ..plain },
            R::NotExecuted { functions, .. } => Self { functions: Some(*functions), ..plain },
            R::DataChanged { path } => Self { path: Some(path.clone()), ..plain },
            R::OtherShard { shard, .. } => Self { shard: Some(*shard), ..plain },
            R::NotCaptured { why } => plain.because(&why.to_string()),
            R::Skipped { why, place } => Self { path: Some(place.clone()), ..plain }.because(why),
            R::MetricUnknown { metric, why } => {
                Self { metric: Some(metric.name().to_owned()), ..plain }.because(&why.to_string())
            }
            R::Ignored
            | R::New
            | R::Removed
            | R::SameExecutable
            | R::SameCode
            | R::BudgetUsedUp
            | R::Interrupted
            | R::NotConfirmed
            | R::RunsByClock
            | R::TooNoisy
            | R::AtThreshold
            | R::Filtered => plain,
        }
    }
}

impl Reason {
    fn because(self, detail: &str) -> Self {
        Self { detail: Some(detail.to_owned()), ..self }
    }
}

/// Returns a figure, or `None` if it is not finite.
pub fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// Returns the figure of each version, or `None` if it is not finite.
pub fn finite_sides(figures: Sides<f64>) -> Sides<Option<f64>> {
    figures.map(finite)
}

/// Returns a document as pretty JSON with a trailing newline.
pub(super) fn pretty(document: &impl Serialize) -> String {
    // Strings, numbers, lists and structs with fixed keys: serde_json has nothing to refuse.
    let text = serde_json::to_string_pretty(document).unwrap_or_else(|error| unreachable!("{error}"));
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::{Failure, Metric, NoVerdict, NotCaptured, Reason as R, TestCodeItem};
    use serde_json::{Value, json};

    #[track_caller]
    fn check(reason: &R, expected: &Value) {
        let value = serde_json::to_value(Reason::from(reason)).unwrap();
        let Value::Object(mut fields) = value else { panic!("{value} is not an object") };
        assert_eq!(fields.remove("text").unwrap(), reason.to_string());
        assert_eq!(Value::Object(fields), *expected);
    }

    #[test]
    fn reasons_carry_the_fields_of_their_kind() {
        let (side, intermittent) = (FailedOn::Base, true);
        let how = || Failure::Said("exit 3".to_owned());
        check(&R::Ignored, &json!({"kind": "ignored"}));
        check(&R::FoldedAway { ns: 0.3 }, &json!({"kind": "folded-away", "ns": 0.3}));
        check(
            &R::TooLong { seconds: 12.0, needed_seconds: 96.0, ns: None },
            &json!({"kind": "too-long", "seconds": 12.0, "needed_seconds": 96.0}),
        );
        let timed_out = json!({"kind": "timed-out", "side": "base", "seconds": 60.0, "confirmed": true});
        check(&R::TimedOut { side, seconds: 60.0, confirmed: true }, &timed_out);
        check(
            &R::Fails { side, how: how(), intermittent: false },
            &json!({"kind": "fails", "side": "base", "detail": "exit 3", "intermittent": false}),
        );
        check(
            &R::Crashes { side, how: how(), intermittent },
            &json!({"kind": "crashes", "side": "base", "detail": "exit 3", "intermittent": true}),
        );
        check(
            &R::TestChanged { item: TestCodeItem::Function("t".into()) },
            &json!({"kind": "test-changed", "item": "t"}),
        );
        let runtime = "built with another version of the runtime";
        check(&R::NotCaptured { why: NotCaptured::OtherRuntime }, &json!({"kind": "not-captured", "detail": runtime}));
        check(
            &R::MetricUnknown { metric: Metric::Instructions, why: NoVerdict::Varies },
            &json!({"kind": "metric-unknown", "metric": "instructions", "detail": "it varies from call to call"}),
        );
    }

    #[test]
    fn kinds_are_the_words_of_the_model() {
        let reasons = [
            R::New,
            R::Removed,
            R::BudgetUsedUp,
            R::Interrupted,
            R::Filtered,
            R::Ignored,
            R::SameExecutable,
            R::SameCode,
            R::NotConfirmed,
            R::TooNoisy,
            R::AtThreshold,
            R::NotExecuted { functions: 2, programs: Vec::new() },
            R::DataChanged { path: "a.json".to_owned() },
        ];
        for reason in reasons {
            let model = serde_json::to_value(&reason).unwrap();
            assert_eq!(Reason::from(&reason).kind, model["kind"]);
        }
    }
}
