//! Workloads for functions that no test executes: calls with arguments made up for them.
//!
//! Input: the sources of a crate and the functions wanted. Output: [`GeneratedCall`](crate::model::GeneratedCall)s, and the
//! functions without one, each with its reason.

mod calls;

pub use calls::{CrateSources, calls};
