//! Suggestions for misspelled words.

use clap::ValueEnum;
use serde::de;
use std::fmt;

/// Maximum number of tolerated typing errors.
const MOST_ERRORS: usize = 2;
const SHOWN: usize = 3;

/// Returns the known names similar to the typed one, the most similar first: those with the same last segment, those
/// that contain it, and those with up to two typing errors.
pub fn near<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>, separator: &str) -> Vec<&'a str> {
    let mut near: Vec<(usize, &str)> =
        known.into_iter().filter_map(|name| Some((far(typed, name, separator)?, name))).collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter().take(SHOWN).map(|(_, name)| name).collect()
}

/// Returns the distance between two names; `None` if they are too different.
fn far(typed: &str, name: &str, separator: &str) -> Option<usize> {
    let last = |name: &str| name.rsplit(separator).next().unwrap_or_default().to_owned();
    if name.ends_with(&format!("{separator}{typed}")) {
        return Some(0);
    }
    let (whole, of_last) = (strsim::levenshtein(typed, name), strsim::levenshtein(&last(typed), &last(name)));
    if whole <= MOST_ERRORS && whole < typed.chars().count() {
        return Some(whole);
    }
    // Many names share an ending by chance.
    if of_last <= MOST_ERRORS && 3 * of_last < last(typed).chars().count() {
        return Some(of_last);
    }
    let (typed, name) = (typed.to_lowercase(), name.to_lowercase());
    (!typed.is_empty() && name.contains(&typed)).then_some(MOST_ERRORS + 1)
}

/// Returns `did you mean a, b?`, if there are similar names.
pub fn hint(near: &[&str]) -> Option<String> {
    (!near.is_empty()).then(|| format!("did you mean {}?", near.join(", ")))
}

/// Returns the error for a word that is not a known one.
pub fn none_of(text: &str, known: &[&str]) -> String {
    let meant = hint(&near(text, known.iter().copied(), "\0")).unwrap_or_default();
    let what = format!("invalid value `{text}`, expected one of {}", known.join(", "));
    if meant.is_empty() { what } else { format!("{what}: {meant}") }
}

/// A word that is not the name of a variant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", none_of(text, &known.iter().map(String::as_str).collect::<Vec<_>>()))]
pub struct UnknownWord {
    /// The word.
    pub text: String,
    /// The names of all variants.
    pub known: Vec<String>,
}

/// Returns the variant with this name.
pub fn word<T: ValueEnum>(text: &str) -> Result<T, UnknownWord> {
    T::from_str(text, false)
        .map_err(|_| UnknownWord { text: text.to_owned(), known: T::value_variants().iter().map(word_of).collect() })
}

/// Returns the name of a variant, as typed.
pub fn word_of<T: ValueEnum>(value: &T) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// Deserializes a value that is written as a string, or as a number if allowed.
pub struct Written<T, E> {
    /// Description of the expected form, for errors.
    pub expected: &'static str,
    /// Parses a string.
    pub read: fn(&str) -> Result<T, E>,
    /// Converts a number, if allowed.
    pub number: Option<fn(f64) -> Result<T, E>>,
}

impl<T, E: fmt::Display> de::Visitor<'_> for Written<T, E> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<Error: de::Error>(self, text: &str) -> Result<T, Error> {
        (self.read)(text).map_err(Error::custom)
    }

    fn visit_f64<Error: de::Error>(self, number: f64) -> Result<T, Error> {
        match self.number {
            Some(read) => read(number).map_err(Error::custom),
            None => Err(Error::invalid_type(de::Unexpected::Float(number), &self)),
        }
    }

    fn visit_i64<Error: de::Error>(self, number: i64) -> Result<T, Error> {
        match self.number {
            Some(read) => read(number as f64).map_err(Error::custom),
            None => Err(Error::invalid_type(de::Unexpected::Signed(number), &self)),
        }
    }
}

/// Deserializes enumerations by the names of their variants; errors suggest a similar one.
#[macro_export]
macro_rules! deserialized_by_name {
    ($($name:ident),*) => {$(
        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let read = $crate::suggest::word;
                deserializer.deserialize_str($crate::suggest::Written { expected: "a word", read, number: None })
            }
        }
    )*};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_end_comes_first_then_typing_errors_then_parts() {
        let known = ["origin/topic", "topics", "my-topic-2", "other"];
        assert_eq!(near("topic", known, "/"), ["origin/topic", "topics", "my-topic-2"]);
        assert_eq!(near("topik", known, "/"), ["origin/topic", "topics"]);
        assert_eq!(near("xyz", known, "/"), [""; 0]);
    }

    #[test]
    fn short_names_are_not_near_to_everything() {
        assert_eq!(near("ab", ["cd", "ac"], "::"), ["ac"]);
    }

    #[test]
    fn a_hint_needs_a_name() {
        assert_eq!(hint(&[]), None);
        assert_eq!(hint(&["a", "b"]).as_deref(), Some("did you mean a, b?"));
    }
}
