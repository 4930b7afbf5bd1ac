//! The engine of `cargo perfunit`.
//!
//! The order of the modules is the pipeline: a module may use only modules above it (`tests/it/tidy.rs` checks it).

pub mod model;

pub mod error;

pub mod near;

pub mod date;

pub mod fs;

pub mod cache;

pub mod archive;

pub mod interrupt;

pub mod process;

pub mod term;

pub mod progress;

pub mod git;

pub mod hook;

pub mod ci;

pub mod workspace;

pub mod filterset;

pub mod config;

pub mod source;

pub mod impact;

pub mod shadow;

pub mod build;

pub mod binary;

pub mod execution;

pub mod layout;

pub mod stats;

pub mod explain;

pub mod measure;

pub mod doctor;

pub mod report;

pub mod pipeline;

pub mod calibrate;

pub mod manual;

pub mod commands;

pub mod cli;
