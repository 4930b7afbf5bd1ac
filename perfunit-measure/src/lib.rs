//! Measures test executables of both sides: from pair estimates to verdicts.
//!
//! Input: [`Subject`]s, a [`Config`]. Output: one [`Ended`] per subject. The unit of replication is the *pair*: a fresh
//! process of each side on one core, alternating short batches (see `perfunit_runtime::page`). `perfunit-decide` judges
//! one series of pairs. The stages here collect such series and counts as `Evidence`, from which `verdict` alone decides
//! on the test. A [`Recorder`] returns pairs without any verdict.

mod at_once;
mod bench;
mod by_clock;
mod call_trees;
mod classify;
mod column;
mod confirmation;
pub mod cores;
mod doubt;
mod extra_time;
mod first_calls;
mod fork_servers;
mod gauge;
mod idle;
mod instrumentation;
pub mod kernel;
pub mod layout;
mod layouts;
mod loaded_part;
mod lockstep;
mod measured_process;
mod measurement;
mod meter;
mod noise;
mod options;
mod over_tests;
mod pair;
mod pilot;
mod pool;
mod process_pair;
mod program_files;
mod programs;
mod recorder;
mod schedule;
mod secondary_metrics;
mod shared_memory;
mod single_calls;
mod starts;
mod subject;
mod system_calls;
mod trial;
mod verdict;
mod waiting_time;
mod whole_process;
mod work;
mod work_tables;

pub use bench::{Bench, Config, Metering, can_fix_addresses, usable_cores};
pub use call_trees::{CallTrees, ProbeRequest, ROOT, Recorded, RecordedNode, THREADS};
pub use cores::quietest;
pub use gauge::{Gauge, Gauges, LONGEST_WITH_PROGRAMS, find_valgrind};
pub use instrumentation::{CallProfiles, ProbedPairs, calls_per_process, count_work, profiles};
pub use layouts::Layouts;
pub use meter::no_counter;
pub use options::Measuring;
pub use over_tests::programs_over_tests;
pub use recorder::{RecordedPair, Recorder};
pub use schedule::{AllEnded, measure_all};
pub use subject::{Ended, Figures, Observer, Subject};
pub use verdict::verdicts_of_pairs;
pub use work_tables::{CountedWork, WorkTables};
