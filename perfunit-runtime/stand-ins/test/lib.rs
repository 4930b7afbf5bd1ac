//! Stand-in for the toolchain's crate `test` in targets with the built-in harness and benchmarks. It has the items to
//! which the compiler expands `#[bench]` and `#[test]`, but cargo-perfunit measures the body of a benchmark. In bench
//! targets only benchmarks run; their tests are served as by our runner.

extern crate perfunit_runtime;

mod tests;

use perfunit_runtime::__private::{bench, next_test, request, Request};
use std::cell::RefCell;
use std::process::{ExitCode, Termination};

pub use std::hint::black_box;
pub use TestFn::{StaticBenchFn, StaticTestFn};
pub use TestName::StaticTestName;

pub struct TestDescAndFn {
    pub desc: TestDesc,
    pub testfn: TestFn,
}

pub struct TestDesc {
    pub name: TestName,
    pub ignore: bool,
    pub ignore_message: Option<&'static str>,
    pub source_file: &'static str,
    pub start_line: usize,
    pub start_col: usize,
    pub end_line: usize,
    pub end_col: usize,
    pub compile_fail: bool,
    pub no_run: bool,
    pub should_panic: ShouldPanic,
    pub test_type: TestType,
}

pub enum TestName {
    StaticTestName(&'static str),
}

pub enum ShouldPanic {
    No,
    Yes,
    YesWithMessage(&'static str),
}

pub enum TestType {
    UnitTest,
    IntegrationTest,
    DocTest,
    Unknown,
}

pub enum TestFn {
    StaticTestFn(fn() -> Result<(), Failed>),
    StaticBenchFn(fn(&mut Bencher) -> Result<(), Failed>),
}

#[derive(Clone, Default)]
pub struct Bencher {
    pub bytes: u64,
}

impl Bencher {
    #[inline(never)]
    pub fn iter<T, F: FnMut() -> T>(&mut self, inner: F) {
        if self.bytes > 0 {
            bench::works_through(bench::unit::BYTES, self.bytes);
        }
        let inner = RefCell::new(inner);
        bench::run(&|runs| {
            let inner = &mut *inner.borrow_mut();
            for _ in 0..runs {
                black_box(inner());
            }
            true
        });
    }
}

/// Error of a benchmark that returned an error.
pub struct Failed;

pub fn assert_test_result<T: Termination>(result: T) -> Result<(), Failed> {
    let is_success = format!("{:?}", result.report()) == format!("{:?}", ExitCode::SUCCESS);
    if is_success {
        Ok(())
    } else {
        Err(Failed)
    }
}

/// Argument by which cargo runs a program's benchmarks.
const BENCH: &str = "--bench";

/// Runs the benchmarks of the program, or its tests.
pub fn test_main_static(tests: &[&TestDescAndFn]) {
    let is_bench = std::env::args().any(|argument| argument == BENCH);
    match request() {
        _ if is_bench => benches(tests),
        Some(Request::List(path)) => tests::list(&path, tests),
        Some(Request::Serve { test }) => tests::serve(&test, tests),
        Some(Request::ForkServer) => tests::serve(&next_test(), tests),
        None => tests::run(tests),
    }
}

fn benches(tests: &[&TestDescAndFn]) {
    for TestDescAndFn { desc, testfn } in tests.iter().copied() {
        let (StaticTestName(name), StaticBenchFn(function)) = (&desc.name, testfn) else { continue };
        let is_wanted = if desc.ignore { bench::is_wanted_if_ignored(name) } else { bench::is_wanted(name) };
        if is_wanted && function(&mut Bencher::default()).is_err() {
            std::process::exit(1);
        }
    }
}

pub fn test_main_static_abort(tests: &[&TestDescAndFn]) {
    test_main_static(tests);
}
