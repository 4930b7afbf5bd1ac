//! nextest's filterset language (`-E 'package(parser) & test(long)'`), by nextest's own crate.
//!
//! Input: what `cargo metadata` says of head's workspace, and expressions with the place where they stand. Output: which
//! targets and tests an expression takes. Pure.

mod problem;
mod universe;

pub use universe::{Expression, Universe, needs_dependencies};
