//! Null edits: two versions of a file with different code that does the same work.

use perfunit_model::Sides;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Difference between the versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// More or fewer bytes that are jumped over at the start; the executed instructions are equal.
    Padding,
    /// Another message of a panic that does not happen.
    PanicMessage,
    /// More or fewer arms of a `match` that are never taken.
    MatchArms,
    /// Two branches that are never taken, in the other order.
    ColdOrder,
    /// A larger or smaller branch that is never taken.
    ColdBody,
    /// An additional function in a module that other tests do not use.
    Added,
    /// One function less in such a module.
    Removed,
    /// A function of another size in such a module.
    Grown,
    /// Two such modules in the other order.
    Swapped,
}

/// Two versions of a file that differ in the text inserted at one place.
#[derive(Debug, Clone)]
pub struct Null {
    /// Kind of the difference.
    pub kind: Kind,
    /// Path from the root of the repository.
    pub path: String,
    /// Line of the place, from 1.
    pub line: usize,
    /// Offset of the place in bytes.
    pub at: usize,
    /// Inserted text of each version.
    pub inserted: Sides<String>,
}

impl Null {
    /// Returns both versions of the file.
    pub fn texts(&self, original: &str) -> Sides<String> {
        let (before, after) = original.split_at(self.at);
        self.inserted.as_ref().map(|inserted| format!("{before}{inserted}{after}"))
    }

    /// Returns a key that is unique in a draw.
    pub fn key(&self) -> String {
        let Sides { base, head } = self.inserted.as_ref().map(String::len);
        format!("{} {} byte {}, {base} to {head} bytes", self.kind, self.place(), self.at)
    }

    /// Returns file and line.
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
