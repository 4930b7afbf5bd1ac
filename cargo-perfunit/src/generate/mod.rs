//! Workloads for functions that no test executes: calls with arguments made up for them.
//!
//! Input: calls as source. Output: those that are workloads, each seen to run on both versions, and the functions without
//! one, each with its reason. A call is placed in the shadow tree only ([`place`]), and until it has passed its trial it runs
//! nowhere but in the cage ([`try_calls`]).

mod handed_over;
mod place;
mod sources;
mod store;
mod trial;

pub use handed_over::tests;
pub use place::{Placed, Placing, place, test_name};
pub use sources::{Sources, sources};
pub use store::{Store, key};
pub use trial::{Trials, try_calls};

/// For now, by hand.
pub struct CrateSources<'a> {
    pub files: &'a std::collections::BTreeMap<String, String>,
    pub root: &'a str,
    pub name: &'a str,
    pub features: &'a std::collections::BTreeSet<String>,
}

type Found = (Vec<crate::model::GeneratedCall>, Vec<(crate::model::Function, crate::model::NotGenerated)>);
pub fn calls(_: &CrateSources<'_>, wanted: &[crate::model::Function]) -> Found {
    let read = |path| serde_json::from_slice(&std::fs::read(path).ok()?).ok();
    let all: Vec<crate::model::GeneratedCall> = std::env::var_os("PERFUNIT_CALLS").and_then(read).unwrap_or_default();
    (all.into_iter().filter(|call| wanted.contains(&call.function)).collect(), Vec::new())
}
