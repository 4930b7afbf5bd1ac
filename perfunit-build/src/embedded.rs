//! Sources of runtime and macros, embedded in the executable so that they can be built with any toolchain.

/// A file of an embedded crate: path inside the crate, and content.
pub type EmbeddedFile = (&'static str, &'static str);

macro_rules! embed {
    ($folder:literal: $($file:literal),* $(,)?) => {
        &[$(($file, include_str!(concat!("../embedded/", $folder, "/", $file)))),*]
    };
}

/// `perfunit-runtime`, built by plain rustc.
pub const RUNTIME: &[EmbeddedFile] = embed!(
    "runtime": "lib.rs", "bench.rs", "cage.rs", "page.rs", "calibrate.rs", "clock.rs", "elsewhere.rs", "gauges.rs", "generated_workload.rs", "growth.rs", "left_out.rs", "maps.rs", "memory.rs", "pages.rs", "preload_interface.rs", "programs.rs", "readings.rs", "request.rs",
    "serve.rs", "serve/batch.rs", "serve/begin.rs", "serve/fork_server.rs", "serve/first_calls.rs", "serve/pilot.rs", "serve/repeated_calls.rs", "serve/seat.rs", "serve/untimed_part.rs", "streams.rs", "sys.rs", "tree.rs",
    "probe/mod.rs", "probe/activation.rs", "probe/arena.rs", "probe/batch.rs", "probe/cost.rs", "probe/future.rs", "probe/home.rs", "probe/lookup.rs", "probe/place.rs", "probe/process.rs",
    "probe/site.rs", "probe/ticks.rs"
);

/// The test runner, built by plain rustc with `RUSTC_BOOTSTRAP=1`.
pub const RUNNER: &[EmbeddedFile] = embed!("runner": "lib.rs");

/// The counter of function work, built by plain rustc.
pub const GROWTH: &[EmbeddedFile] = embed!("growth": "lib.rs", "counter.rs", "length.rs", "site.rs");

/// A stand-in crate for a benchmark harness, built by plain rustc: name and sources.
pub type StandIn = (&'static str, &'static [EmbeddedFile]);

pub const STAND_INS: [StandIn; 3] = [(CRITERION_NAME, CRITERION), ("divan", DIVAN), (LIBTEST, TEST)];

pub const CRITERION_NAME: &str = "criterion";
/// Crate of the built-in harness.
pub const LIBTEST: &str = "test";

const CRITERION: &[EmbeddedFile] = embed!(
    "stand-ins/criterion": "lib.rs", "async_bencher.rs", "async_executor.rs", "batches.rs", "bencher.rs", "group.rs", "id.rs", "measurement.rs", "options.rs", "profiler.rs"
);

const DIVAN: &[EmbeddedFile] =
    embed!("stand-ins/divan": "lib.rs", "alloc.rs", "bencher.rs", "counter.rs", "private.rs");

const TEST: &[EmbeddedFile] = embed!("stand-ins/test": "lib.rs", "tests.rs");

/// The library that gives both processes of a pair the same random numbers and reported cores, and with its feature
/// the same clock readings. Built by plain rustc.
pub const SEEDS: &[EmbeddedFile] =
    embed!("seeds": "lib.rs", "clock.rs", "kernel.rs", "libc.rs", "preload_interface.rs", "programs.rs", "waits.rs");

/// The library that counts allocations, built by plain rustc.
pub const METER: &[EmbeddedFile] = embed!("meter": "lib.rs", "preload_interface.rs");

/// The program that stands in for the packages' binaries, built by plain rustc.
pub const DISPATCHER: &[EmbeddedFile] = embed!("dispatcher": "lib.rs", "kernel.rs", "programs.rs");

/// `perfunit-macros`, built by cargo because it depends on syn.
pub const MACROS: &[EmbeddedFile] = embed!(
    "macros": "lib.rs", "attributes.rs", "body.rs", "divan_attr.rs", "function_path.rs", "paths.rs", "probe_attr.rs", "splice.rs", "test_attr.rs", "opaque/constant.rs",
    "opaque/known_macros.rs", "opaque/message.rs", "opaque/mod.rs", "opaque/visit.rs"
);

/// Our own lock file, so that the macros are built with tested dependency versions. Cargo drops unused entries.
pub const LOCK_FILE: &str = include_str!("../embedded/Cargo.lock");

/// Manifest for building the macros.
pub const MACROS_MANIFEST: &str = r#"[package]
name = "perfunit-macros"
version = "0.1.0"
edition = "2021"

[lib]
proc-macro = true

[dependencies]
proc-macro2 = "1"
quote = "1"
syn = { version = "3", features = ["full", "visit-mut"] }

# Half the time of the default, and expansion is no slower.
[profile.release]
opt-level = 1

[workspace]
"#;
