//! Types of setting values, with the same syntax in the file, the environment and on the command line.

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser, ValueParser, ValueParserFactory};
use perfunit_model::suggest::Written;
use perfunit_model::{
    Engine, Explain, Generated, Ignored, Instructions, InvalidThreshold, Lto, Metric, Strategy, Threshold, suggest,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer};
use serde_json::json;
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;
use toml::value::Datetime;

/// Longest accepted duration: longer than any useful wait, but too short to overflow a clock.
const LONGEST: Duration = Duration::from_hours(365 * 24);

/// A setting value that can be written as a word or a list of words.
pub trait Value: Sized {
    /// Parses the value. The error says what is wrong and what is accepted.
    fn read(text: &str) -> Result<Self, Invalid>;
    /// Formats the value so that it can be parsed again.
    fn shown(&self) -> String;
}

/// Reason why a setting value is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    #[error("invalid duration `{0}`: use a number with a unit, such as `500ms`, `10s` or `2m`")]
    Duration(String),
    #[error("unknown unit `{unit}` in `{text}`: use ms, s, m or h")]
    Unit { unit: String, text: String },
    #[error("must be greater than zero")]
    NoTime,
    #[error("`{0}` is longer than a year")]
    LongerThanAYear(String),
    #[error(transparent)]
    Threshold(#[from] InvalidThreshold),
    /// The value is not one of the accepted words; the message lists them.
    #[error("{0}")]
    Word(String),
    #[error("needs at least one metric")]
    NoMetric,
    #[error("must not be empty")]
    Empty,
}

/// A duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time(pub Duration);

/// A duration, or no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit(pub Option<Duration>);

/// The text of a day, written as a string or as TOML's own date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Day(pub String);

/// A git revision, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision(pub Option<String>);

/// Metrics that decide verdicts, in the order of reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gates(pub Vec<Metric>);

/// Features to activate.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, serde::Deserialize)]
#[serde(transparent)]
pub struct Features(pub Vec<String>);

/// Parses `500ms`, `10s`, `2m` or `1h`. A number without unit means seconds.
pub fn duration(text: &str) -> Result<Duration, Invalid> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().map_err(|_| Invalid::Duration(text.to_owned()))?;
    let seconds = match unit.trim() {
        "ms" => number / 1000.0,
        "" | "s" => number,
        "m" | "min" => number * 60.0,
        "h" => number * 3600.0,
        _ => return Err(Invalid::Unit { unit: unit.trim().to_owned(), text: text.to_owned() }),
    };
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if duration.is_zero() => Err(Invalid::NoTime),
        Ok(duration) if duration <= LONGEST => Ok(duration),
        _ => Err(Invalid::LongerThanAYear(text.to_owned())),
    }
}

/// Parses the name of a metric on the command line. Clap suggests the closest name for an unknown one.
pub fn metric() -> impl TypedValueParser<Value = Metric> {
    PossibleValuesParser::new(Metric::ALL.map(Metric::name)).try_map(|name| {
        Metric::from_name(&name).ok_or_else(|| Invalid::Word(suggest::none_of(&name, &Metric::ALL.map(Metric::name))))
    })
}

impl Value for Threshold {
    fn read(text: &str) -> Result<Self, Invalid> {
        Ok(text.parse()?)
    }

    fn shown(&self) -> String {
        self.to_string()
    }
}

impl Value for bool {
    fn read(text: &str) -> Result<Self, Invalid> {
        text.parse().map_err(|_| Invalid::Word(suggest::none_of(text, &["true", "false"])))
    }

    fn shown(&self) -> String {
        self.to_string()
    }
}

impl Value for Time {
    fn read(text: &str) -> Result<Self, Invalid> {
        duration(text).map(Self)
    }

    fn shown(&self) -> String {
        let seconds = self.0.as_secs_f64();
        if seconds < 1.0 { format!("{}ms", self.0.as_millis()) } else { format!("{seconds}s") }
    }
}

impl Value for Limit {
    fn read(text: &str) -> Result<Self, Invalid> {
        if text == "none" { Ok(Self(None)) } else { duration(text).map(|time| Self(Some(time))) }
    }

    fn shown(&self) -> String {
        self.0.map_or_else(|| "none".to_owned(), |time| Time(time).shown())
    }
}

impl Value for Revision {
    fn read(text: &str) -> Result<Self, Invalid> {
        match text.trim() {
            "" => Err(Invalid::Empty),
            "none" => Ok(Self(None)),
            revision => Ok(Self(Some(revision.to_owned()))),
        }
    }

    fn shown(&self) -> String {
        self.0.clone().unwrap_or_else(|| "none".to_owned())
    }
}

impl Gates {
    /// Sorts the metrics in the order of reports and removes duplicates.
    pub fn of(metrics: &[Metric]) -> Self {
        Self(Metric::ALL.into_iter().filter(|metric| metrics.contains(metric)).collect())
    }

