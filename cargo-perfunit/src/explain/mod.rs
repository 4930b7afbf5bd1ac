//! From call trees of both versions to the functions that are to blame.
//!
//! Input: of each pair of processes both sides' calling-context trees ([`Recorded`]), aggregated by the probes in them.
//! Output: the [`merged`](Merged) tree with the difference at each node, and who is to [blame](blame). Beside it the
//! ranking of Zhou and Li ([`score`]).
//!
//! Invariants: no I/O; the unit of replication is the pair, as everywhere; what the nodes and their blame add up to is the difference of
//! the whole test, nothing is lost on the way.

mod active;
mod blame;
mod differences;
pub mod instructions;
mod merge;
mod recorded;
mod score;
mod told;

pub use active::{Keys, all_calls, below, closer, first_level, ways_to};
pub use blame::{Charge, Charges, charges};
pub use differences::{Differences, NodeDifference, differences};
pub use merge::{Merged, MergedNode};
pub use recorded::{ROOT, Recorded, RecordedNode, THREADS};
pub use score::{Score, score};
pub use told::{Known, told};
