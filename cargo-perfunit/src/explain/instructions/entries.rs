//! How often execution enters the copies of functions that were inlined.
//!
//! A copy has no call that could be counted. It is entered where a jump, or the way from one stretch of code without
//! jumps into the next, comes from an instruction that is not the copy's and leads to a stretch with instructions of the
//! copy. Inside of such a stretch the compiler mixes a copy's instructions with those around it, so that nothing is
//! counted there: it is entered once, however often the two alternate.

use super::profile::Counted;
use std::collections::{BTreeMap, BTreeSet};

/// A way into a stretch: the frame that it comes from, `None` for the function's caller, and how often it was taken.
type Way = (Option<usize>, u64);

/// By frame, how often it was entered. `frame_of` tells the innermost frame of an instruction, `callers` the frame around
/// each; the first is the function itself, and is nobody's copy.
pub(super) fn entries(counted: &Counted, frame_of: &dyn Fn(u64) -> usize, callers: &[usize]) -> Vec<u64> {
    let mut entered = vec![0; callers.len()];
    if callers.len() < 2 {
        return entered;
    }
    let mut arriving: BTreeMap<u64, Vec<Way>> = BTreeMap::new();
    for jump in &counted.jumps {
        arriving.entry(jump.to).or_default().push((Some(frame_of(jump.from)), jump.count));
    }
    let leaving: BTreeSet<u64> = counted.jumps.iter().map(|jump| jump.from).collect();
    let mut stretch = Stretch::default();
    let mut before: Option<(u64, u64)> = None;
    for (address, count) in &counted.instructions {
        let begins =
            before.is_none_or(|(at, times)| leaving.contains(&at) || times != *count || arriving.contains_key(address));
        if begins {
            stretch.close(callers, &mut entered);
            let mut ways = arriving.get(address).cloned().unwrap_or_default();
            let jumped: u64 = ways.iter().map(|(_, count)| count).sum();
            ways.push((before.map(|(at, _)| frame_of(at)), count.saturating_sub(jumped)));
            stretch = Stretch { ways, touched: BTreeSet::new() };
        }
        stretch.touched.extend(outwards(frame_of(*address), callers));
        before = Some((*address, *count));
    }
    stretch.close(callers, &mut entered);
    entered
}

/// Instructions that are executed one after the other.
#[derive(Default)]
struct Stretch {
    ways: Vec<Way>,
    /// The frames with instructions in it.
    touched: BTreeSet<usize>,
}

impl Stretch {
    fn close(&mut self, callers: &[usize], entered: &mut [u64]) {
        for (from, count) in self.ways.drain(..).filter(|(_, count)| *count > 0) {
            let inside: BTreeSet<usize> = from.into_iter().flat_map(|from| outwards(from, callers)).collect();
            self.touched.difference(&inside).for_each(|frame| entered[*frame] += count);
        }
    }
}

/// A copy and the copies around it; not the function itself.
fn outwards(frame: usize, callers: &[usize]) -> impl Iterator<Item = usize> + '_ {
    std::iter::successors(Some(frame), |frame| Some(callers[*frame])).take_while(|frame| *frame != 0)
}

#[cfg(test)]
mod tests {
    use super::super::profile::Jump;
    use super::*;

    /// Instructions as (frame, executions) at addresses 0, 1, 2 and so on.
    #[track_caller]
    fn check(instructions: &[(usize, u64)], jumps: &[(u64, u64, u64)], callers: &[usize], expected: &[u64]) {
        let counted = Counted {
            instructions: (0..).zip(instructions.iter().map(|(_, count)| *count)).collect(),
            jumps: jumps.iter().map(|&(from, to, count)| Jump { from, to, count }).collect(),
            ..Counted::default()
        };
        let frame_of = |address: u64| instructions.get(address as usize).map_or(0, |(frame, _)| *frame);
        assert_eq!(entries(&counted, &frame_of, callers), expected);
    }

    #[test]
    fn a_copy_is_entered_once_however_its_instructions_are_mixed() {
        check(&[(0, 1), (1, 1), (0, 1), (1, 1), (0, 1)], &[], &[0, 0], &[0, 1]);
    }

    #[test]
    fn a_loop_around_a_copy_enters_it_at_each_turn() {
        check(&[(0, 1), (1, 10), (0, 10), (0, 1)], &[(2, 1, 9)], &[0, 0], &[0, 10]);
    }

    #[test]
    fn a_loop_inside_of_a_copy_does_not() {
        check(&[(0, 1), (1, 1), (1, 10), (1, 10), (0, 1)], &[(3, 2, 9)], &[0, 0], &[0, 1]);
    }

    #[test]
    fn what_is_jumped_over_is_not_entered() {
        check(&[(0, 10), (1, 4), (0, 10)], &[(0, 2, 6)], &[0, 0], &[0, 4]);
    }

    #[test]
    fn a_copy_in_a_copy_is_entered_with_it_or_by_its_loop() {
        check(&[(0, 2), (2, 2), (1, 2), (0, 2)], &[], &[0, 0, 1], &[0, 2, 2]);
        check(&[(0, 2), (1, 2), (2, 8), (1, 8), (0, 2)], &[(3, 2, 6)], &[0, 0, 1], &[0, 2, 8]);
    }
}
