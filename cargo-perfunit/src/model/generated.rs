//! Generated workloads: calls made up for functions that no test executes.

use super::Function;
use serde::{Deserialize, Serialize};

/// A call of a function with arguments made up for it, as source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratedCall {
    pub function: Function,
    /// Where it stands: private items of this module are in reach.
    pub module: ModulePlace,
    /// A block that makes the arguments, `{ (first, second) }`. `n: usize` is the size asked for.
    pub setup: String,
    /// The expression that is measured. `input` is what `setup` made, by value, and fresh for each call.
    pub call: String,
    /// Whether the arguments depend on `n`.
    pub is_sized: bool,
}

/// A module of a crate.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ModulePlace {
    /// Its file, from the root of the repository.
    pub file: String,
    /// Inline modules from the file's own to it.
    pub inline: Vec<String>,
}

/// Why there is no workload for a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotGenerated {
    /// A macro writes it, or a condition leaves it out: the source of its crate has no such function.
    NotInSource,
    /// An `unsafe fn`.
    Unsafe,
    /// Private, and it relies on what only its module guarantees: it has unsafe code or takes raw pointers.
    ReliesOnInvariants,
    /// No value of a type could be made.
    NoValue { of: String },
    /// None of the calls compiles with both versions.
    DoesNotCompile { error: String },
    /// Every call fails, leaves the cage, or does not end.
    Fails { how: String },
    /// Calls pass, but none executes the function.
    NotExecuted,
    /// Not the same work twice.
    NotRepeatable,
    /// Time was up.
    OutOfBudget,
}
