//! Tests that cannot run on this machine.

use std::io::{Write as _, stderr};

/// Reports that the current test, or a part of it, is skipped. `.ci/run` lists these lines in its summary.
///
/// Writes around the test harness, which drops the output of passing tests.
pub fn skipped(why: &str) {
    let thread = std::thread::current();
    // A single write, so that lines of parallel tests stay whole.
    let line = format!("skipped: {}: {why}\n", thread.name().unwrap_or("?"));
    stderr().write_all(line.as_bytes()).unwrap();
}
