//! The search for the step that changed most, along a line of commits. Pure: what two commits are to each other is asked
//! of a [`Compare`].
//!
//! Changes are logarithms of ratios, so that those of both halves add up to the whole. The search goes into the half with
//! the larger change; where both halves changed by as much as one can tell, they are compared again with more effort.
//! A commit that cannot be compared is walked around.

use crate::error::Result;
use std::collections::BTreeSet;

/// Efforts for one question: as usual, and more.
const EFFORTS: [u32; 2] = [1, 4];

/// The logarithm of head's time over base's, with the ends of its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogChange {
    pub estimate: f64,
    pub low: f64,
    pub high: f64,
}

impl LogChange {
    /// Of equal code.
    pub const NONE: Self = Self { estimate: 0.0, low: 0.0, high: 0.0 };

    fn contains(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// How a test's times on two commits relate.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Change(LogChange),
    /// This commit cannot be compared: it does not build, or the test is not there or fails.
    Cannot(usize),
    /// Nothing more is to be started.
    Stop,
}

/// Compares commits by their place in the line, 0 being the good end.
pub trait Compare {
    fn compare(&mut self, base: usize, head: usize, effort: u32) -> Result<Answer>;
}

/// Where a search ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// The change came between these two; all commits between them cannot be compared.
    Step { before: usize, after: usize, change: LogChange, several: bool },
    /// The ends do not differ in the direction that was meant.
    NoChange(LogChange),
    /// An end cannot be compared.
    EndCannot(usize),
    /// The halves of what is left changed by equal parts, or by none: these comparisons contradict the longer ones.
    Lost { before: usize, after: usize, change: LogChange },
    /// Stopped with this much left.
    Stopped { before: usize, after: usize },
}

/// Searches the largest step up between 0 and `last`.
pub fn search(last: usize, compare: &mut impl Compare) -> Result<Found> {
    let (mut before, mut after) = (0, last);
    let mut whole = match compare.compare(before, after, EFFORTS[0])? {
        Answer::Change(change) if change.low > 0.0 => change,
        Answer::Change(change) => return Ok(Found::NoChange(change)),
        Answer::Cannot(end) => return Ok(Found::EndCannot(end)),
        Answer::Stop => return Ok(Found::Stopped { before, after }),
    };
    let mut cannot: BTreeSet<usize> = BTreeSet::new();
    let mut several = false;
    while let Some(middle) = middle(before, after, &cannot) {
        match halves(before, middle, after, whole, compare)? {
            Halves::Changes { left, right } => {
                several |= left.low > 0.0 && right.low > 0.0;
                (before, after, whole) =
                    if left.estimate > right.estimate { (before, middle, left) } else { (middle, after, right) };
            }
            Halves::Cannot => drop(cannot.insert(middle)),
            Halves::Stop => return Ok(Found::Stopped { before, after }),
        }
    }
    let change = match compare.compare(before, after, EFFORTS[0])? {
        Answer::Change(change) => change,
        Answer::Cannot(_) => return Ok(Found::Lost { before, after, change: whole }),
        Answer::Stop => return Ok(Found::Stopped { before, after }),
    };
    Ok(if change.low > 0.0 {
        Found::Step { before, after, change, several }
    } else {
        Found::Lost { before, after, change }
    })
}

enum Halves {
    Changes { left: LogChange, right: LogChange },
    Cannot,
    Stop,
}

/// Compares the left half; the right one, too, if half of the whole change lies in its interval.
fn halves(before: usize, middle: usize, after: usize, whole: LogChange, compare: &mut impl Compare) -> Result<Halves> {
    let mut known = None;
    for effort in EFFORTS {
        let left = match compare.compare(before, middle, effort)? {
            Answer::Change(left) => left,
            Answer::Cannot(_) => return Ok(Halves::Cannot),
            Answer::Stop => return Ok(Halves::Stop),
        };
        if !left.contains(whole.estimate / 2.0) {
            let right = LogChange {
                estimate: whole.estimate - left.estimate,
                low: whole.low - left.high,
                high: whole.high - left.low,
            };
            return Ok(Halves::Changes { left, right });
        }
        let right = match compare.compare(middle, after, effort)? {
            Answer::Change(right) => right,
            Answer::Cannot(_) => return Ok(Halves::Cannot),
            Answer::Stop => return Ok(Halves::Stop),
        };
        known = Some(Halves::Changes { left, right });
        if left.low > right.high || right.low > left.high {
            break;
        }
    }
    Ok(known.unwrap_or(Halves::Stop))
}