    fn of_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, Invalid> {
        let known = Metric::ALL.map(Metric::name);
        let metric = |name| Metric::from_name(name).ok_or_else(|| Invalid::Word(suggest::none_of(name, &known)));
        let metrics = names.into_iter().map(metric).collect::<Result<Vec<_>, _>>()?;
        if metrics.is_empty() { Err(Invalid::NoMetric) } else { Ok(Self::of(&metrics)) }
    }
}

impl Value for Gates {
    fn read(text: &str) -> Result<Self, Invalid> {
        Self::of_names(text.split(',').map(str::trim))
    }

    fn shown(&self) -> String {
        self.0.iter().map(|metric| metric.name()).collect::<Vec<_>>().join(",")
    }
}

impl Value for Features {
    fn read(text: &str) -> Result<Self, Invalid> {
        Ok(Self(text.split([',', ' ']).filter(|word| !word.is_empty()).map(str::to_owned).collect()))
    }

    fn shown(&self) -> String {
        self.0.join(",")
    }
}

impl Value for String {
    fn read(text: &str) -> Result<Self, Invalid> {
        if text.is_empty() { Err(Invalid::Empty) } else { Ok(text.to_owned()) }
    }

    fn shown(&self) -> String {
        self.clone()
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = |number: f64| Self::read(&number.to_string());
        let expected = "a duration like \"10s\", or seconds";
        deserializer.deserialize_any(Written { expected, read: Self::read, number: Some(number) })
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = |number: f64| Self::read(&number.to_string());
        let expected = "a duration like \"60s\", seconds, or \"none\"";
        deserializer.deserialize_any(Written { expected, read: Self::read, number: Some(number) })
    }
}

impl<'de> Deserialize<'de> for Revision {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "a revision like \"v1.2.0\", or \"none\"";
        deserializer.deserialize_str(Written { expected, read: Self::read, number: None })
    }
}

impl<'de> Deserialize<'de> for Day {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DayVisitor)
    }
}

struct DayVisitor;

impl<'de> de::Visitor<'de> for DayVisitor {
    type Value = Day;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a day like \"2026-12-31\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Day, E> {
        Ok(Day(text.to_owned()))
    }

    // toml passes its dates as a map.
    fn visit_map<A: de::MapAccess<'de>>(self, date: A) -> Result<Day, A::Error> {
        let date = Datetime::deserialize(de::value::MapAccessDeserializer::new(date))?;
        Ok(Day(date.to_string()))
    }
}

impl<'de> Deserialize<'de> for Gates {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let names = Vec::<String>::deserialize(deserializer)?;
        Self::of_names(names.iter().map(String::as_str)).map_err(de::Error::custom)
    }
}

/// Implements `JsonSchema` for a type that is written as a string or number.
macro_rules! written_schema {
    ($name:ident, $schema:expr) => {
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    };
}

written_schema!(
    Time,
    json_schema!({
        "description": "A duration (\"500ms\", \"10s\", \"2m\", \"1h\"), or seconds.",
        "anyOf": [
            { "type": "string", "pattern": r"^[0-9.]+\s*(ms|s|m|min|h)?$" },
            { "type": "number", "exclusiveMinimum": 0 },
        ],
    })
);
written_schema!(
    Limit,
    json_schema!({
        "description": "A duration (\"500ms\", \"10s\", \"2m\", \"1h\"), or seconds; \"none\" for no limit.",
        "anyOf": [
            { "type": "string", "pattern": r"^([0-9.]+\s*(ms|s|m|min|h)?|none)$" },
            { "type": "number", "exclusiveMinimum": 0 },
        ],
    })
);
written_schema!(
    Revision,
    json_schema!({
        "description": "A git revision (\"v1.2.0\"), or \"none\".",
        "type": "string",
        "minLength": 1,
    })
);
written_schema!(
    Gates,
    json_schema!({
        "description": "Names of metrics.",
        "type": "array",
        "minItems": 1,
        "items": { "type": "string", "enum": Metric::ALL.map(Metric::name) },
    })
);

pub use perfunit_model::suggest::word_of;

/// An enumeration with an `auto` value.
pub trait OrAuto: ValueEnum + Send + Sync + 'static {
    /// Help text of `auto`.
    const AUTO: &'static str;
}

impl OrAuto for Engine {
    const AUTO: &'static str = "Instructions if valgrind is installed; time if instructions do not explain the change";
}

impl OrAuto for Strategy {
    const AUTO: &'static str = "Chosen by the size of the change and the number of calls; falls back to the next strategy if the first finds nothing";
}

/// A word of `T`, or `None` for `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Auto<T>(pub Option<T>);

/// Returns the words that [`Auto`] accepts, with help texts.
fn words_or_auto<T: OrAuto>() -> Vec<PossibleValue> {
    let words = T::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    std::iter::once(PossibleValue::new("auto").help(T::AUTO)).chain(words).collect()
}

impl<T: OrAuto> ValueParserFactory for Auto<T> {
    type Parser = ValueParser;

    fn value_parser() -> ValueParser {
        PossibleValuesParser::new(words_or_auto::<T>()).map(|word| Self(T::from_str(&word, false).ok())).into()
    }
}

