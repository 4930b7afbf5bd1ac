//! What a change can reach: which targets, which tests first, and whether a test's own code is among what changed.
//!
//! Input: the workspace as a [`Graph`], the [`SourceDiff`](crate::source::SourceDiff), names as a [`NameIndex`]. Output:
//! targets with what reaches them ([`reach`]), tests in the order of their interest with what is nearest to them ([`order`]), and the
//! changed item of a test whose own code changed ([`changed_test_code`]).
//!
//! Invariants: no I/O. Reaching is decided too widely rather than too narrowly, because nothing later brings a target
//! back that was dropped here. Names decide about the order only: they exclude no test of a reached target.

mod callers;
mod graph;
mod names;
mod order;
mod targets;
mod test_code;

pub use callers::Callers;
pub use graph::{External, Files, Graph, PackageNode, Refeatured, TargetNode};
pub use names::{NameIndex, Named, TestSource, index};
pub use order::order;
pub use targets::{Reached, reach};
pub use test_code::{TestCode, changed_test_code};
