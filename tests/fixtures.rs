//! Sweeps `tests/fixtures` and `examples`: each case is one test. Names on the command line filter cases, as with
//! libtest.
//!
//! `PERFUNIT_TEST_REPEAT=10` runs the tool ten times on each case with a single build, and requires the same result
//! every time.

mod support;

use libtest_mimic::{Arguments, Failed, Trial};
use std::num::NonZeroUsize;
use support::Case;

fn main() {
    let mut arguments = Arguments::from_args();
    // Cases measure. Two at a time disturb each other no more than another program does, and results must not depend on
    // this.
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    arguments.test_threads.get_or_insert(cores.min(2));
    let repeat = std::env::var("PERFUNIT_TEST_REPEAT").map_or(1, |count| count.parse().expect("a number"));
    let trials = Case::all().into_iter().map(|(name, case)| Trial::test(name, move || check(&case, repeat))).collect();
    libtest_mimic::run(&arguments, trials).exit();
}

fn check(case: &Case, repeat: usize) -> Result<(), Failed> {
    let project = case.project();
    let failures: Vec<String> = (0..repeat).filter_map(|_| case.check(&project).err()).collect();
    match failures.first() {
        None => Ok(()),
        Some(first) => Err(format!("wrong in {} of {repeat}: {first}", failures.len()).into()),
    }
}
