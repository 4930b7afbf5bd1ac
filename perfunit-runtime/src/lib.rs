//! The part of cargo-perfunit that is linked into measured test executables.
//!
//! The crate uses only std (the feature `harness` is for other targets) and prints nothing. Without a request from the
//! tool, tests behave as if the crate were absent. With a request, a process serves one test: it runs the body in
//! batches, in lockstep with the process of the other version, and writes the times into a shared [`page`]. Functions
//! with probes record where the time went in a shared [`tree`]. With `--growth`, they record their work by length of
//! input in a shared [table](growth).
//!
//! Invariants: nothing allocates, locks or prints between the two clock readings of a batch; the crate defines no
//! global allocator and no exported symbol; a process that has served never returns into libtest.

#![warn(missing_docs)]

pub mod growth;
#[cfg(feature = "harness")]
#[path = "../harness/mod.rs"]
pub mod harness;
pub mod page;
pub mod preload_interface;
pub mod programs;
pub mod tree;

#[cfg(feature = "attributes")]
pub use perfunit_macros::{skip, threshold};

#[cfg(target_os = "linux")]
mod bench;
#[cfg(target_os = "linux")]
mod cage;
pub mod calibrate;
#[cfg(target_os = "linux")]
mod clock;
#[cfg(target_os = "linux")]
mod gauges;
#[cfg(target_os = "linux")]
mod generated_workload;
#[cfg(target_os = "linux")]
mod left_out;
#[cfg(target_os = "linux")]
mod maps;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod pages;
#[cfg(target_os = "linux")]
mod probe;
#[cfg(target_os = "linux")]
mod readings;
#[cfg(target_os = "linux")]
mod request;
#[cfg_attr(not(target_os = "linux"), path = "elsewhere.rs")]
mod serve;
#[cfg(target_os = "linux")]
mod streams;
#[cfg(target_os = "linux")]
mod sys;

/// Interface for generated code: `perfunit-macros` and the runner. Nothing else may rely on it.
#[doc(hidden)]
pub mod __private {
    /// Interface for stand-ins of benchmark harnesses.
    #[cfg(target_os = "linux")]
    pub mod bench {
        pub use crate::bench::{
            in_parts, is_wanted, is_wanted_if_ignored, run, timed_by_itself, untimed, works_through,
        };
        pub use crate::page::unit;
    }
    /// Interface for generated workloads.
    #[cfg(target_os = "linux")]
    pub mod generated {
        pub use crate::generated_workload::{executed, run, try_out, Printable, Unprintable, Value};
    }
    #[cfg(target_os = "linux")]
    pub use crate::probe::{probed, Guard, Site};
    #[cfg(target_os = "linux")]
    pub use crate::request::{request, Request};
    #[cfg(target_os = "linux")]
    pub use crate::serve::next_test;
    pub use crate::serve::serve_function;
    pub use core;
    pub use core::hint::black_box;

    use std::process::Termination;

    /// Runs the body of a captured test: once, or as a repeated workload if this process serves the tool.
    ///
    /// `marker` is never read here. It shows the tool in the executable that the macro captured the test.
    #[inline(never)]
    pub fn run<T: Termination>(marker: &'static str, body: fn() -> T) -> T {
        black_box(marker);
        crate::serve::take_over(body);
        let first = body();
        crate::serve::call_again(body);
        first
    }
}
