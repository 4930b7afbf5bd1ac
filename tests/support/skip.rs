//! Tests that this machine cannot run.

use std::io::{Write as _, stderr};

/// Reports that the current test, or a part of it, is skipped. `.ci/run` lists these lines in its summary.
///
/// Writes past the test harness, which drops what passing tests print.
pub fn skipped(why: &str) {
    let thread = std::thread::current();
    // In one write, so that lines of tests at the same time stay whole.
    let line = format!("skipped: {}: {why}\n", thread.name().unwrap_or("?"));
    stderr().write_all(line.as_bytes()).unwrap();
}
