//! Settings that are one word of a few: the same on the command line and in the file.

use super::values::{Invalid, Value, Written};
pub use perfunit_model::suggest::word_of;

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser, ValueParser, ValueParserFactory};
use perfunit_model::suggest::{self, deserialize_word};
use perfunit_model::{Engine, Explain, Generated, Ignored, Instructions, Strategy};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, Deserializer};
use serde_json::json;
use std::borrow::Cow;

/// A choice that can be left to the tool.
pub trait OrAuto: ValueEnum + Send + Sync + 'static {
    /// What `auto` means, for people.
    const AUTO: &'static str;
}

impl OrAuto for Engine {
    const AUTO: &'static str = "Instructions, where valgrind is there; time where they do not account for it";
}

impl OrAuto for Strategy {
    const AUTO: &'static str =
        "By how much the test changed and how much it calls; more than one if the first does not find anybody";
}

/// `auto`, which is `None`, or a word of `T`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Auto<T>(pub Option<T>);

/// The words of [`Auto`].
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

/// What to do without tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub enum NoTests {
    /// Exit with 0.
    Pass,
    /// Exit with 4.
    Fail,
}

/// What can be denied besides regressions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub enum Deny {
    /// Tests that could not be told (exit code 105).
    Inconclusive,
    /// Tests that are probably slower, which the budget left no time to confirm (exit code 105).
    Unconfirmed,
    /// Changed functions that no test executes (exit code 106).
    Uncovered,
    /// Functions whose work grows with a larger power of their input's length (exit code 100); needs `--growth`.
    Growth,
    /// Generated calls that got slower (exit code 100).
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

/// Lets a setting be one of the names of an enumeration.
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

words!(Explain, Instructions, Ignored, Generated, NoTests, Deny);

impl<'de> Deserialize<'de> for NoTests {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_word(deserializer)
    }
}

impl<'de> Deserialize<'de> for Deny {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_word(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
