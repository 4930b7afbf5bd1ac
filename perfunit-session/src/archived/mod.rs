//! Archives: builds that are made on one machine and measured on others.
//!
//! An archive contains what `diff` would have stored: executables and link inputs of both versions in each pairing, the
//! results of comparing machine code and of tracing, and the recipes of the builds. A comparison with an archive runs
//! as usual and finds all its builds. A missing build is an error.

mod manifest;
mod unpack;

pub use manifest::{Archive, DISPATCHER, METER, PARTS, Recipe, SEEDS, note};
pub use unpack::{adopt, install};
