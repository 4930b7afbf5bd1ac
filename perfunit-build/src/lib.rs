//! Builds test executables that serve our protocol from a shadow tree.
//!
//! Input: a tree with the files of one side, the toolchain, and the options of the command line. Output: [`SideBuild`],
//! with the executables copied into a folder of that side, each with the environment that cargo would give it.
//! Invariants: no manifest or lock file is edited; everything that changes the machine code is part of the wrapper's
//! path; a side is not built twice.

mod benches;
mod blame;
mod builder;
mod built_sides;
mod bytes;
mod capture_role;
mod cargo_layout;
mod cargo_output;
mod compiled_files;
mod configuration;
mod dispatcher;
mod doctests;
mod embedded;
mod fingerprint;
mod full_disk;
mod in_place;
mod inputs;
mod invoke;
mod key;
mod link;
mod listing;
mod lto;
mod out_dir_files;
mod own_harness;
mod own_runtime;
mod pairing;
mod prepare;
mod request;
mod rustc_call;
mod rustc_role;
mod sample;
mod seeds;
pub mod shadow;
mod side_build;
mod toolchain;
mod undeclared_inputs;
mod unify;
mod workloads;
mod wrapper;

pub use builder::{Attempt, Both, Builder, Job, Next, Place};
pub use built_sides::BuiltSides;
pub use bytes::contains;
pub use capture_role::{RUNNER_ARGUMENT, capture};
pub use compiled_files::{Compilation, CompiledFiles};
pub use dispatcher::{NoDispatcher, SIDE_VARIABLE};
pub use doctests::{RUSTDOC_NAME, rustdoc};
pub use in_place::InPlace;
pub use inputs::{EXECUTABLES, Inputs, Library, Loaded};
pub use invoke::BuildFailure;
pub use key::{with_code_settings, with_resolution_settings};
pub use link::{
    ALIGNMENT, Dialect, Extra, Freed, LinkRecord, Linker, Linkers, Position, Relink, can_decode, code_unit, free,
    is_link, link, relink, relink_with_debug_information,
};
pub use listing::{GENERATED_MARKER, ListedTest};
pub use out_dir_files::OutDirFiles;
pub use pairing::{Pairing, TestCode};
pub use prepare::{StepResult, Version as PreparedVersion};
pub use request::Options;
pub use rustc_role::wrap;
pub use sample::{Sample, build_sample};
pub use seeds::{CLOCK_LIBRARY, Seed, Seeds, TestClock, is_dynamic, is_loadable};
pub use side_build::{SideBuild, TestExecutable, share_libraries, side_of, stand_in, stand_in_of, stand_ins_beside};
pub use toolchain::{Variant, parts_key};
pub use undeclared_inputs::{names_file, vendored_folders};
pub use workloads::list_tests;
pub use wrapper::{Inlining, Probes, WRAPPER_NAME};
