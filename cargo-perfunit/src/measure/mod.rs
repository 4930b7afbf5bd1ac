//! From test executables of both sides to pair estimates and verdicts.
//!
//! Input: [`Subject`]s, a [`Config`]. Output: one [`Ended`] per subject. The unit of replication is the *pair*: a fresh
//! process of each side on one core, alternating short batches (see `perfunit_runtime::page`). What the figures mean is
//! decided in `stats`; this module decides only when to stop asking for more.

mod bench;
mod classify;
mod layouts;
mod lockstep;
mod schedule;
mod screen;
mod seeds;
mod shared_page;
mod work;

pub use bench::{Bench, Config, Placement};
pub use schedule::{AllEnded, Ended, Figures, Subject, measure_all};
pub use seeds::Seeds;
