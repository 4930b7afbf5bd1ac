//! The engine of `cargo perfunit`.
//!
//! The order of the modules is that of the data: a module may use only modules above it (`tests/it/tidy.rs` checks it).

pub mod model;

pub mod system;

pub mod git;

pub mod cargo;

pub mod config;

pub mod hook;

pub mod build;

pub mod select;

pub mod generate;

pub mod decide;

pub mod measure;

pub mod explain;

pub mod doctor;

pub mod report;

pub mod session;

pub mod history;

pub mod calibrate;

pub mod cli;
