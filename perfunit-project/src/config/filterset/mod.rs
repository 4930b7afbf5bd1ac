//! Nextest's filterset language (`-E 'package(parser) & test(long)'`), parsed by nextest's own crate.
//!
//! Input: the output of `cargo metadata` for head's workspace, and expressions with their source. Output: the targets
//! and tests that an expression matches. Pure.

mod problem;
mod universe;

pub use universe::{Expression, Universe, needs_dependencies};
