//! One injection: the code that becomes slower, and the function that must be named for it.

use super::functions::{Changes, Function};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The way in which a test becomes slower.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A busy loop at the start of a function.
    Busy,
    /// Some ns more per call of a small function that calls no others and is called in a loop.
    Leaf,
    /// A repeated call of another function; the caller is responsible.
    Twice,
    /// A call that is repeated several times in a loop.
    Oftener,
    /// A busy loop in a function of a path dependency outside of the workspace.
    Dependency,
    /// A busy loop in one function, and renamed variables in another function, which is not responsible.
    Two,
}

impl Kind {
    /// The kinds, in the order of trials.
    pub const ALL: [Self; 6] = [Self::Busy, Self::Leaf, Self::Twice, Self::Oftener, Self::Dependency, Self::Two];

    /// Returns the name of the kind on the command line.
    pub fn word(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// The responsible code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Guilty {
    /// The function of the workspace with its name in this line.
    Function { path: String, line: usize },
    /// The dependency, or a function that calls it.
    Dependency { name: String },
}

/// An injection.
#[derive(Debug, Clone)]
pub struct Injection {
    /// Kind of the injection.
    pub kind: Kind,
    /// Size of the effect: `50 ns`, `3 times more`.
    pub effect: String,
    /// The function that becomes slower, and its place.
    pub place: String,
    /// The responsible code.
    pub guilty: Guilty,
    /// Changes by file.
    pub changes: Vec<(String, Changes)>,
}

impl Injection {
    /// Creates an injection for which the changed function itself is responsible.
    pub fn of(kind: Kind, function: &Function, effect: String, changes: Changes) -> Self {
        let Function { path, name, line, .. } = function;
        Self {
            kind,
            effect,
            place: format!("{name} ({path}:{line})"),
            guilty: Guilty::Function { path: path.clone(), line: *line },
            changes: vec![(path.clone(), changes)],
        }
    }

    /// Returns a key that is unique in a crate and independent of the seed.
    pub fn key(&self) -> String {
        let at = |changes: &Changes| changes.first().map_or(0, |(range, _)| range.start);
        let bytes: Vec<String> = self.changes.iter().map(|(path, changes)| format!("{path}:{}", at(changes))).collect();
        format!("{self} bytes {}", bytes.join(" "))
    }
}

impl fmt::Display for Injection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.kind.word(), self.effect, self.place)
    }
}

/// Applies changes, which are in order, to a file.
pub fn apply(text: &str, changes: &Changes) -> String {
    let mut edited = String::with_capacity(text.len() + 128);
    let mut done = 0;
    for (range, new) in changes {
        edited.push_str(&text[done..range.start]);
        edited.push_str(new);
        done = range.end;
    }
    edited + &text[done..]
}
