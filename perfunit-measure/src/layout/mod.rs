//! Matched layouts: both versions linked again such that equal code lies at equal addresses.
//!
//! Input: the link inputs of both executables of a target. Output: the two executables linked again, with functions in one
//! common order and sections at common addresses. Of changed functions the equal loops lie at equal addresses too, as far as
//! one shift achieves that. All statements about the result are read from the result.
//!
//! The same machine code takes a different time at other addresses, by several percent, and repetition does not show
//! that. With matched layouts placement has the same effect on both versions, and cancels.
//!
//! The pieces: an [`Image`] holds an executable's functions; blocks are functions of both versions that belong together;
//! an *anchor* is the shift that places a changed function's loops at the addresses of the other version's; a plan is an
//! order of blocks with gaps between them, which a linker takes as a list or as a script; data that prevents equal
//! addresses *leaves* for a separate section. Everything except [`MatchedLayout`] is pure.

mod blocks;
mod data;
mod image;
mod linker_input;
mod loops;
mod matching;
mod plan;

pub use blocks::Unplaced;
pub use matching::{MatchedLayout, Natural, try_layout};

/// The section of the executable that holds the functions ordered by GNU ld.
const ORDERED: &str = ".text.perfunit";
/// The size of a cache line, bytes. The position at which code begins in a line decides how it is fetched.
const LINE: u64 = 64;
