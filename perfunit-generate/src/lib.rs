//! Generated workloads for functions that no test executes: calls with generated arguments.
//!
//! Input: the sources of crates and the wanted functions. Output: calls as source ([`calls`]), those that are workloads
//! ([`try_calls`]), and the functions without a workload, each with its reason. A call is placed only in the shadow
//! tree ([`place`]), and runs only in the cage until it has passed its trial.

mod calls;
mod place;
mod plain_tests;
mod sources;
mod store;
mod trial;

pub use calls::{CrateSources, calls};
pub use place::{Placing, module_ends, place};
pub use plain_tests::write_plain_tests;
pub use sources::{Sources, sources};
pub use store::{Store, key};
pub use trial::{Trials, try_calls};
