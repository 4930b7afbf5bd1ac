//! Tests in the same target as benchmarks: listed and served as by our runner, and run where a program starts itself.

use crate::{ShouldPanic, StaticTestFn, StaticTestName, TestDescAndFn};
use perfunit_runtime::__private::serve_function;
use std::fmt::Write;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;
use std::process::exit;

/// Exit code of libtest if tests fail.
const FAILED: i32 = 101;

/// Writes one line per test: name, ignored, should_panic, file, line, separated by tabs.
pub fn list(path: &Path, tests: &[&TestDescAndFn]) {
    let mut lines = String::new();
    for TestDescAndFn { desc, testfn } in tests.iter().copied() {
        let (StaticTestName(name), StaticTestFn(_)) = (&desc.name, testfn) else { continue };
        let (ignored, panics) = (desc.ignore, should_panic(&desc.should_panic));
        let line = writeln!(lines, "{name}\t{ignored}\t{panics}\t{}\t{}", desc.source_file, desc.start_line);
        line.expect("writing to a string cannot fail");
    }
    if std::fs::write(path, lines).is_err() {
        exit(2);
    }
}

pub fn serve(wanted: &str, tests: &[&TestDescAndFn]) {
    for TestDescAndFn { desc, testfn } in tests.iter().copied() {
        if let (StaticTestName(name), StaticTestFn(function)) = (&desc.name, testfn) {
            if *name == wanted {
                serve_function(name, should_panic(&desc.should_panic), *function);
            }
        }
    }
    exit(2);
}

/// Runs the tests that libtest would run with these arguments, in this thread and without output.
pub fn run(tests: &[&TestDescAndFn]) {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |wanted: &str| arguments.iter().any(|argument| argument == wanted);
    let names: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let mut passed = true;
    for TestDescAndFn { desc, testfn } in tests.iter().copied() {
        let (StaticTestName(name), StaticTestFn(function)) = (&desc.name, testfn) else { continue };
        let is = |wanted: &&String| if has("--exact") { wanted.as_str() == *name } else { name.contains(wanted.as_str()) };
        let is_named = names.is_empty() || names.iter().any(is);
        let is_meant = has("--include-ignored") || desc.ignore == has("--ignored");
        if is_named && is_meant {
            passed &= match catch_unwind(AssertUnwindSafe(function)) {
                Ok(result) => result.is_ok() && !should_panic(&desc.should_panic),
                Err(_) => should_panic(&desc.should_panic),
            };
        }
    }
    if !passed {
        exit(FAILED);
    }
}

fn should_panic(what: &ShouldPanic) -> bool {
    !matches!(what, ShouldPanic::No)
}
