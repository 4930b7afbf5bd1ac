//! The engine of `cargo perfunit`.
//!
//! The order of the modules is the pipeline: a module may use only modules above it (`tests/tidy.rs` checks it).

pub mod model;

pub mod error;

pub mod fs;
