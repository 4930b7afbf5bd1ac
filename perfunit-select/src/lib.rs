//! Selects the tests that a change can affect, from the files of two versions to the code that each test executes.
//!
//! Input: two versions and the user's request. Output: first the targets to build ([`select`]); then, from the built
//! targets, the tests to measure and a reason for each other test ([`candidates`], [`leave_out_unexecuted`]).
//!
//! There are four steps, each on the result of the previous one: changed items of the source, the targets that they
//! reach, the machine code of each test, and the code that a run of it executes.

mod candidates;
pub mod code;
mod comparer;
mod coverage_gaps;
mod execution;
mod functions;
mod graph;
mod moves;
mod names;
pub mod reach;
mod rules;
mod scope;
mod selection_cache;
pub mod source;
mod target_code;
mod target_files;
mod target_selection;
mod test_inputs;
pub mod trace;
mod unused_filters;
mod without_tests;

pub use candidates::{Candidate, Candidates, candidates, not_measured};
pub use coverage_gaps::{CoverageGaps, LedTo, find_coverage_gaps, tests_hiding_code};
pub use execution::{Tracing, leave_out_unexecuted};
pub use functions::{changed_functions, functions};
pub use names::{Names, index_of_head};
pub use scope::{Filter, Scope, Wanted};
pub use selection_cache::file as selection_file;
pub use target_code::Units;
pub use target_selection::{TargetSelection, select};
pub use unused_filters::unused_filters;
