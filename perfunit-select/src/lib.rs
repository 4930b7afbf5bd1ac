//! Which tests a change can reach: from the files of both versions to what of each test's code differs, and is executed.
//!
//! Input: two versions and what the user wants. Output: first the targets to build ([`select`]); then, of these as they
//! were built, the tests to measure, each of the others with its reason ([`candidates`], [`leave_out_unexecuted`]).
//!
//! Four steps, each on what the one before leaves: changed items of the source, the targets that they reach, the machine
//! code of each test, and what a run of it executes.

mod candidates;
mod changed_functions;
pub mod code;
mod comparer;
mod data;
mod executed;
mod functions;
mod graph;
mod included;
mod moves;
mod names;
mod on_request;
mod other_inputs;
pub mod reach;
mod read_sources;
mod rules;
mod scope;
mod selected;
mod selection_cache;
pub mod source;
mod target_code;
mod target_files;
pub mod trace;
mod uncovered;
mod units;
mod unused_filters;
mod wanted;
mod without_tests;

pub use candidates::{Candidate, Candidates, candidates, not_measured};
pub use changed_functions::changed_functions;
pub use executed::{Tracing, leave_out_unexecuted};
pub use functions::functions;
pub use names::Names;
pub use selected::{Selected, select};
pub use selection_cache::file as selection_file;
pub use uncovered::{LedTo, Unseen, hidden, unseen};
pub use units::Units;
pub use unused_filters::unused_filters;
pub use wanted::{Filter, Scope, Wanted};
