//! Null edits: two versions of a file that differ in their code and do the same work when they run.

use perfunit_model::Sides;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How the two versions differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// More or fewer bytes that are jumped over, before everything else: executed instructions are equal.
    Padding,
    /// Another message of a panic that does not happen.
    PanicMessage,
    /// More or fewer arms of a `match`, never taken.
    MatchArms,
    /// Two branches, never taken, in the other order.
    ColdOrder,
    /// A larger or smaller branch, never taken.
    ColdBody,
    /// A function more, in a module that other tests do not use.
    Added,
    /// One less.
    Removed,
    /// A function of another size there.
    Grown,
    /// Two such modules in the other order.
    Swapped,
}

/// Two versions of a file: the same but for what is inserted at one place.
#[derive(Debug, Clone)]
pub struct Null {
    /// How they differ.
    pub kind: Kind,
    /// From the root of the repository.
    pub path: String,
    /// Line of the place, from 1.
    pub line: usize,
    /// Byte of the place.
    pub at: usize,
    /// What is inserted in each version.
    pub inserted: Sides<String>,
}

impl Null {
    /// Both versions of the file.
    pub fn texts(&self, original: &str) -> Sides<String> {
        let (before, after) = original.split_at(self.at);
        self.inserted.as_ref().map(|inserted| format!("{before}{inserted}{after}"))
    }

    /// Names the edit among all of a draw.
    pub fn key(&self) -> String {
        let Sides { base, head } = self.inserted.as_ref().map(String::len);
        format!("{} {} byte {}, {base} to {head} bytes", self.kind, self.place(), self.at)
    }

    /// File and line.
    pub fn place(&self) -> String {
        format!("{}:{}", self.path, self.line)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = serde_json::to_value(self).ok();
        f.pad(word.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default())
    }
}
