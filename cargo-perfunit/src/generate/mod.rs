//! Workloads for functions that no test executes: calls with arguments made up for them.
//!
//! Input: calls as source. Output: those that are workloads, each seen to run on both versions, and the functions without
//! one, each with its reason. A call is placed in the shadow tree only ([`place`]), and until it has passed its trial it runs
//! nowhere but in the cage ([`try_calls`]).

mod place;
mod store;
mod handed_over;
mod trial;

pub use place::{Placed, Placing, place, test_name};
pub use store::{Store, key};
pub use handed_over::tests;
pub use trial::{Trials, try_calls};

/// For now, by hand.
pub fn calls() -> Vec<crate::model::GeneratedCall> {
    std::env::var_os("PERFUNIT_CALLS")
        .and_then(|path| serde_json::from_slice(&std::fs::read(path).ok()?).ok())
        .unwrap_or_default()
}
