//! Which tests a change can reach: from the files of both versions to what of each test's code differs, and is executed.
//!
//! Four steps, each on what the one before leaves: changed items of the source, the targets that they reach, the machine
//! code of each test, and what a run of it executes.

pub mod code;
pub mod reach;
pub mod source;
pub mod trace;
mod units;

pub use units::Units;
