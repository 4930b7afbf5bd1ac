//! The command line of `cargo perfunit`: what is typed, what runs, and which exit code follows.
//!
//! The order of the modules is that of the data: a module uses only modules above it (`tests/it/tidy.rs` checks it). The
//! stages of a comparison are crates of their own, from `perfunit-model` to `perfunit-report`.

pub mod hook;

pub mod doctor;

pub mod history;

pub mod calibrate;

pub mod cli;
