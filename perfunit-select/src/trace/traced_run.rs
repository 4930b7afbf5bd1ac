//! The input and the result of traced runs, and the repetition of runs: the result of one run holds for that run only.

use super::failure::TraceFailure;
use super::places::Places;
use super::programs::Programs;
use perfunit_build::TestExecutable;
use perfunit_model::error::Result;
use perfunit_model::{Capture, Side};
use perfunit_system::temporary::TestFolder;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::{Duration, Instant};

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

impl Functions<'_> {
    /// Returns true if no function of the test executable is in question.
    pub(super) fn are_none(&self) -> bool {
        self.of_test.is_empty() && self.of_all_tests.is_some_and(BTreeSet::is_empty)
    }
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
}

/// Time limit of a run. A test that takes longer counts as one that executes the functions.
pub const LONGEST: Duration = Duration::from_secs(10);
/// Number of runs on each side before a test counts as not executing the functions: what a test does may depend on
/// random numbers, on the time or on the order of its threads. A test that executes them in every second run is missed
/// in one case of 64.
const ROUNDS: u64 = 3;
/// Shortest run after which one round suffices if each run makes several calls: a round has six calls, as many as the
/// runs of three rounds, and longer tests mostly wait.
const SLOW: Duration = Duration::from_secs(1);

/// Returns the first result that is not [`Execution::No`], or `No` if all runs on both sides have this result. Each run
/// has its own random numbers, but the same ones every time, so that the same versions give the same result. The
/// capture method tells whether a run makes several calls.
pub fn in_any_run(
    capture: Option<Capture>,
    mut run: impl FnMut(Side, Option<NonZeroU64>) -> Result<Execution>,
) -> Result<Execution> {
    let has_several_calls = capture == Some(Capture::Macro);
    in_rounds(|side, seed| {
        let started = Instant::now();
        let executed = run(side, seed)?;
        Ok((executed, has_several_calls && started.elapsed() >= SLOW))
    })
}

/// Does the work of [`in_any_run`]. A run also says whether one round suffices.
fn in_rounds(mut run: impl FnMut(Side, Option<NonZeroU64>) -> Result<(Execution, bool)>) -> Result<Execution> {
    let mut seeds = (1..).map(NonZeroU64::new);
    for _ in 0..ROUNDS {
        let mut suffices = false;
        for (side, seed) in [Side::Head, Side::Base].into_iter().zip(&mut seeds) {
            match run(side, seed)? {
                (Execution::No, one_suffices) => suffices |= one_suffices,
                (answer, _) => return Ok(answer),
            }
        }
        if suffices {
            break;
        }
    }
    Ok(Execution::No)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_run_that_comes_by_or_cannot_be_told_is_enough() {
        let check = |answer: &Execution, at: usize, suffices: bool, most: usize, expected: &Execution| {
            let mut seen = Vec::new();
            let found = in_rounds(|side, seed| {
                seen.push((side, seed));
                Ok((if seen.len() == at { answer.clone() } else { Execution::No }, suffices))
            });
            assert_eq!((&found.unwrap(), seen.len()), (expected, at.min(most)));
            let sides: Vec<Side> = seen.iter().map(|(side, _)| *side).collect();
            assert!(sides.chunks(2).all(|pair| pair.starts_with(&[Side::Head])), "{sides:?}");
        };
        let yes = Execution::Yes(Entered { symbol: "f".to_owned(), program: None });
        let unknown = Execution::Unknown(TraceFailure::Lost);
        check(&yes, 5, false, 6, &yes);
        check(&unknown, 1, false, 6, &unknown);
        check(&yes, 7, false, 6, &Execution::No);
        check(&yes, 2, true, 2, &yes);
        check(&yes, 3, true, 2, &Execution::No);
    }
}
