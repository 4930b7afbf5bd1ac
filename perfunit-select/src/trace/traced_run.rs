//! The input and the result of traced runs, and the repetition of runs: the result of one run holds for that run only.

use super::failure::TraceFailure;
use super::places::Places;
use super::programs::Programs;
use perfunit_build::TestExecutable;
use perfunit_model::Side;
use perfunit_model::error::Result;
use perfunit_system::temporary::TestFolder;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

/// The result of running a test under breakpoints at the functions in question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Execution {
    /// The test executed this function first.
    Yes(Entered),
    /// The test passed and executed none of them.
    No,
    Unknown(TraceFailure),
}

/// A function in question that was executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entered {
    /// Linker symbol.
    pub symbol: String,
    /// The program with the function, unless it is the test executable.
    pub program: Option<String>,
}

/// The functions in question of a test executable, by linker symbol. Those of other programs are in [`Programs`].
#[derive(Debug, Clone, Copy)]
pub struct Functions<'a> {
    /// Functions that the test can reach.
    pub of_test: &'a BTreeSet<String>,
    /// Functions that any test of the executable can reach, for a test that starts its own executable; `None` if they
    /// are not known.
    pub of_all_tests: Option<&'a BTreeSet<String>>,
}

/// A test executable and what its tests need to run.
#[derive(Debug, Clone, Copy)]
pub struct Program<'a> {
    pub executable: &'a TestExecutable,
    pub places: &'a Places,
    /// The programs that its tests may start.
    pub programs: &'a Arc<Programs>,
    /// `TMPDIR` of its tests; emptied before each test.
    pub temporary: &'a TestFolder,
    /// Variables in addition to those of cargo and the user: the seed of this run.
    pub variables: &'a [(&'static str, OsString)],
    /// Number of calls of the test's body, where our macro captured it.
    pub calls: u32,
}

impl Program<'_> {
    /// Returns true if neither a function of the test executable nor another program is in question.
    pub(super) fn has_nothing_to_watch(&self, functions: Functions<'_>) -> bool {
        let Functions { of_test, of_all_tests } = functions;
        of_test.is_empty() && of_all_tests.is_some_and(BTreeSet::is_empty) && self.programs.is_unchanged()
    }
}

/// Time limit of a run. A test that takes longer counts as one that executes the functions.
pub const LONGEST: Duration = Duration::from_secs(10);
/// Number of runs on each side before a test counts as not executing the functions: what a test does may depend on
/// random numbers, on the time or on the order of its threads. A test that executes them in every second run is missed
/// in one case of 64.
const ROUNDS: u64 = 3;
/// Number of calls of a test body in a run of the first round: later calls are measured, and they may do what the first
/// does not. The other rounds have one call, because what a process draws at random is the same for all its calls.
const CALLS: u32 = 3;

/// Returns the first result that is not [`Execution::No`], or `No` if all runs on both sides have this result. Each run
/// has its own random numbers, but the same ones every time, so that the same versions give the same result. `run` takes
/// the side, the seed and the number of calls.
pub fn in_any_run(mut run: impl FnMut(Side, Option<NonZeroU64>, u32) -> Result<Execution>) -> Result<Execution> {
    let runs = (0..ROUNDS).flat_map(|round| [Side::Head, Side::Base].map(|side| (side, round)));
    for (seed, (side, round)) in (1..).zip(runs) {
        match run(side, NonZeroU64::new(seed), if round == 0 { CALLS } else { 1 })? {
            Execution::No => {}
            answer => return Ok(answer),
        }
    }
    Ok(Execution::No)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_run_that_comes_by_or_cannot_be_told_is_enough() {
        let check = |answer: &Execution, at: usize, expected: &Execution| {
            let mut seen = Vec::new();
            let found = in_any_run(|side, seed, calls| {
                seen.push((side, seed, calls));
                Ok(if seen.len() == at { answer.clone() } else { Execution::No })
            });
            assert_eq!((&found.unwrap(), seen.len()), (expected, at.min(6)));
            let sides: Vec<Side> = seen.iter().map(|(side, ..)| *side).collect();
            assert!(sides.chunks(2).all(|pair| pair.starts_with(&[Side::Head])), "{sides:?}");
            let calls: Vec<u32> = seen.iter().map(|(.., calls)| *calls).collect();
            assert_eq!(calls, [3, 3, 1, 1, 1, 1][..calls.len()]);
        };
        let yes = Execution::Yes(Entered { symbol: "f".to_owned(), program: None });
        let unknown = Execution::Unknown(TraceFailure::Lost);
        check(&yes, 5, &yes);
        check(&unknown, 1, &unknown);
        check(&yes, 7, &Execution::No);
    }
}
