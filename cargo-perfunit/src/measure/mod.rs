//! From test executables of both sides to pair estimates and verdicts.
//!
//! Input: [`Subject`]s, a [`Config`]. Output: one [`Ended`] per subject. The unit of replication is the *pair*: a fresh
//! process of each side on one core, alternating short batches (see `perfunit_runtime::page`). What the figures mean is
//! decided in `stats`; this module decides only when to stop asking for more. A [`Recorder`] hands out pairs without any
//! verdict.

mod bench;
mod classify;
mod layouts;
mod lockstep;
mod record;
mod schedule;
mod screen;
mod shared_page;

pub use bench::{Bench, Config};
pub use record::{RecordedPair, Recorder};
pub use schedule::{Ended, Figures, Subject, after_confirmation, measure_all};
