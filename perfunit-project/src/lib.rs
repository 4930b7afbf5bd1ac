//! The user's project: its versions, its packages and toolchain, and its settings. Everything here only reads.

pub mod git;

pub mod cargo;

pub mod config;
