//! From call trees of both versions to the functions that are to blame.
//!
//! Input: of each pair of processes both sides' calling-context trees ([`Recorded`]), aggregated by the probes in them.
//! Output: the [`merged`](Merged) tree with the difference at each node, who is to [blame](blame), and what else changed
//! that can be behind it ([`causes`]). Beside it what Zhou and Li make of the trees of all tests of one version: the
//! [`ranking`], the [`forest`] and the [index](impact).
//!
//! Invariants: no I/O; the unit of replication is the pair, as everywhere; what the nodes and their blame add up to is the difference of
//! the whole test, nothing is lost on the way.

mod active;
mod assemble;
mod blame;
mod causes;
mod differences;
mod forest;
mod impact;
pub mod instructions;
mod merge;
mod ranking;
mod recorded;
mod renamed;
mod score;
mod spread;
mod usage;

pub use active::{Keys, all_calls, below, closer, first_level, ways_to};
pub use assemble::{Known, told};
pub use blame::{Charge, Charges, charges};
pub use causes::{Facts, Suspect, add_causes};
pub use differences::{Differences, NodeDifference, differences};
pub use forest::{Forest, ForestNode, forest};
pub use impact::{FunctionImpact, Impact, NoSuch, TestImpact, impact};
pub use merge::{Merged, MergedNode};
pub use ranking::{Ranked, ranking};
pub use recorded::{ROOT, Recorded, RecordedNode, THREADS};
pub use renamed::renamed;
pub use score::{Score, score};
pub use spread::Spread;
