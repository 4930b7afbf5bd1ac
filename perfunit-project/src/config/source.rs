//! The source of a setting: command line, environment, file, or built-in.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use toml::Spanned;

/// The source of a setting.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Source {
    /// A built-in profile.
    BuiltIn {
        /// `default`, `hook` or `ci`.
        profile: String,
    },
    File {
        /// Path for messages.
        path: String,
        line: usize,
    },
    /// An environment variable.
    Environment { name: String },
    /// A command-line option.
    #[default]
    CommandLine,
    /// An attribute of the test in the source code.
    Attribute {
        /// Path of the source file.
        path: String,
        line: usize,
    },
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::BuiltIn { profile } if profile == "default" => f.write_str("built in"),
            Source::BuiltIn { profile } => write!(f, "built in, profile {profile}"),
            Source::File { path, line } | Source::Attribute { path, line } => write!(f, "{path}:{line}"),
            Source::Environment { name } => f.write_str(name),
            Source::CommandLine => f.write_str("command line"),
        }
    }
}

/// Function that returns the source of a part of the file.
pub type SourceOf<'a> = &'a dyn Fn(Range<usize>) -> Source;

/// Converts a byte offset to line and column, both counted from 1.
pub fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    (line, before.chars().rev().take_while(|c| *c != '\n').count() + 1)
}

/// A value with its source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sourced<T> {
    pub value: T,
    /// Source of the value.
    pub from: Source,
}

impl<T> Sourced<T> {
    /// Creates a value that comes from the command line.
    pub fn from_command_line(value: T) -> Self {
        Self { value, from: Source::CommandLine }
    }
}

/// A value of the configuration file with its position.
#[derive(Debug, Clone)]
pub struct At<T>(Spanned<T>);

impl<T> At<T> {
    pub fn value(&self) -> &T {
        self.0.get_ref()
    }

    /// Returns the position in the text, in bytes.
    pub fn span(&self) -> Range<usize> {
        self.0.span()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for At<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Spanned::deserialize(deserializer).map(Self)
    }
}

impl<T: JsonSchema> JsonSchema for At<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}
