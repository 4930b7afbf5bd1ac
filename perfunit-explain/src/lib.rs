//! Explanations of differences: the responsible functions, and other changes that may be the cause.
//!
//! Input: measured tests ([`Question`]) and their pairing ([`Inquiry`]). Output: for each test an explanation, or the
//! reason why there is none ([`explain`]). The measured executables run in callgrind; where instructions do not account
//! for the time, the pairing is built again with a probe in each function. The calling-context trees of both sides
//! ([`Recorded`](perfunit_measure::Recorded)), of all pairs of processes, become one merged tree with the
//! difference at each node, the responsible functions and the [`causes`].
//!
//! The crate also has the analyses of Zhou and Li over the trees of all tests of one version: the [`ranking`], the
//! [`forest`] and the [index](impact).
//!
//! Invariants: the pair is the unit of replication; nodes and attributed parts each add up to the difference of the
//! whole test.

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
pub use by_instructions::check;
pub use growth::{growth, parameters};
pub use hot_spots::{forest, impact, ranking};
pub use question::{Answers, Explaining, Goal, Inquiry, Question};
