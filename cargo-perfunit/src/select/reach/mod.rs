//! What a change can reach: which targets, which tests first, and whether a test's own code is among what changed.
//!
//! Input: the workspace as a [`Graph`], the [`SourceDiff`](crate::select::source::SourceDiff), names as a [`NameIndex`]. Output:
//! targets with their causes ([`reach`]), tests in the order of their interest with reasons in words ([`order`]), and the
//! changed item of a test whose own code changed ([`changed_test_code`]).
//!
//! Invariants: no I/O. Reaching is decided too widely rather than too narrowly, because nothing later brings a target
//! back that was dropped here. Names decide about order and words only: they exclude no test of a reached target.

mod callers;
mod graph;
mod names;
mod order;
mod targets;
mod test_code;

pub use callers::Callers;
pub use graph::{Files, Graph, PackageNode, TargetNode};
pub use names::{NameIndex, Named, TestSource, index};
pub use order::{Rank, order};
pub use targets::{Cause, Reached, reach};
pub use test_code::{TestCode, changed_test_code};
