//! Searches the steps that changed most, along a line of commits. Pure: a [`Compare`] compares two commits.
//!
//! Changes are logarithms of ratios, so that halves add up to the whole. The search for [the largest](largest) step
//! continues in the half with the larger change. If both halves may have changed equally, they are compared again with
//! more effort. The search for [all] steps continues in each part that changed by more than the threshold. Commits that
//! cannot be compared are skipped.

use perfunit_model::error::Result;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Efforts for one comparison: normal, and increased.
const EFFORTS: [u32; 2] = [1, 4];

/// The logarithm of head's time over base's, with the ends of its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogChange {
    pub estimate: f64,
    pub low: f64,
    pub high: f64,
}

impl LogChange {
    /// The change of equal code.
    pub const NONE: Self = Self { estimate: 0.0, low: 0.0, high: 0.0 };

    fn contains(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    fn is_certain(self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }

    fn minus(self, other: Self) -> Self {
        Self { estimate: self.estimate - other.estimate, low: self.low - other.high, high: self.high - other.low }
    }
}

/// The result of comparing a test on two commits.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Change(LogChange),
    /// This commit cannot be compared, because it does not build, or the test is missing or fails.
    Cannot(usize),
    /// The search must stop.
    Stop,
}

/// Compares commits by their place in the line; 0 is the good end.
pub trait Compare {
    fn compare(&mut self, base: usize, head: usize, effort: u32) -> Result<Answer>;
}

/// Two commits of the line, with the change of the test between them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stretch {
    pub before: usize,
    pub after: usize,
    pub change: LogChange,
}

/// Reason why a changed stretch was not reduced to a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// The search was stopped.
    Stopped,
    /// The parts do not show the change of the whole.
    Lost,
}

/// Result of a search.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// The ends do not differ in the searched direction.
    NoChange(LogChange),
    /// An end cannot be compared.
    EndCannot(usize),
    Searched(Searched),
}

/// The steps of a completed search.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Searched {
    /// Steps, the largest first. The commits inside a step cannot be compared.
    pub steps: Vec<Stretch>,
    pub left: Vec<(Stretch, Left)>,
    /// True if another part of the range got slower.
    pub up: bool,
    /// True if another part got faster.
    pub down: bool,
    /// The change of the ends that remains without the steps, if all steps were searched.
    pub rest: Option<LogChange>,
}

/// Searches the largest step up between 0 and `last`.
pub fn largest(last: usize, compare: &mut impl Compare) -> Result<Found> {
    let mut whole = match ends(last, compare)? {
        ControlFlow::Continue(whole) => whole,
        ControlFlow::Break(found) => return Ok(found),
    };
    let mut searched = Searched::default();
    let mut cannot: BTreeSet<usize> = BTreeSet::new();
    while let Some(middle) = middle(whole, &cannot) {
        match halves(whole, middle, compare)? {
            Halves::Changes { left, right } => {
                let (larger, other) = if left.estimate > right.estimate { (left, right) } else { (right, left) };
                searched.up |= larger.low > 0.0 && other.low > 0.0;
                searched.down |= other.high < 0.0;
                let (before, after) = if larger == left { (whole.before, middle) } else { (middle, whole.after) };
                whole = Stretch { before, after, change: larger };
            }
            Halves::Cannot => drop(cannot.insert(middle)),
            Halves::Stop => {
                searched.left.push((whole, Left::Stopped));
                return Ok(Found::Searched(searched));
            }
        }
    }
    match compare.compare(whole.before, whole.after, EFFORTS[0])? {
        Answer::Change(change) if change.low > 0.0 => searched.steps.push(Stretch { change, ..whole }),
        Answer::Change(change) => searched.left.push((Stretch { change, ..whole }, Left::Lost)),
        Answer::Cannot(_) => searched.left.push((whole, Left::Lost)),
        Answer::Stop => searched.left.push((whole, Left::Stopped)),
    }
    Ok(Found::Searched(searched))
}

