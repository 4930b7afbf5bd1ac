//! The loops of a function, as its machine code shows them.
//!
//! Where a loop lies decides how fast it runs: how many fetch blocks and cache lines it spans, and what its branches
//! share in the predictor.

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind};
use siphasher::sip::SipHasher13;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

/// Weight of a loop in another one, against the outer.
const PER_DEPTH: u64 = 8;
/// Deeper nesting weighs no more.
const DEEPEST: u32 = 4;

/// A stretch of code that ends with a jump to its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Loop {
    /// Offset in the function.
    pub start: u64,
    /// Offset of the first byte behind.
    pub end: u64,
    /// Of its instructions without registers, addresses and padding: equal for the same work.
    pub signature: u64,
    /// Times that it counts: inner loops run more often.
    pub weight: u64,
}

/// The loops of x86-64 code, by their starts.
pub(super) fn loops(code: &[u8]) -> Vec<Loop> {
    let instructions: Vec<Instruction> = Decoder::with_ip(64, code, 0, DecoderOptions::NONE).into_iter().collect();
    let mut ends: BTreeMap<u64, u64> = BTreeMap::new();
    for instruction in &instructions {
        let is_jump = instruction.op0_kind() == OpKind::NearBranch64 && instruction.mnemonic() != Mnemonic::Call;
        let target = instruction.near_branch_target();
        if is_jump && target <= instruction.ip() {
            let end = ends.entry(target).or_default();
            *end = (*end).max(instruction.next_ip());
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
    let first = instructions.partition_point(|instruction| instruction.ip() < start);
    let inside = instructions[first..].iter().take_while(|instruction| instruction.ip() < end);
    let mut hasher = SipHasher13::new();
    for instruction in inside.filter(|instruction| instruction.mnemonic() != Mnemonic::Nop) {
        (instruction.mnemonic() as u32).hash(&mut hasher);
        instruction.op_count().hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// xor eax,eax; outer: mov ecx,9; inner: dec ecx; jne inner; inc eax; cmp eax,5; jne outer; ret
    const NESTED: [u8; 18] =
        [0x31, 0xc0, 0xb9, 9, 0, 0, 0, 0xff, 0xc9, 0x75, 0xfc, 0xff, 0xc0, 0x83, 0xf8, 5, 0x75, 0xf0];

    #[test]
    fn loops_are_found_with_their_depth() {
        let found = loops(&NESTED);
        let places: Vec<_> = found.iter().map(|found| (found.start, found.end, found.weight)).collect();
        assert_eq!(places, [(2, 18, 1), (7, 11, 8)]);
    }

    #[test]
    fn padding_in_front_moves_loops_and_leaves_their_signatures() {
        let moved = [&[0x0f, 0x1f, 0x00][..], &NESTED].concat();
        let (base, head) = (loops(&NESTED), loops(&moved));
        assert!(base.iter().zip(&head).all(|(a, b)| a.signature == b.signature && a.start + 3 == b.start));
        assert_ne!(base[0].signature, base[1].signature);
    }

    #[test]
    fn code_without_a_jump_back_has_no_loop() {
        assert_eq!(loops(&[0x31, 0xc0, 0x75, 0x01, 0x90, 0xc3]), []);
        assert_eq!(loops(&[]), []);
    }
}
