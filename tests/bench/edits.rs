//! Edits: one small change of one file, made in its text.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;

/// What an edit does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Another integer in a function.
    Number,
    /// A loop over a range ends one earlier.
    LoopBound,
    /// A statement that does nothing but is code, at the start of a function.
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
    /// `<` becomes `<=` and so on.
    Comparison,
    /// A condition is negated.
    Condition,
    /// Another byte in a string.
    Text,
    /// Another number or string in what a macro expands to.
    Macro,
    /// A comment more.
    Comment,
    /// Blank lines more.
    BlankLines,
    /// A line of documentation more.
    Doc,
    /// A local variable has another name.
    Rename,
    /// A line break more.
    Wrap,
}

impl Kind {
    /// True if machine code must stay what it was.
    pub fn is_harmless(self) -> bool {
        matches!(self, Kind::Comment | Kind::BlankLines | Kind::Doc | Kind::Rename | Kind::Wrap)
    }

    /// True if data may change where no instruction does.
    pub fn is_data(self) -> bool {
        matches!(self, Kind::Constant | Kind::Table | Kind::Text | Kind::Macro)
    }
}

/// Where a file stands to the tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// Code of the crate.
    Source,
    /// Code of a dependency by path.
    Dependency,
    /// A build script: what it writes may become code.
    BuildScript,
}

/// Which tests must be looked at if they are dropped after the edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Evidence {
    /// Those that execute one of these lines of the file: the function that was edited.
    Lines(Range<usize>),
    /// Those that execute a line which has this name in it: the constant that was edited.
    Naming(String),
    /// Those that execute a line which names something that a build script wrote.
    Generated,
    /// Lines say nothing.
    None,
}

/// A change of one file.
#[derive(Debug, Clone)]
pub struct Edit {
    /// What it does.
    pub kind: Kind,
    /// Where the file stands.
    pub place: Place,
    /// From the root of the repository.
    pub path: String,
    /// Line of the first change, from 1.
    pub line: usize,
    /// What replaces which bytes, in the order of the file.
    pub changes: Vec<(Range<usize>, String)>,
    /// Who must be looked at.
    pub evidence: Evidence,
}

impl Edit {
    /// The file after the edit.
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

    /// Names the edit among all of a crate, whatever the seed.
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

/// A kind in words, with the place unless it is the ordinary one.
pub fn label(kind: Kind, place: Place) -> String {
    let word = |value: serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let kind = serde_json::to_value(kind).map(word).unwrap_or_default();
    match place {
        Place::Source => kind,
        Place::Dependency => format!("{kind} (dependency)"),
        Place::BuildScript => format!("{kind} (build script)"),
    }
}
