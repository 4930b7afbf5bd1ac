//! Functions of a file: those with a probe, those without, and the line range of each.

use perfunit_model::Unprobed;
use serde::{Deserialize, Serialize};

/// Identity of a file, which is equal in both versions, because keys are derived from it.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// Name of the package.
    pub package: &'a str,
    /// Path relative to the package's folder, with `/`.
    pub path: &'a str,
}

/// A function with a probe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// Key of package, file, impl block, name, and the number among equal ones, such as those of several `#[cfg]`. The
    /// key is the same in every version in which these are equal, whatever the line.
    pub key: u64,
    /// Name as in [`Item::name`](crate::source::Item::name), with the name of an enclosing function before its own.
    pub name: String,
    /// Line of its name, counted from 1.
    pub line: usize,
    /// Type of the enclosing impl block or name of the enclosing trait; empty if there is none.
    pub owner: String,
    /// Name of the trait that the enclosing impl block implements; empty if there is none.
    pub implements: String,
    /// Header of the enclosing impl block; empty if there is none. Distinguishes `<S as From<u8>>::from` from `<S as
    /// From<u16>>::from`.
    pub header: String,
    /// True if it is below `#[cfg(test)]` or inside a test.
    pub test_only: bool,
    /// True if a probe would take longer than the function: its body is one expression of names, literals, fields,
    /// references, casts, constructors, tuples and arrays, with at most one operator, index, `if` or `match` on
    /// non-literals. Anything that may be expensive is not trivial: comparing two non-literals, an index that is not a
    /// literal, matching strings, and dropping an argument that is not in the expression.
    pub trivial: bool,
    /// Names of its arguments; `_` for a pattern.
    pub arguments: Vec<String>,
    /// Kind of its result.
    pub returns: Returns,
}

/// Result of a function, as far as its signature shows when the work is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Returns {
    /// A value of a type with this name; empty if it has none.
    Value(String),
    /// An iterator of an unnamed type.
    Iterator,
    /// A future.
    Future,
}

/// Line range of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    /// Key as in [`Site`], also if it cannot have a probe.
    pub key: u64,
    /// Name as in [`Site`].
    pub name: String,
    /// Line of its name, counted from 1.
    pub line: usize,
    /// First line, including attributes, counted from 1.
    pub first: usize,
    /// Line of the closing brace.
    pub last: usize,
    /// True if it is the function of a test.
    pub is_test: bool,
}

/// A function without a probe. Tests, which are timed as a whole, and functions without a body are not listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Name as in [`Site`]; in a macro definition `name_of_macro!::name`; for a whole file its name.
    pub name: String,
    /// Line of its name, counted from 1.
    pub line: usize,
    /// Reason why it has no probe.
    pub why: Unprobed,
}
