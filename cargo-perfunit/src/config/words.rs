//! Settings that are one word of a few: the same on the command line and in the file.

use super::values::{Value, Written};
use crate::system::suggest;
use clap::ValueEnum;
use schemars::JsonSchema;
use serde::de::{Deserialize, Deserializer};

/// Of which tests to find out who is to blame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub enum Explanations {
    /// Of the three that got slower by most.
    Auto,
    /// Of all slower and faster tests.
    Always,
    /// Of none.
    Never,
}

/// What to count to find the responsible functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub enum Explainer {
    /// Time; instructions where probes do not find anybody and valgrind is there.
    Auto,
    /// Time, by a probe in each function.
    Probes,
    /// Instructions, also of functions that are inlined or too small for a probe (needs valgrind).
    Callgrind,
}

/// Which functions to time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub enum Strategy {
    /// By how much the test changed and how much it calls; more than one if the first does not find anybody.
    Auto,
    /// All at once.
    Complete,
    /// What the test calls, then what those call that changed, and so on.
    Levelwise,
    /// Those on the ways from the test to functions whose source changed.
    UntilSourceChange,
}

/// Where instructions come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub enum Instructions {
    /// The processor's counter, where there is one.
    Auto,
    /// callgrind, in a process of each version.
    Callgrind,
    /// Not at all.
    Never,
}

/// Which ignored tests to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub enum Ignored {
    /// None.
    Default,
    /// Only those.
    #[value(alias = "ignored-only")]
    Only,
    /// Those too.
    All,
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
    /// Tests that pass on base and fail on head (exit code 104).
    Failing,
}

impl Value for Vec<Deny> {
    fn read(text: &str) -> Result<Self, String> {
        text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(word).collect()
    }

    fn shown(&self) -> String {
        self.iter().map(name).collect::<Vec<_>>().join(",")
    }
}

/// The variant of this name.
fn word<T: ValueEnum>(text: &str) -> Result<T, String> {
    T::from_str(text, false).map_err(|_| {
        let known: Vec<String> = T::value_variants().iter().map(name).collect();
        suggest::none_of(text, &known.iter().map(String::as_str).collect::<Vec<_>>())
    })
}

fn name<T: ValueEnum>(value: &T) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// Lets an enumeration be read by its words, with the near ones in the error.
macro_rules! words {
    ($($name:ident),*) => {$(
        impl Value for $name {
            fn read(text: &str) -> Result<Self, String> {
                word(text)
            }

            fn shown(&self) -> String {
                name(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(Written { expected: "a word", read: word, number: None })
            }
        }
    )*};
}

words!(Explanations, Explainer, Strategy, Instructions, Ignored, NoTests, Deny);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_none_name_those_that_are() {
        let problem = Explanations::read("alwys").unwrap_err();
        assert_eq!(problem, "invalid value `alwys`, expected one of auto, always, never: did you mean always?");
        assert!(
            <Vec<Deny>>::read("inconclusive,all")
                .unwrap_err()
                .contains("invalid value `all`, expected one of inconclusive")
        );
    }

    #[test]
    fn words_are_shown_as_they_are_written() {
        assert_eq!(Strategy::read("until-source-change").unwrap().shown(), "until-source-change");
        assert_eq!(Ignored::read("ignored-only").unwrap().shown(), "only");
        assert_eq!(<Vec<Deny>>::read("inconclusive").unwrap().shown(), "inconclusive");
    }
}
