//! Several commits: the changes of each ([`log`]), and the commits that changed a test ([`bisect`]).
//!
//! Input: options of a comparison and a range. Both compare pairs of commits by [`session::compare`](perfunit_session),
//! one after the other, and store each result in a [`Store`]. Stored results are not measured again, and an
//! interruption loses at most one comparison. Times of different comparisons are never compared, only ratios.

mod bisect;
mod commit_comparer;
mod course;
mod ends;
mod function;
mod log;
mod progress;
mod ratchet;
#[cfg(test)]
mod samples;
mod search;
mod step_details;
mod store;
mod test_comparer;

pub use bisect::{BisectRequest, Steps, Subject, bisect};
pub use course::courses;
pub use log::{LogRequest, log, releases};
pub use progress::Progress;
pub use ratchet::Project;
pub use store::{Key, Store};
