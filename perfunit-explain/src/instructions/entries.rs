//! How often execution enters the copies of functions that were inlined.
//!
//! A copy has no call that could be counted. It is entered where a jump, or the way from one stretch of code without
//! jumps into the next, comes from an instruction that is not the copy's and leads to a stretch with instructions of the
//! copy. Inside of such a stretch the compiler mixes a copy's instructions with those around it, so that nothing is
//! counted there: it is entered once, however often the two alternate. Only in the body of a loop around it a stretch may
//! hold several turns of the loop. Then everything that a turn does is there as often, and so most of its operations are.

use super::profile::Counted;
use std::collections::{BTreeMap, BTreeSet};

/// A way into a stretch.
#[derive(Debug, Clone, Copy)]
struct Way {
    /// The address and the frame that it comes from; `None` for the function's caller.
    from: Option<(u64, usize)>,
    /// How often it was taken.
    count: u64,
}

/// What instructions stand for: two are of one kind if they do the same for the same line of some function's copy.
type Kind = (usize, u16);

/// Where the instructions of a function belong.
pub(super) struct Places<'a> {
    /// The innermost frame of an instruction.
    pub frame_of: &'a dyn Fn(u64) -> usize,
    /// What an instruction does, where that is known.
    pub kind_of: &'a dyn Fn(u64) -> Option<Kind>,
    /// By frame, the one around it; the first is the function itself, and is nobody's copy.
    pub callers: &'a [usize],
}

/// By frame, how often it was entered.
pub(super) fn entries(counted: &Counted, places: &Places<'_>) -> Vec<u64> {
    let mut entered = vec![0; places.callers.len()];
    if places.callers.len() < 2 {
        return entered;
    }
    let mut arriving: BTreeMap<u64, Vec<Way>> = BTreeMap::new();
    for jump in &counted.jumps {
        let from = Some((jump.from, (places.frame_of)(jump.from)));
        arriving.entry(jump.to).or_default().push(Way { from, count: jump.count });
    }
    let leaving: BTreeSet<u64> = counted.jumps.iter().map(|jump| jump.from).collect();
    let mut stretch = Stretch::default();
    let mut before: Option<(u64, u64)> = None;
    for (address, count) in &counted.instructions {
        let begins =
            before.is_none_or(|(at, times)| leaving.contains(&at) || times != *count || arriving.contains_key(address));
        if begins {
            stretch.close(places, &mut entered);
            let mut ways = arriving.get(address).cloned().unwrap_or_default();
            let jumped: u64 = ways.iter().map(|way| way.count).sum();
            let from = before.map(|(at, _)| (at, (places.frame_of)(at)));
            ways.push(Way { from, count: count.saturating_sub(jumped) });
            stretch = Stretch { ways, instructions: Vec::new() };
        }
        stretch.instructions.push(*address);
        before = Some((*address, *count));
    }
    stretch.close(places, &mut entered);
    entered
}

/// Instructions that are executed one after the other.
#[derive(Default)]
struct Stretch {
    ways: Vec<Way>,
    instructions: Vec<u64>,
}

impl Stretch {
    fn close(&mut self, places: &Places<'_>, entered: &mut [u64]) {
        let frames = |address: u64| outwards((places.frame_of)(address), places.callers);
        let touched: BTreeSet<usize> = self.instructions.iter().flat_map(|address| frames(*address)).collect();
        let Some(first) = self.instructions.first() else { return };
        for frame in touched {
            let is_outside = |way: &&Way| {
                let from = way.from.map(|(_, from)| from);
                way.count > 0 && from.is_none_or(|from| outwards(from, places.callers).all(|other| other != frame))
            };
            let ways: Vec<&Way> = self.ways.iter().filter(is_outside).collect();
            let is_loop = ways.iter().any(|way| way.from.is_some_and(|(from, _)| from >= *first));
            let times = if is_loop { self.turns(frame, places) } else { 1 };
            entered[frame] += times * ways.iter().map(|way| way.count).sum::<u64>();
        }
    }

    /// How many turns of a loop around a frame this holds: as many as there are of most kinds of its instructions.
    fn turns(&self, frame: usize, places: &Places<'_>) -> u64 {
        let mut of_kinds: BTreeMap<Kind, u64> = BTreeMap::new();
        let own = self.instructions.iter().filter(|address| (places.frame_of)(**address) == frame);
        own.filter_map(|address| (places.kind_of)(*address)).for_each(|kind| *of_kinds.entry(kind).or_default() += 1);
        let mut frequent: BTreeMap<u64, usize> = BTreeMap::new();
        for count in of_kinds.values() {
            *frequent.entry(*count).or_default() += 1;
        }
        // Of equally frequent ones the smaller: it comes first, and the maximum is the last.
        frequent.iter().rev().max_by_key(|(_, kinds)| **kinds).map_or(1, |(count, _)| *count)
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
        // All instructions of a frame do the same.
        let kind_of = |address: u64| Some((frame_of(address), 0));
        assert_eq!(entries(&counted, &Places { frame_of: &frame_of, kind_of: &kind_of, callers }), expected);
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
    fn several_turns_of_a_loop_in_one_stretch_are_several_entries() {
        check(&[(0, 1), (1, 5), (0, 5), (1, 5), (0, 5), (0, 1)], &[(4, 1, 4)], &[0, 0], &[0, 10]);
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
