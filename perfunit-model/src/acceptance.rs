//! Slowdowns that a change accepts on purpose: the trailer of a commit, or an entry of the configuration.

use super::format::{one_line, short_commit};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The key of the trailer in a commit message.
pub const ACCEPT_TRAILER: &str = "Perfunit-Accept";
/// The name that stands for all tests.
pub(super) const ALL_TESTS: &str = "*";

/// A slowdown that is accepted on purpose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Acceptance {
    /// A test or a function, by its name or the end of its path; `*` for all tests.
    pub name: String,
    /// The largest slowdown that is accepted, as a fraction of base.
    pub at_most: f64,
    pub reason: String,
    pub from: AcceptedIn,
}

/// The place of an acceptance.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum AcceptedIn {
    /// A trailer of a commit.
    Commit {
        id: String,
        /// The step of the compared history that the commit belongs to. Slowdowns of several steps add up.
        step: usize,
    },
    /// An entry of the configuration.
    Configuration {
        place: String,
        /// The last day on which it counts: `2026-12-31`.
        until: String,
    },
}

/// What is wrong with an acceptance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Malformed {
    NoSize,
    NoReason,
    NoName,
    /// `*` is a part of the name.
    Pattern {
        name: String,
    },
    BadSize {
        size: String,
    },
    EmptyReason,
}

impl Acceptance {
    /// Reads `NAME <= SIZE% because REASON`.
    pub fn parse(text: &str, from: AcceptedIn) -> Result<Self, Malformed> {
        let text = one_line(text);
        let (name, rest) = text.split_once("<=").ok_or(Malformed::NoSize)?;
        let (size, reason) = rest.split_once(" because").ok_or(Malformed::NoReason)?;
        if reason.starts_with(|c: char| !c.is_whitespace()) {
            return Err(Malformed::NoReason);
        }
        Self::new(name, size, reason, from)
    }

    /// Builds an acceptance from the words for its parts.
    pub fn new(name: &str, size: &str, reason: &str, from: AcceptedIn) -> Result<Self, Malformed> {
        let [name, size, reason] = [name, size, reason].map(one_line);
        if name.is_empty() {
            return Err(Malformed::NoName);
        }
        if name.contains('*') && name != ALL_TESTS {
            return Err(Malformed::Pattern { name });
        }
        let percent = size.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        let at_most = percent.map(|percent| percent / 100.0).filter(|size| size.is_finite() && *size > 0.0);
        let at_most = at_most.ok_or(Malformed::BadSize { size })?;
        if reason.is_empty() {
            return Err(Malformed::EmptyReason);
        }
        Ok(Self { name, at_most, reason, from })
    }

    /// Returns the form of a trailer, with an example.
    pub fn form() -> String {
        format!(
            "write `{ACCEPT_TRAILER}: <test, function or *> <= <size>% because <reason>`, \
             for example `{ACCEPT_TRAILER}: tests::long_lines <= 5% because it checks for overflow`"
        )
    }
}

impl fmt::Display for AcceptedIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Commit { id, .. } => f.write_str(short_commit(id)),
            Self::Configuration { place, until } => write!(f, "{}, until {}", one_line(place), one_line(until)),
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSize => f.write_str("it has no `<=`"),
            Self::NoReason => f.write_str("it has no `because`"),
            Self::NoName => f.write_str("it names no test or function"),
            Self::Pattern { name } => write!(f, "`{name}` is not a name: `*` stands for all tests, and only alone"),
            Self::BadSize { size } => write!(f, "`{size}` is not a percentage above 0 %"),
            Self::EmptyReason => f.write_str("the reason is empty"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trailer_has_a_name_a_size_and_a_reason() {
        let commit = || AcceptedIn::Commit { id: "3f2a91c".to_owned(), step: 0 };
        let accept = |text: &str| Acceptance::parse(text, commit()).unwrap();
        let parsed = accept("mycrate tests::a <= 2.5 % because\n  it checks   more, because");
        let reason = "it checks more, because".to_owned();
        let expected = Acceptance { name: "mycrate tests::a".to_owned(), at_most: 0.025, reason, from: commit() };
        assert_eq!(parsed, expected);
        assert!((accept("* <= 150% because it is worth it").at_most - 1.5).abs() < 1e-12);
        let wrong = |text: &str| Acceptance::parse(text, commit()).unwrap_err().to_string();
        for (text, words) in [
            ("", "no `<=`"),
            ("tests::a 5% because x", "no `<=`"),
            ("<= 5% because x", "names no test"),
            ("tests::* <= 5% because x", "only alone"),
            ("a <= 5 because x", "`5` is not a percentage"),
            ("a <= 0% because x", "`0%` is not a percentage"),
            ("a <= -5% because x", "not a percentage"),
            ("a <= inf% because x", "not a percentage"),
            ("a <= NaN% because x", "not a percentage"),
            ("a <= 5%", "no `because`"),
            ("a <= 5% becausex", "no `because`"),
            ("a <= 5% because  ", "the reason is empty"),
            ("a <= 5% because \u{1b}[31m\u{7}", "the reason is empty"),
        ] {
            assert!(wrong(text).contains(words), "{text}: {}", wrong(text));
        }
    }
}
