//! From instructions that callgrind counted to call trees like those that probes leave.
//!
//! Input: a [`Profile`] (who executed which instruction how often, and called whom), the executable's [`Inlining`], and
//! which source function each of its functions is ([`Owners`]). Output: a [`Recorded`](super::Recorded) tree in which
//! instructions stand where probes have nanoseconds.
//!
//! Invariants: no I/O; every instruction of the profile is in the tree once.
//!
//! [`Inlining`]: perfunit_select::code::Inlining

mod owners;
mod profile;
mod tree;

pub use owners::{Code, Owners, readable};
pub use profile::parse;
pub use tree::tree;
