//! How to make the same comparison again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A command that compares the same versions by the same tests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Repeat {
    /// The folder to run it in, from the root of the repository; empty for the root.
    pub folder: String,
    /// The words behind `cargo`.
    pub arguments: Vec<String>,
}
