//! Where a changed function has to begin so that its loops lie where base's do.

use super::loops::Loop;
use std::collections::BTreeMap;

/// Pairs of loops that are compared at most; what has more is generated code.
const MOST_COMPARED: usize = 4_000_000;
/// Part of the weight of all loops that one shift has to put right for it to count as an anchor.
const ENOUGH: f64 = 0.5;

/// How a function of head lies to that of base.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Anchor {
    /// Head's start minus base's, bytes, so that the loops agree; none if no shift does that for enough of them.
    pub shift: Option<i64>,
    /// Loops that the shift puts where they are on base.
    pub held: usize,
    /// Loops that it does not, on the side that has more of them.
    pub left: usize,
}

impl Anchor {
    /// Compares the loops of both versions of a function that can be placed at multiples of `step`.
    pub fn of(base: &[Loop], head: &[Loop], step: i64) -> Self {
        if base.is_empty() && head.is_empty() {
            return Self { shift: Some(0), held: 0, left: 0 };
        }
        let pairs = common(base, head);
        let mut weights: BTreeMap<i64, (u64, usize)> = BTreeMap::new();
        for (base, head) in &pairs {
            let moved = head.start.cast_signed() - base.start.cast_signed();
            let (weight, count) = weights.entry(-moved).or_default();
            *weight += base.weight;
            *count += 1;
        }
        let best = weights.iter().filter(|(shift, _)| *shift % step == 0).max_by_key(|(shift, (weight, _))| {
            // Of equals the smallest.
            (*weight, std::cmp::Reverse(shift.abs()))
        });
        let all: u64 = base.iter().map(|each| each.weight).sum();
        match best {
            Some((shift, (weight, count))) if *weight as f64 >= ENOUGH * all as f64 => {
                Self { shift: Some(*shift), held: *count, left: base.len().max(head.len()) - count }
            }
            _ => Self::default(),
        }
    }
}

/// The longest common subsequence of loops with the same signature and length.
pub(super) fn common<'a>(base: &'a [Loop], head: &'a [Loop]) -> Vec<(&'a Loop, &'a Loop)> {
    if base.len().saturating_mul(head.len()) > MOST_COMPARED {
        return Vec::new();
    }
    let same = |a: &Loop, b: &Loop| a.signature == b.signature && a.end - a.start == b.end - b.start;
    let width = head.len() + 1;
    // `longest[i * width + j]` is that of the loops from i and j on.
    let mut longest = vec![0u32; (base.len() + 1) * width];
    for i in (0..base.len()).rev() {
        for j in (0..head.len()).rev() {
            longest[i * width + j] = if same(&base[i], &head[j]) {
                longest[(i + 1) * width + j + 1] + 1
            } else {
                longest[(i + 1) * width + j].max(longest[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut pairs) = (0, 0, Vec::new());
    while i < base.len() && j < head.len() {
        if same(&base[i], &head[j]) {
            pairs.push((&base[i], &head[j]));
            (i, j) = (i + 1, j + 1);
        } else if longest[(i + 1) * width + j] >= longest[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(loops: &[(u64, u64, u64)]) -> Vec<Loop> {
        let found = |&(start, signature, weight)| Loop { start, end: start + 24, signature, weight };
        loops.iter().map(found).collect()
    }

    #[track_caller]
    fn check(base: &[(u64, u64, u64)], head: &[(u64, u64, u64)], shift: Option<i64>, in_place: usize) {
        let anchor = Anchor::of(&found(base), &found(head), 16);
        assert_eq!((anchor.shift, anchor.held), (shift, in_place));
    }

    #[test]
    fn what_moved_together_is_moved_back() {
        check(&[(16, 1, 1), (64, 2, 1)], &[(48, 1, 1), (96, 2, 1)], Some(-32), 2);
        check(&[(48, 1, 1)], &[(16, 7, 1), (16, 1, 1)], Some(32), 1);
    }

    #[test]
    fn the_heaviest_shift_wins() {
        check(&[(16, 1, 1), (32, 2, 1), (64, 3, 8)], &[(16, 1, 1), (32, 2, 1), (128, 3, 8)], Some(-64), 1);
    }

    #[test]
    fn without_loops_the_starts_agree() {
        check(&[], &[], Some(0), 0);
    }

    #[test]
    fn no_anchor_where_loops_are_others_or_out_of_step() {
        check(&[(16, 1, 1)], &[(16, 2, 1)], None, 0);
        check(&[(16, 1, 1)], &[(21, 1, 1)], None, 0);
        check(&[(16, 1, 1), (64, 2, 1), (96, 3, 1)], &[(16, 1, 1), (64, 8, 1), (96, 9, 1)], None, 0);
    }

    #[test]
    fn a_loop_between_others_does_not_confuse_them() {
        check(&[(16, 1, 1), (64, 1, 1)], &[(16, 1, 1), (40, 5, 1), (96, 1, 1)], Some(0), 1);
    }
}
