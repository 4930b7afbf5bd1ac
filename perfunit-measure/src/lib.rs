//! From test executables of both sides to pair estimates and verdicts.
//!
//! Input: [`Subject`]s, a [`Config`]. Output: one [`Ended`] per subject. The unit of replication is the *pair*: a fresh
//! process of each side on one core, alternating short batches (see `perfunit_runtime::page`). `perfunit-decide` judges one
//! series of pairs. The stages here collect such series and counts as `Evidence`, from which `verdict` alone decides on the
//! test. A [`Recorder`] hands out pairs without any verdict.

mod alone;
mod bench;
mod bound;
mod by_clock;
mod call_tree;
mod call_trees;
mod classify;
mod clock;
mod common_pages;
mod confirmation;
mod doubt;
mod failures;
mod first_calls;
mod fork_pilot;
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
mod verdict;
mod whole_process;
mod work;
mod work_by_length;
mod work_tables;

pub use bench::{Bench, Config, Metering, can_fix_addresses, usable_cores};
pub use call_tree::{ROOT, Recorded, RecordedNode, THREADS};
pub use call_trees::{CallTrees, ProbeRequest};
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
pub use verdict::verdicts_of_pairs;
pub use work_by_length::counted;
pub use work_tables::{CountedWork, WorkTables};
