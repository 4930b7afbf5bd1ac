//! Decides what a change can reach: which targets, which tests first, and whether a test's own code changed.
//!
//! Input: the workspace as a [`Graph`], the [`SourceDiff`](crate::source::SourceDiff), names as a [`NameIndex`].
//! Output: targets with the changes that reach them ([`reach`]), tests ordered by how directly they reach a change
//! ([`order`]), and the changed item of a test whose own code changed ([`changed_test_code`]).
//!
//! Invariants: no I/O. The result contains too much rather than too little, because a target dropped here is never
//! considered again. Names decide only the order: they exclude no test of a reached target.

mod callers;
mod graph;
mod names;
mod order;
mod targets;
mod test_code;

pub use callers::Callers;
pub use graph::{External, Files, Graph, PackageNode, Refeatured, TargetNode};
pub use names::{NameIndex, Named, TestSource, index};
pub use order::{order, unreached};
pub use targets::{Reached, reach};
pub use test_code::{TestCode, changed_test_code};
