//! What is in an archive: builds that are made on one machine and measured on others.
//!
//! An archive holds what `diff` would have kept: executables and link inputs of both versions in each pairing, what
//! machine code and tracing said about them, and how the builds came about. Where it is used a comparison runs as ever,
//! and finds all that it would have built; what it does not find is an error and never a build.

mod manifest;
mod take;

pub use manifest::{Archive, DISPATCHER, METER, PARTS, Recipe, SEEDS, note};
pub use take::{adopt, install};