/// Searches each step beyond the threshold, up or down, until every remaining part changed by less.
pub fn all(last: usize, threshold: f64, compare: &mut impl Compare) -> Result<Found> {
    let whole = match ends(last, compare)? {
        ControlFlow::Continue(whole) => whole,
        ControlFlow::Break(found) => return Ok(found),
    };
    let mut searched = Searched::default();
    let mut cannot: BTreeSet<usize> = BTreeSet::new();
    let mut open = vec![whole];
    let is_beyond = |stretch: &Stretch| stretch.change.estimate.abs() > threshold;
    let by_size = |one: &Stretch, two: &Stretch| one.change.estimate.abs().total_cmp(&two.change.estimate.abs());
    while let Some(at) = open.iter().enumerate().max_by(|one, two| by_size(one.1, two.1)).map(|(at, _)| at) {
        let stretch = open.swap_remove(at);
        if !is_beyond(&stretch) {
            break;
        }
        if !stretch.change.is_certain() {
            searched.left.push((stretch, Left::Lost));
            continue;
        }
        let Some(middle) = middle(stretch, &cannot) else {
            searched.steps.push(stretch);
            continue;
        };
        match parts(stretch, middle, threshold, compare)? {
            Halves::Changes { left, right } => {
                open.push(Stretch { after: middle, change: left, ..stretch });
                open.push(Stretch { before: middle, change: right, ..stretch });
            }
            Halves::Cannot => {
                cannot.insert(middle);
                open.push(stretch);
            }
            Halves::Stop => {
                open.push(stretch);
                let stopped = open.into_iter().filter(is_beyond);
                searched.left.extend(stopped.map(|stretch| (stretch, Left::Stopped)));
                return Ok(Found::Searched(searched));
            }
        }
    }
    searched.steps.sort_by(|one, two| by_size(two, one));
    let rest = searched.steps.iter().fold(whole.change, |rest, step| rest.minus(step.change));
    Ok(Found::Searched(Searched { rest: Some(rest), ..searched }))
}

/// Compares both parts, with more effort if one may exceed the threshold without being certain.
fn parts(whole: Stretch, middle: usize, threshold: f64, compare: &mut impl Compare) -> Result<Halves> {
    let mut changes = [LogChange::NONE; 2];
    for (change, (before, after)) in changes.iter_mut().zip([(whole.before, middle), (middle, whole.after)]) {
        for effort in EFFORTS {
            match compare.compare(before, after, effort)? {
                Answer::Change(answer) => *change = answer,
                Answer::Cannot(_) => return Ok(Halves::Cannot),
                Answer::Stop => return Ok(Halves::Stop),
            }
            if change.is_certain() || change.estimate.abs() <= threshold {
                break;
            }
        }
    }
    Ok(Halves::Changes { left: changes[0], right: changes[1] })
}

/// Compares the whole line; breaks if it did not go up or cannot be compared.
fn ends(last: usize, compare: &mut impl Compare) -> Result<ControlFlow<Found, Stretch>> {
    let whole = |change| Stretch { before: 0, after: last, change };
    Ok(match compare.compare(0, last, EFFORTS[0])? {
        Answer::Change(change) if change.low > 0.0 => ControlFlow::Continue(whole(change)),
        Answer::Change(change) => ControlFlow::Break(Found::NoChange(change)),
        Answer::Cannot(end) => ControlFlow::Break(Found::EndCannot(end)),
        Answer::Stop => {
            let left = vec![(whole(LogChange::NONE), Left::Stopped)];
            ControlFlow::Break(Found::Searched(Searched { left, ..Searched::default() }))
        }
    })
}

enum Halves {
    Changes { left: LogChange, right: LogChange },
    Cannot,
    Stop,
}

/// Compares the left half. Compares the right half too if half of the whole change lies in the left one's interval, or
/// if the left one seems changed although the search would not go there.
fn halves(whole: Stretch, middle: usize, compare: &mut impl Compare) -> Result<Halves> {
    let mut known = None;
    for effort in EFFORTS {
        let left = match compare.compare(whole.before, middle, effort)? {
            Answer::Change(left) => left,
            Answer::Cannot(_) => return Ok(Halves::Cannot),
            Answer::Stop => return Ok(Halves::Stop),
        };
        let is_clear = !left.contains(whole.change.estimate / 2.0);
        let rest = whole.change.minus(left);
        if is_clear && !(rest.is_certain() && left.estimate > rest.estimate) {
            return Ok(Halves::Changes { left, right: rest });
        }
        let right = match compare.compare(middle, whole.after, effort)? {
            Answer::Change(right) => right,
            Answer::Cannot(_) => return Ok(Halves::Cannot),
            Answer::Stop => return Ok(Halves::Stop),
        };
        known = Some(Halves::Changes { left, right });
        if is_clear || left.low > right.high || right.low > left.high {
            break;
        }
    }
    Ok(known.unwrap_or(Halves::Stop))
}

/// Returns the commit nearest to the middle that may be comparable.
fn middle(stretch: Stretch, cannot: &BTreeSet<usize>) -> Option<usize> {
    let middle = usize::midpoint(stretch.before, stretch.after);
    let inside = stretch.before + 1..stretch.after;
    inside.filter(|index| !cannot.contains(index)).min_by_key(|index| index.abs_diff(middle))
}

#[cfg(test)]
mod tests;