/// The commit nearest to the middle that can be compared, as far as one knows.
fn middle(before: usize, after: usize, cannot: &BTreeSet<usize>) -> Option<usize> {
    let middle = usize::midpoint(before, after);
    (before + 1..after).filter(|index| !cannot.contains(index)).min_by_key(|index| index.abs_diff(middle))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;
    use statrs::distribution::{ContinuousCDF as _, Normal};

    /// Commits of known times, compared with noise.
    struct Line {
        /// Logarithms; `None` does not build.
        times: Vec<Option<f64>>,
        deviation: f64,
        random: Rng,
        built: BTreeSet<usize>,
    }

    impl Compare for Line {
        fn compare(&mut self, base: usize, head: usize, effort: u32) -> Result<Answer> {
            let mut time = |index: usize| {
                self.built.insert(index);
                self.times[index]
            };
            let Some(base_time) = time(base) else { return Ok(Answer::Cannot(base)) };
            let Some(head_time) = time(head) else { return Ok(Answer::Cannot(head)) };
            let deviation = self.deviation / f64::from(effort).sqrt();
            let uniform = self.random.f64().clamp(1e-9, 1.0 - 1e-9);
            // Unchanged code is compared as machine code, and is equal.
            if base_time.to_bits() == head_time.to_bits() {
                return Ok(Answer::Change(LogChange::NONE));
            }
            let estimate = head_time - base_time + deviation * Normal::standard().inverse_cdf(uniform);
            let reach = 3.3 * deviation;
            Ok(Answer::Change(LogChange { estimate, low: estimate - reach, high: estimate + reach }))
        }
    }

    fn line(times: Vec<Option<f64>>, deviation: f64, seed: u64) -> Line {
        Line { times, deviation, random: Rng::with_seed(seed), built: BTreeSet::new() }
    }

    /// A step at a random place among commits some of which do not build.
    fn with_step(seed: u64, broken: f64, effect: f64) -> (Line, usize, usize) {
        let mut random = Rng::with_seed(seed);
        let last = random.usize(2..200);
        let step = random.usize(1..=last);
        let time = |index: usize| if index >= step { effect.ln_1p() } else { 0.0 };
        let builds = |index: usize, random: &mut Rng| index == 0 || index == last || random.f64() >= broken;
        let times = (0..=last).map(|index| builds(index, &mut random).then(|| time(index))).collect();
        (line(times, effect.ln_1p() / 10.0, seed), last, step)
    }

    #[test]
    fn a_step_is_found_exactly_with_few_builds() {
        for seed in 0..500 {
            let (mut line, last, step) = with_step(seed, 0.0, 0.04);
            let found = search(last, &mut line).unwrap();
            assert!(
                matches!(found, Found::Step { before, after, several: false, .. } if (before, after) == (step - 1, step)),
                "{seed}: {found:?}, not {step} of {last}"
            );
            let most = (last as f64).log2().ceil() as usize + 2;
            assert!(line.built.len() <= most, "{seed}: {} of {last} built, at most {most}", line.built.len());
        }
    }

    #[test]
    fn among_commits_that_do_not_build_the_true_one_is_in_the_set() {
        for seed in 0..500 {
            let (mut line, last, step) = with_step(seed, 0.3, 0.04);
            let Found::Step { before, after, .. } = search(last, &mut line).unwrap() else { panic!("{seed}") };
            assert!(before < step && step <= after, "{seed}: {step} is not in {before}..{after}");
            assert!(line.times[before + 1..after].iter().all(Option::is_none), "{seed}");
        }
    }

    #[test]
    fn without_a_step_nothing_is_named() {
        for seed in 0..200 {
            let mut random = Rng::with_seed(seed);
            // Each commit is other code of the same speed.
            let times = (0..50).map(|index| Some(1e-9 * f64::from(index))).collect();
            let found = search(49, &mut line(times, 0.004, random.u64(..))).unwrap();
            assert!(matches!(found, Found::NoChange(_) | Found::Lost { .. }), "{seed}: {found:?}");
        }
    }

    #[test]
    fn of_two_steps_one_is_found_and_the_other_mentioned() {
        let times = (0..64)
            .map(|index| {
                Some(if index >= 40 {
                    0.3
                } else if index >= 10 {
                    0.1
                } else {
                    0.0
                })
            })
            .collect();
        let found = search(63, &mut line(times, 0.003, 5)).unwrap();
        assert!(matches!(found, Found::Step { before: 39, after: 40, several: true, .. }), "{found:?}");
    }

    #[test]
    fn ends_in_the_wrong_order_or_broken_are_reported() {
        let up = line(vec![Some(0.2), Some(0.1), Some(0.0)], 0.003, 1).compare(0, 2, 1).unwrap();
        assert!(matches!(up, Answer::Change(change) if change.high < 0.0));
        let found = search(2, &mut line(vec![Some(0.2), Some(0.1), Some(0.0)], 0.003, 1)).unwrap();
        assert!(matches!(found, Found::NoChange(change) if change.high < 0.0), "{found:?}");
        let found = search(2, &mut line(vec![Some(0.2), Some(0.1), None], 0.003, 1)).unwrap();
        assert_eq!(found, Found::EndCannot(2));
    }
}
