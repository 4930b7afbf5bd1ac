//! From test executables of both sides to pair estimates and verdicts.
//!
//! Input: [`Subject`]s, a [`Config`]. Output: one [`Ended`] per subject. The unit of replication is the *pair*: a fresh
//! process of each side on one core, alternating short batches (see `perfunit_runtime::page`). What the figures mean is
//! decided in `decide`; this module decides only when to stop asking for more. A [`Recorder`] hands out pairs without any
//! verdict.

mod accepted;
mod alone;
mod bench;
mod bound;
mod by_clock;
mod call_tree;
mod call_trees;
mod classify;
mod clock;
mod common_pages;
mod confirm;
mod confirmed;
mod doubt;
mod failures;
mod first_calls;
mod fork_pilot;
mod gates;
mod gauge;
mod inheritance;
pub mod kernel;
pub mod layout;
mod layouts;
mod lockstep;
mod measurement;
mod meter;
mod noise;
mod options;
mod pairs;
mod probed;
mod process_pair;
mod profiled;
mod quiet;
mod record;
mod running;
mod schedule;
mod screen;
mod secondary_metrics;
mod settled;
mod shared_page;
pub mod spin;
mod subject;
mod trial;
mod unsteady;
mod whole_process;
mod work;
mod work_by_length;
mod work_tables;

pub use accepted::relative_to_base;
pub use bench::{Bench, Config, Metering, can_fix_addresses, usable_cores};
pub use call_tree::{ROOT, Recorded, RecordedNode, THREADS};
pub use call_trees::{CallTrees, ProbeRequest};
pub use confirmed::verdicts_of_pairs;
pub use gates::{cross_check, gate};
pub use gauge::{Gauges, find_valgrind};
pub use layouts::Layouts;
pub use meter::no_counter;
pub use options::Measuring;
pub use probed::ProbedPairs;
pub use profiled::{CALLS_PER_PROCESS, profiles};
pub use quiet::quietest;
pub use record::{RecordedPair, Recorder};
pub use schedule::{AllEnded, measure_all};
pub use subject::{Ended, Figures, Observer, Subject};
pub use work_by_length::counted;
pub use work_tables::{CountedWork, WorkTables};
