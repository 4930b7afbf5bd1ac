//! One injection: what is made slower, and who has to be named for it.

use super::functions::{Changes, Function};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What is done to make a test slower.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A busy loop at the start of a function.
    Busy,
    /// A small function that calls no other and is called from a loop does some ns more at each call.
    Leaf,
    /// A call of another function is made twice; responsible is who calls.
    Twice,
    /// The same, several times and in a loop.
    Oftener,
    /// A busy loop in a function of a dependency by path, which is not of the workspace.
    Dependency,
    /// A busy loop in a function, and other names for the variables of another one, which is innocent.
    Two,
}

impl Kind {
    /// In the order in which they are tried.
    pub const ALL: [Self; 6] = [Self::Busy, Self::Leaf, Self::Twice, Self::Oftener, Self::Dependency, Self::Two];

    /// The word on the command line.
    pub fn word(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// The responsible function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Guilty {
    /// The function of the workspace whose name stands there.
    Function { path: String, line: usize },
    /// The dependency, or who calls one of its functions.
    Dependency { name: String },
}

/// An injection.
#[derive(Debug, Clone)]
pub struct Injection {
    /// What kind.
    pub kind: Kind,
    /// How much: `50 ns`, `3 times more`.
    pub effect: String,
    /// The function that gets slower, and where it is.
    pub place: String,
    /// What is responsible for it.
    pub guilty: Guilty,
    /// What is changed in which file.
    pub changes: Vec<(String, Changes)>,
}

impl Injection {
    /// A function itself is responsible.
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

    /// Names the injection among all of a crate, whatever the seed.
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

/// A file after changes, which stand in its order.
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
