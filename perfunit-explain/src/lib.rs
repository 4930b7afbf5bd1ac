//! Which functions are responsible for a difference, and what else changed that can be behind it.
//!
//! Input: tests that were measured ([`Question`]) and the pairing that they were measured in ([`Inquiry`]). Output: for each
//! an explanation, or why there is none ([`explain`]). What was measured is run in callgrind; where instructions
//! do not account for the time, the pairing is built once more, with a probe in each function. Of each pair of processes both
//! sides' calling-context trees ([`Recorded`](perfunit_measure::Recorded)) become one [`merged`](Merged) tree with the difference at each node, the
//! [responsible functions](attribute) and the [`causes`]. Apart from that what Zhou and Li make of the trees of all tests of one
//! version: the [`ranking`], the [`forest`] and the [index](impact).
//!
//! Invariants: the unit of replication is the pair, as everywhere; what the nodes and what is attributed add up to is the
//! difference of the whole test, nothing is lost on the way.

mod answers;
mod assemble;
mod attribute;
mod by_instructions;
mod by_probes;
mod causes;
mod growth;
mod hot_spots;
pub mod instructions;
mod merge;
mod probe_cost;
mod question;

pub use answers::{explain, explain_outcomes};
pub use attribute::{attribute, differences};
pub use by_instructions::check;
pub use growth::{growth, parameters};
pub use hot_spots::{ends_with, forest, impact, is_named, ranking};
pub use merge::{Merged, renamed};
pub use question::{Answers, Explaining, Goal, Inquiry, Question};
