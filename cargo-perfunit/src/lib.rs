//! The command line of `cargo perfunit`: parses arguments, runs subcommands and returns exit codes.
//!
//! Modules are in the order of the data: a module uses only modules above it (`tests/it/tidy.rs` checks this). The
//! stages of a comparison are separate crates, from `perfunit-model` to `perfunit-report`.

pub mod hook;

pub mod doctor;

pub mod history;

pub mod calibrate;

pub mod cli;
