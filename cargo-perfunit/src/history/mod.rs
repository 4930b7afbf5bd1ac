//! Several commits: what each changed ([`log`]), and which ones changed a test ([`bisect`]).
//!
//! Input: options of a comparison and a range. Both compare pairs of commits by [`session::compare`](perfunit_session),
//! one after the other, and keep each answer in a [`Store`]: what was found out once is not measured again, and an
//! interruption loses one comparison at most. Times of different comparisons are never compared; only ratios are.

mod asking;
mod bisect;
mod comparing;
mod course;
mod ends;
mod found;
mod function;
mod log;
mod progress;
mod ratchet;
#[cfg(test)]
mod samples;
mod search;
mod store;

pub use bisect::{BisectRequest, Steps, Subject, bisect};
pub use course::courses;
pub use log::{LogRequest, log, releases};
pub use progress::Progress;
pub use ratchet::Project;
pub use store::{Key, Store};
