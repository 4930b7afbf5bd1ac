//! Edits: small changes in the text of one file.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;

/// Kind of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Another integer in a function.
    Number,
    /// A loop over a range ends one earlier.
    LoopBound,
    /// A statement without effect that compiles to code, at the start of a function.
    Function,
    /// The same in a generic function.
    Generic,
    /// The same in a method of a trait's implementation.
    TraitMethod,
    /// The same in `drop`.
    Drop,
    /// The same in a method of a trait that is used as `dyn`.
    DynMethod,
    /// Another value of a constant.
    Constant,
    /// Another element of a constant or static table.
    Table,
    /// `<` becomes `<=`, and so on.
    Comparison,
    /// A negated condition.
    Condition,
    /// Another byte in a string.
    Text,
    /// Another number or string in the expansion of a macro.
    Macro,
    /// An additional comment.
    Comment,
    /// Additional blank lines.
    BlankLines,
    /// An additional line of documentation.
    Doc,
    /// A renamed local variable.
    Rename,
    /// An additional line break.
    Wrap,
}

impl Kind {
    /// Returns whether machine code must stay the same.
    pub fn is_harmless(self) -> bool {
        matches!(self, Kind::Comment | Kind::BlankLines | Kind::Doc | Kind::Rename | Kind::Wrap)
    }

    /// Returns whether data may change without a change of instructions.
    pub fn is_data(self) -> bool {
        matches!(self, Kind::Constant | Kind::Table | Kind::Text | Kind::Macro)
    }
}

/// Relation of a file to the tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// Code of the crate.
    Source,
    /// Code of a path dependency.
    Dependency,
    /// A build script. Its output may become code.
    BuildScript,
}

/// Tests that must be checked if they are dropped after the edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Evidence {
    /// Tests that execute one of these lines of the file: the edited function.
    Lines(Range<usize>),
    /// Tests that execute a line with this name: the edited constant.
    Naming(String),
    /// Tests that execute a line with a name from files written by a build script.
    Generated,
    /// Lines give no evidence.
    None,
}

/// A change of one file.
#[derive(Debug, Clone)]
pub struct Edit {
    /// Kind of the edit.
    pub kind: Kind,
    /// Relation of the file to the tests.
    pub place: Place,
    /// Path from the root of the repository.
    pub path: String,
    /// Line of the first change, from 1.
    pub line: usize,
    /// Replacements of byte ranges, in order.
    pub changes: Vec<(Range<usize>, String)>,
    /// Tests that must be checked.
    pub evidence: Evidence,
}

impl Edit {
    /// Returns the file after the edit.
    pub fn apply(&self, text: &str) -> String {
        let mut edited = String::with_capacity(text.len() + 64);
        let mut done = 0;
        for (range, new) in &self.changes {
            edited.push_str(&text[done..range.start]);
            edited.push_str(new);
            done = range.end;
        }
        edited + &text[done..]
    }

    /// Returns a key that is unique in a crate and independent of the seed.
    pub fn key(&self) -> String {
        let at = self.changes.first().map_or(0, |(range, _)| range.start);
        format!("{self} byte {at}")
    }
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}:{}", label(self.kind, self.place), self.path, self.line)
    }
}

/// Describes a kind, with the place unless it is the usual one.
pub fn label(kind: Kind, place: Place) -> String {
    let word = |value: serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let kind = serde_json::to_value(kind).map(word).unwrap_or_default();
    match place {
        Place::Source => kind,
        Place::Dependency => format!("{kind} (dependency)"),
        Place::BuildScript => format!("{kind} (build script)"),
    }
}
