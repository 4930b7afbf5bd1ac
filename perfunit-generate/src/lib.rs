//! Workloads for functions that no test executes: calls with arguments made up for them.
//!
//! Input: the sources of crates and the functions wanted. Output: calls as source ([`calls`]); of these, the ones that are
//! workloads ([`try_calls`]), and the functions without one, each with its reason. A call is placed in the shadow tree only
//! ([`place`]), and until it has passed its trial it runs nowhere but in the cage.

mod calls;
mod handed_over;
mod place;
mod sources;
mod store;
mod trial;

pub use calls::{CrateSources, calls};
pub use handed_over::written;
pub use place::{Placing, module_ends, place};
pub use sources::{Sources, sources};
pub use store::{Store, key};
pub use trial::{Trials, try_calls};
