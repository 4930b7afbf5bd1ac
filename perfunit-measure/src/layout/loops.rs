//! The loops of a function, read from its machine code, and the shift of a changed function that keeps its loops in place.
//!
//! The place of a loop determines its speed: the number of fetch blocks and cache lines that it spans, and the predictor's
//! entries that its branches share.

use object::Architecture;
use perfunit_select::code::{Instruction, decode};
use siphasher::sip::SipHasher13;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

/// The weight of a loop relative to the loop around it.
const PER_DEPTH: u64 = 8;
/// The deepest nesting that adds weight.
const DEEPEST: u32 = 4;

/// A stretch of code that ends with a jump to its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Loop {
    /// Offset in the function.
    pub start: u64,
    /// Offset of the first byte after the loop.
    pub end: u64,
    /// The hash of its instructions without registers, addresses and padding: equal for the same work.
    pub signature: u64,
    /// The weight: inner loops run more often.
    pub weight: u64,
}

/// Returns the loops of code, by their starts; none for processors without a decoder.
pub(super) fn loops(architecture: Architecture, code: &[u8]) -> Vec<Loop> {
    let instructions = decode(architecture, code);
    let mut ends: BTreeMap<u64, u64> = BTreeMap::new();
    for instruction in &instructions {
        if let Some(target) = instruction.jump.filter(|target| *target <= instruction.start) {
            let end = ends.entry(target).or_default();
            *end = (*end).max(instruction.end);
        }
    }
    ends.iter()
        .map(|(&start, &end)| {
            let around = ends.iter().filter(|(other, last)| **other <= start && end <= **last).count() as u32 - 1;
            Loop {
                start,
                end,
                signature: signature(&instructions, start, end),
                weight: PER_DEPTH.pow(around.min(DEEPEST)),
            }
        })
        .collect()
}

fn signature(instructions: &[Instruction], start: u64, end: u64) -> u64 {
    let first = instructions.partition_point(|instruction| instruction.start < start);
    let inside = instructions[first..].iter().take_while(|instruction| instruction.start < end);
    let mut hasher = SipHasher13::new();
    inside.filter(|instruction| !instruction.is_padding).for_each(|instruction| instruction.work.hash(&mut hasher));
    hasher.finish()
}

/// The most pairs of loops to compare; only generated code has more.
const MOST_COMPARED: usize = 4_000_000;
/// The share of the weight of all loops that a shift has to keep in place to count as an anchor.
const ENOUGH: f64 = 0.5;

/// The place of a function of head relative to that of base.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Anchor {
    /// Head's start minus base's in bytes, such that the loops agree; none if no shift achieves that for enough of them.
    pub shift: Option<i64>,
    /// The number of loops that the shift keeps in place.
    pub held: usize,
    /// The number of other loops, on the side that has more of them.
    pub left: usize,
}

impl Anchor {
    /// Compares the loops of both versions of a function that can be placed at multiples of `step`.
    pub fn of(base: &[Loop], head: &[Loop], step: i64) -> Self {
        if base.is_empty() && head.is_empty() {
            return Self { shift: Some(0), held: 0, left: 0 };
        }
        let pairs = common_loops(base, head);
        let mut weights: BTreeMap<i64, (u64, usize)> = BTreeMap::new();
        for (base, head) in &pairs {
            let moved = head.start.cast_signed() - base.start.cast_signed();
            let (weight, count) = weights.entry(-moved).or_default();
            *weight += base.weight;
            *count += 1;
        }
        let best = weights.iter().filter(|(shift, _)| *shift % step == 0).max_by_key(|(shift, (weight, _))| {
            // Prefer the smallest shift among shifts of equal weight.
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

/// Returns the longest common subsequence of loops with the same signature and length.
pub(super) fn common_loops<'a>(base: &'a [Loop], head: &'a [Loop]) -> Vec<(&'a Loop, &'a Loop)> {
    if base.len().saturating_mul(head.len()) > MOST_COMPARED {
        return Vec::new();
    }
    let same = |a: &Loop, b: &Loop| a.signature == b.signature && a.end - a.start == b.end - b.start;
    let width = head.len() + 1;
    // `longest[i * width + j]` is the length for the loops from i and j on.
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

    /// xor eax,eax; outer: mov ecx,9; inner: dec ecx; jne inner; inc eax; cmp eax,5; jne outer; ret
    const NESTED: [u8; 18] =
        [0x31, 0xc0, 0xb9, 9, 0, 0, 0, 0xff, 0xc9, 0x75, 0xfc, 0xff, 0xc0, 0x83, 0xf8, 5, 0x75, 0xf0];

    #[test]
    fn loops_are_found_with_their_depth() {
        let found = loops(Architecture::X86_64, &NESTED);
        let places: Vec<_> = found.iter().map(|found| (found.start, found.end, found.weight)).collect();
        assert_eq!(places, [(2, 18, 1), (7, 11, 8)]);
    }

    #[test]
    fn padding_in_front_moves_loops_and_leaves_their_signatures() {
        let moved = [&[0x0f, 0x1f, 0x00][..], &NESTED].concat();
        let [base, head] = [&NESTED[..], &moved].map(|code| loops(Architecture::X86_64, code));
        assert!(base.iter().zip(&head).all(|(a, b)| a.signature == b.signature && a.start + 3 == b.start));
        assert_ne!(base[0].signature, base[1].signature);
    }

    #[test]
    fn code_without_a_jump_back_has_no_loop() {
        assert_eq!(loops(Architecture::X86_64, &[0x31, 0xc0, 0x75, 0x01, 0x90, 0xc3]), []);
        assert_eq!(loops(Architecture::X86_64, &[]), []);
        assert_eq!(loops(Architecture::Arm, &NESTED), []);
    }

    #[test]
    fn loops_of_aarch64_are_found_with_any_jump() {
        // mov w8, #9; outer: mov w9, #5; inner: subs w9, w9, #1; b.ne inner; cbnz w8, outer; tbz w8, #3, outer; ret
        let nested = [
            0x5280_0128_u32,
            0x5280_00a9,
            0x7100_0529,
            0x54ff_ffe1,
            0x35ff_ffa8,
            0x361f_ff88,
            0xd65f_03c0,
            0x97ff_fff9,
        ];
        let found = |code: &[u32]| {
            loops(Architecture::Aarch64, &code.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>())
        };
        let places: Vec<_> = found(&nested).iter().map(|found| (found.start, found.end, found.weight)).collect();
        assert_eq!(places, [(4, 24, 1), (8, 16, 8)]);
        // Other registers and a `nop` leave the work the same, another operation does not.
        let signatures = |code: &[u32]| found(code).iter().map(|found| found.signature).collect::<Vec<_>>();
        let own = signatures(&nested[2..4]);
        assert_eq!(own, signatures(&[0x7100_054a, 0xd503_201f, 0x54ff_ffc1]));
        assert_ne!(own, signatures(&[0x3100_054a, 0x54ff_ffe1]));
    }

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
