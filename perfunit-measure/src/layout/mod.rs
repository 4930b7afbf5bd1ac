//! Matched layouts: both versions linked again such that code which is the same lies at the same addresses.
//!
//! Input: what both executables of a target were linked from. Output: the two executables again, functions in one
//! common order, sections at common addresses; of functions that changed, the loops that are the same at the same
//! addresses as well, as far as one shift can do that. What is said of the result is read from the result.
//!
//! The same machine code at other addresses takes another time, by several percent, and no repetition shows it. With
//! matched layouts what the place does to the time it does to both versions alike, and cancels.
//!
//! The pieces: an [`Image`] is what an executable tells of its functions; blocks are functions of both versions that
//! belong together; an *anchor* is the shift that puts a changed function's loops where the others are; a plan is an
//! order of blocks with gaps between them, which a linker takes as a list or as a script; of data, what stands in the way of equal addresses *leaves* for a section of its own. Invariants: all but [`Matched`] is pure; nothing here decides what a figure
//! means.

mod anchor;
mod blocks;
mod data;
mod gaps;
mod image;
mod loops;
mod matched;
mod plan;
mod script;

pub use blocks::Unplaced;
pub use matched::{Matched, Natural, try_layout};

/// The section of the executable that holds the functions that GNU ld has put in order.
const ORDERED: &str = ".text.perfunit";
/// Bytes of a cache line; where code begins in one decides how it is fetched.
const LINE: u64 = 64;
