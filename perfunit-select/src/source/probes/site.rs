//! Functions of a file: those with a probe, those without, and where each is written.

use perfunit_model::Unprobed;
use serde::{Deserialize, Serialize};

/// Which file it is: equal in both versions, for keys follow from it.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// Name of the package.
    pub package: &'a str,
    /// Path from the package's folder, with `/`.
    pub path: &'a str,
}

/// A function with a probe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// Stands for package, file, impl block and name, and for the number among equals, such as those of several `#[cfg]`.
    /// A function has the same key in every version in which these are the same, on whatever line.
    pub key: u64,
    /// As [`Item::name`](crate::source::Item::name); a function in the body of another has that one's name before its own.
    pub name: String,
    /// Line of its name, from 1.
    pub line: usize,
    /// Type of the impl block or name of the trait around it, otherwise empty.
    pub owner: String,
    /// Name of the trait that the impl block around it implements, otherwise empty.
    pub implements: String,
    /// Header of the impl block around it, otherwise empty: tells `<S as From<u8>>::from` from `<S as From<u16>>::from`.
    pub header: String,
    /// True below `#[cfg(test)]` and inside of tests.
    pub test_only: bool,
    /// True if the probe would take longer than the function: a body of one expression out of names, literals, fields,
    /// references, casts, constructors, tuples and arrays, with at most one operator, index, `if` or `match` on other
    /// things than literals. What may be much work is not trivial: to compare two things that are no literals, to look
    /// up an index that is none, to match texts, and to drop a value that was handed over and is not in the expression.
    pub trivial: bool,
    /// What its arguments are called; `_` for one that is taken apart.
    pub arguments: Vec<String>,
    /// What it returns.
    pub returns: Returns,
}

/// What a function returns, as far as its signature says when the work is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Returns {
    /// A value of a type of this name; empty if it has none.
    Value(String),
    /// An iterator of a type that the signature does not name.
    Iterator,
    /// A future.
    Future,
}

/// From where to where a function is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    /// That of its [`Site`], whether it can have a probe or not.
    pub key: u64,
    /// As that of a [`Site`].
    pub name: String,
    /// Line of its name, from 1.
    pub line: usize,
    /// First line, attributes included, from 1.
    pub first: usize,
    /// Line of the closing brace.
    pub last: usize,
    /// True for the function of a test.
    pub is_test: bool,
}

/// A function without a probe. Tests, which are timed as a whole, and functions without a body are not listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// As that of a [`Site`]; in a macro definition `name_of_macro!::name`; for a whole file its name.
    pub name: String,
    /// Line of its name, from 1.
    pub line: usize,
    /// Why it has none.
    pub why: Unprobed,
}
