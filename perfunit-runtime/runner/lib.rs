//! The test runner that rustc calls instead of libtest's main function. It is a separate crate because `test` is
//! unstable: the tool compiles it with `RUSTC_BOOTSTRAP=1`. Without a request from the tool, libtest runs the tests.

#![feature(test)]

extern crate perfunit_runtime;
extern crate test;

use perfunit_runtime::__private::{next_test, request, serve_function, Request};
use std::fmt::Write;
use std::path::Path;
use test::{ShouldPanic, TestDescAndFn, TestFn};

/// Entry point named by `#![test_runner(::perfunit_runner::main)]`.
pub fn main(tests: &[&TestDescAndFn]) {
    match request() {
        None => libtest(tests),
        Some(Request::List(path)) => list(&path, tests),
        Some(Request::Serve { test }) => serve(&test, tests),
        Some(Request::ForkServer) => serve(&next_test(), tests),
    }
}

#[cfg(panic = "unwind")]
fn libtest(tests: &[&TestDescAndFn]) {
    test::test_main_static(tests);
}

#[cfg(not(panic = "unwind"))]
fn libtest(tests: &[&TestDescAndFn]) {
    test::test_main_static_abort(tests);
}

/// Writes one line per test: name, ignored, should_panic, file, line, and `bench` for a benchmark, separated by tabs.
fn list(path: &Path, tests: &[&TestDescAndFn]) {
    let mut lines = String::new();
    for test in tests {
        let desc = &test.desc;
        let panics = !matches!(desc.should_panic, ShouldPanic::No);
        let bench = if matches!(test.testfn, TestFn::StaticBenchFn(_)) { "\tbench" } else { "" };
        let (name, ignored, file, from) = (&desc.name, desc.ignore, desc.source_file, desc.start_line);
        let line = writeln!(lines, "{name}\t{ignored}\t{panics}\t{file}\t{from}{bench}");
        line.expect("writing to a string cannot fail");
    }
    if let Err(error) = std::fs::write(path, lines) {
        eprintln!("cannot write {}: {error}", path.display());
        std::process::exit(2);
    }
}

fn serve(name: &str, tests: &[&TestDescAndFn]) {
    for test in tests {
        if test.desc.name.as_slice() == name {
            if let TestFn::StaticTestFn(function) = test.testfn {
                serve_function(name, !matches!(test.desc.should_panic, ShouldPanic::No), function);
            }
        }
    }
    eprintln!("no test named {name}");
    std::process::exit(2);
}