impl<T: OrAuto> Value for Auto<T> {
    fn read(text: &str) -> Result<Self, Invalid> {
        if text == "auto" {
            return Ok(Self(None));
        }
        T::from_str(text, false).map(|value| Self(Some(value))).map_err(|_| {
            let words = words_or_auto::<T>();
            Invalid::Word(suggest::none_of(text, &words.iter().map(PossibleValue::get_name).collect::<Vec<_>>()))
        })
    }

    fn shown(&self) -> String {
        self.0.as_ref().map_or_else(|| "auto".to_owned(), word_of)
    }
}

impl<'de, T: OrAuto> Deserialize<'de> for Auto<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Written { expected: "a word", read: Self::read, number: None })
    }
}

impl<T: OrAuto + JsonSchema> JsonSchema for Auto<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(generator);
        if let Some(words) = schema.ensure_object().get_mut("oneOf").and_then(serde_json::Value::as_array_mut) {
            let meaning = format!("{}.", T::AUTO);
            words.insert(0, json!({ "description": meaning, "type": "string", "const": "auto" }));
        }
        schema
    }
}

/// Outcome of a run without tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub enum NoTests {
    /// Exit with 0.
    Pass,
    /// Exit with 4.
    Fail,
}

/// Findings that can fail a run in addition to regressions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub enum Deny {
    /// Inconclusive tests (exit code 105).
    Inconclusive,
    /// Tests that are probably slower but were not confirmed within the budget (exit code 105).
    Unconfirmed,
    /// Changed functions that no test executes (exit code 106).
    Uncovered,
    /// Functions whose work grows with a higher power of their input's length (exit code 100); requires `--growth`.
    Growth,
    /// Changed functions whose tests got slower in the mean, although no single test did for certain (exit code 100).
    Functions,
    /// Slower generated workloads (exit code 100).
    Generated,
}

impl Value for Vec<Deny> {
    fn read(text: &str) -> Result<Self, Invalid> {
        text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(Value::read).collect()
    }

    fn shown(&self) -> String {
        self.iter().map(word_of).collect::<Vec<_>>().join(",")
    }
}

/// Implements [`Value`] for enumerations by the names of their variants.
macro_rules! words {
    ($($name:ident),*) => {$(
        impl Value for $name {
            fn read(text: &str) -> Result<Self, Invalid> {
                suggest::word(text).map_err(|unknown| Invalid::Word(unknown.to_string()))
            }

            fn shown(&self) -> String {
                word_of(self)
            }
        }
    )*};
}

words!(Explain, Instructions, Ignored, Generated, Lto, NoTests, Deny);

perfunit_model::deserialized_by_name!(NoTests, Deny);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("10"), Ok(Duration::from_secs(10)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert!(duration("0s").is_err() && duration("10x").is_err() && duration("").is_err());
        assert!(duration("9000h").is_err() && duration("4000000000000000h").is_err());
    }

    #[track_caller]
    fn comes_back<T: Value>(text: &str) {
        assert_eq!(T::read(text).map(|value| value.shown()), Ok(text.to_owned()));
    }

    #[test]
    fn values_are_shown_as_they_can_be_written() {
        comes_back::<Threshold>("2.5%");
        comes_back::<Threshold>("0.33%");
        comes_back::<Time>("250ms");
        comes_back::<Time>("90s");
        comes_back::<Limit>("none");
        comes_back::<Revision>("none");
        comes_back::<Revision>("v1.2.0");
        comes_back::<Gates>("time,allocations");
        comes_back::<Features>("a,b/c");
    }

    #[test]
    fn at_least_one_known_metric_decides() {
        assert!(Gates::read("tme").unwrap_err().to_string().contains("did you mean time?"));
        assert!(Gates::read("").is_err() && String::read("").is_err());
    }

    #[test]
    fn metrics_come_in_the_order_of_reports_each_once() {
        assert_eq!(Gates::read("allocations, time,time").unwrap().0, [Metric::Time, Metric::Allocations]);
    }

    #[test]
    fn words_that_are_none_name_those_that_are() {
        let problem = Explain::read("alwys").unwrap_err().to_string();
        assert_eq!(problem, "invalid value `alwys`, expected one of auto, always, never: did you mean always?");
        assert!(
            <Vec<Deny>>::read("inconclusive,all")
                .unwrap_err()
                .to_string()
                .contains("invalid value `all`, expected one of inconclusive")
        );
    }

    #[test]
    fn words_are_shown_as_they_are_written() {
        assert_eq!(<Auto<Strategy>>::read("until-source-change").unwrap().shown(), "until-source-change");
        assert_eq!(<Auto<Strategy>>::read("auto").unwrap(), Auto(None));
        assert!(<Auto<Engine>>::read("probe").unwrap_err().to_string().contains("did you mean probes?"));
        assert_eq!(Ignored::read("ignored-only").unwrap().shown(), "only");
        assert_eq!(<Vec<Deny>>::read("inconclusive").unwrap().shown(), "inconclusive");
    }
}
