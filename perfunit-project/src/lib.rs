//! The user's project: its versions, packages, toolchain and settings. This crate only reads them.

pub mod git;

pub mod cargo;

pub mod config;
