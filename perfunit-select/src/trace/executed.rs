//! The question of a run and its answer; several runs of a test, as one is a fact of that run alone.

use super::places::Places;
use super::unseen::Unseen;
use perfunit_build::TestExecutable;
use perfunit_model::Side;
use perfunit_model::error::Result;
use perfunit_system::temporary::TestFolder;
use std::ffi::OsString;
use std::num::NonZeroU64;
use std::time::Duration;

/// Whether a test executes any of the functions in question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Executed {
    Yes,
    /// It passed and did not.
    No,
    Unknown(Unseen),
}

/// A test executable and what its tests need to run in.
#[derive(Debug, Clone, Copy)]
pub struct Program<'a> {
    pub executable: &'a TestExecutable,
    pub places: &'a Places,
    /// `TMPDIR` of its tests; emptied before each.
    pub temporary: &'a TestFolder,
    /// Set besides what cargo and the user set: the seed of this run.
    pub variables: &'a [(&'static str, OsString)],
}

/// A run that takes longer than this is not worth waiting for: the test counts as one that executes the functions.
pub const LONGEST: Duration = Duration::from_secs(10);
/// Runs on each side before it is said that a test does not execute them: what a test does may depend on random numbers,
/// on the time, or on which of its threads is first. One that comes by in every second run is missed in one case of 64.
const ROUNDS: u64 = 3;

/// True unless all runs on both sides came by none of the functions. Each has random numbers of its own, the same ones every
/// time, so that the same versions get the same answer.
pub fn in_any_run(mut run: impl FnMut(Side, Option<NonZeroU64>) -> Result<Executed>) -> Result<bool> {
    let runs = (0..ROUNDS).flat_map(|_| [Side::Head, Side::Base]);
    for (seed, side) in (1..).zip(runs) {
        if run(side, NonZeroU64::new(seed))? != Executed::No {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_run_that_comes_by_or_cannot_be_told_is_enough() {
        let check = |answer: Executed, at: usize, expected: bool| {
            let mut seen = Vec::new();
            let found = in_any_run(|side, seed| {
                seen.push((side, seed));
                Ok(if seen.len() == at { answer.clone() } else { Executed::No })
            });
            assert_eq!((found.unwrap(), seen.len()), (expected, if expected { at } else { 6 }));
            let sides: Vec<Side> = seen.iter().map(|(side, _)| *side).collect();
            assert!(sides.chunks(2).all(|pair| pair.starts_with(&[Side::Head])), "{sides:?}");
        };
        check(Executed::Yes, 5, true);
        check(Executed::Unknown(Unseen::Lost), 1, true);
        check(Executed::Yes, 7, false);
    }
}
