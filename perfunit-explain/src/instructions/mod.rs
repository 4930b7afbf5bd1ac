//! Builds call trees, like those of probes, from callgrind's counts of instructions.
//!
//! Input: a [`Profile`] (executed instructions and calls by function), the executable's [`Inlining`], and the source
//! function of each of its functions ([`Owners`]). Output: a [`Recorded`](super::Recorded) tree with instructions
//! instead of nanoseconds.
//!
//! Invariants: no I/O; every instruction of the profile is in the tree once.
//!
//! [`Inlining`]: perfunit_select::code::Inlining

mod owners;
mod profile;
mod tree;

pub use owners::{Code, Owners, readable};
pub use profile::{Event, Profile, objects, parse};
pub use tree::{Top, tree};
