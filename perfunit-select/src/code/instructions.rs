//! Decodes machine instructions: their ends, their operations, and the targets of their jumps.
//!
//! A PC-relative reference is relative to the end of its instruction. On x86-64 the addend of such a relocation is
//! therefore reduced by the distance from the field to that end. Assuming 4 bytes would be wrong if an immediate
//! follows (`cmp dword ptr [rip + x], 7` has 5 bytes, with a 32-bit immediate 8), and would refer to the neighboring
//! constant.
//!
//! An aarch64 instruction has 4 bytes. A table says which of its bits tell the operation; all others are registers,
//! numbers and conditions of operands.

use iced_x86::{Decoder, DecoderOptions, Mnemonic, OpKind};
use object::{Architecture, Object as _, ObjectSection as _, SectionKind};
use perfunit_build::can_decode;

/// An instruction in a range of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    /// Offset of its first byte.
    pub start: u64,
    /// Offset of the first byte after it.
    pub end: u64,
    /// The operation with the kinds of its operands.
    pub operation: u64,
    /// The operation without the sizes of its operands' encodings.
    pub work: u64,
    /// Target of a direct jump that is not a call; wraps around in front of the code.
    pub jump: Option<u64>,
    /// True if it does nothing.
    pub is_padding: bool,
}

/// Decodes code; returns no instructions for processors without a decoder.
pub fn decode(architecture: Architecture, code: &[u8]) -> Vec<Instruction> {
    match architecture {
        Architecture::X86_64 => Decoder::with_ip(64, code, 0, DecoderOptions::NONE).iter().map(of_x86).collect(),
        Architecture::Aarch64 => (0..).step_by(WORD).zip(code.as_chunks().0).map(of_aarch64).collect(),
        _ => Vec::new(),
    }
}

fn of_x86(instruction: iced_x86::Instruction) -> Instruction {
    let mnemonic = instruction.mnemonic();
    let is_jump = instruction.op0_kind() == OpKind::NearBranch64 && mnemonic != Mnemonic::Call;
    Instruction {
        start: instruction.ip(),
        end: instruction.next_ip(),
        operation: instruction.code() as u64,
        work: (mnemonic as u64) << 8 | u64::from(instruction.op_count()),
        jump: is_jump.then(|| instruction.near_branch_target()),
        is_padding: mnemonic == Mnemonic::Nop,
    }
}

/// Length of an aarch64 instruction, bytes.
const WORD: usize = 4;
/// aarch64's `nop`.
const NOP: u32 = 0xd503_201f;

fn of_aarch64((start, bytes): (u64, &[u8; WORD])) -> Instruction {
    let word = u32::from_le_bytes(*bytes);
    let operation = aarch64_operation(word);
    let jump = aarch64_distance(word).map(|distance| start.wrapping_add_signed(distance));
    Instruction { start, end: start + WORD as u64, operation, work: operation, jump, is_padding: word == NOP }
}

/// Returns the distance to the target of a direct jump that is not a call.
fn aarch64_distance(word: u32) -> Option<i64> {
    // Lowest bit and number of bits of the field, which counts instructions.
    let (low, bits) = match word {
        _ if word & 0xfc00_0000 == 0x1400_0000 => (0, 26),
        // `b.cond`, `cbz` and `cbnz`.
        _ if word & 0xff00_0000 == 0x5400_0000 || word & 0x7e00_0000 == 0x3400_0000 => (5, 19),
        // `tbz` and `tbnz`.
        _ if word & 0x7e00_0000 == 0x3600_0000 => (5, 14),
        // Compare and branch of Armv9.6.
        _ if word & 0x7e00_0000 == 0x7400_0000 => (5, 9),
        _ => return None,
    };
    let field = (word << (32 - low - bits)).cast_signed() >> (32 - bits);
    Some(i64::from(field) * 4)
}

/// Kinds of aarch64 instructions, the more specific ones first: the bits that tell the kind, their values, and the
/// bits that tell the operation.
const AARCH64_KINDS: [(u32, u32, u32); 51] = [
    // Immediate operands: addresses, arithmetic, logic, moves, bit fields.
    (0x1f00_0000, 0x1000_0000, 0x9f00_0000),
    (0x1f80_0000, 0x1100_0000, 0xff80_0000),
    (0x1f80_0000, 0x1180_0000, 0xffc0_0000),
    (0x1f80_0000, 0x1200_0000, 0xff80_0000),
    (0x1f80_0000, 0x1280_0000, 0xff80_0000),
    (0x1f80_0000, 0x1300_0000, 0xff80_0000),
    (0x1f80_0000, 0x1380_0000, 0xffa0_0000),
    // Jumps, direct and indirect, exceptions, hints, system registers.
    (0x7c00_0000, 0x1400_0000, 0xfc00_0000),
    (0xff00_0000, 0x5400_0000, 0xff00_001f),
    (0x7e00_0000, 0x3400_0000, 0xff00_0000),
    (0x7e00_0000, 0x3600_0000, 0x7f00_0000),
    (0x7f00_0000, 0x7400_0000, 0xffe0_c000),
    (0x7f00_0000, 0x7500_0000, 0xffe0_4000),
    (0xff00_0000, 0xd400_0000, 0xffe0_001f),
    (0xfe00_0000, 0xd600_0000, 0xffff_fc00),
    (0xffff_f01f, 0xd503_201f, 0xffff_ffff),
    (0xff00_0000, 0xd500_0000, 0xffff_ffe0),
    // Loads and stores: literals, unscaled with ordering, pairs, with an offset, atomic, exclusive, of structures.
    (0x3b00_0000, 0x1800_0000, 0xff00_0000),
    (0x3f00_0000, 0x1900_0000, 0xffe0_0c00),
    (0x3a00_0000, 0x2800_0000, 0xffc0_0000),
    (0x3b00_0000, 0x3900_0000, 0xffc0_0000),
    (0x3b20_0000, 0x3800_0000, 0xffe0_0c00),
    (0x3b20_0c00, 0x3820_0800, 0xffe0_0c00),
    (0x3b20_0c00, 0x3820_0000, 0xffe0_fc00),
    (0x3b20_0000, 0x3820_0000, 0xffa0_0c00),
    (0x3f00_0000, 0x0800_0000, 0xffe0_8000),
    (0xbf00_0000, 0x0c00_0000, 0xffe0_fc00),
    (0xbf00_0000, 0x0d00_0000, 0xffe0_fc00),
    // Register operands: logic, arithmetic, conditions, one to three sources.
    (0x1f00_0000, 0x0a00_0000, 0xff20_0000),
    (0x1f20_0000, 0x0b00_0000, 0xff20_0000),
    (0x1f20_0000, 0x0b20_0000, 0xffe0_0000),
    (0x1fe0_0000, 0x1a00_0000, 0xffe0_fc00),
    (0x1fe0_0000, 0x1a40_0000, 0xffe0_0c10),
    (0x1fe0_0000, 0x1a80_0000, 0xffe0_0c00),
    (0x5fe0_0000, 0x5ac0_0000, 0xffff_fc00),
    (0x5fe0_0000, 0x1ac0_0000, 0xffe0_fc00),
    (0x1f00_0000, 0x1b00_0000, 0xffe0_8000),
    // Scalar floating point: conversions, one source, comparisons, immediates, conditions, two and three sources.
    (0x5f20_fc00, 0x1e20_0000, 0xffff_fc00),
    (0x5f20_0000, 0x1e00_0000, 0xffff_0000),
    (0x5f20_7c00, 0x1e20_4000, 0xffff_fc00),
    (0x5f20_3c00, 0x1e20_2000, 0xffe0_fc1f),
    (0x5f20_1c00, 0x1e20_1000, 0xffe0_1c00),
    (0x5f20_0c00, 0x1e20_0400, 0xffe0_0c10),
    (0x5f20_0c00, 0x1e20_0c00, 0xffe0_0c00),
    (0x5f20_0c00, 0x1e20_0800, 0xffe0_fc00),
    (0x5f00_0000, 0x1f00_0000, 0xffe0_8000),
    // Vectors: one source, immediates, shifts by immediates, by element, and all others.
    (0x0f3e_0c00, 0x0e20_0800, 0xffff_fc00),
    (0x0f3e_0c00, 0x0e30_0800, 0xffff_fc00),
    (0x9ff8_0400, 0x0f00_0400, 0xfff8_fc00),
    (0x8f80_0400, 0x0f00_0400, 0xff80_fc00),
    (0x8f00_0400, 0x0f00_0000, 0xffc0_f400),
];
/// The bits that tell the operation of an instruction of any other kind.
const AARCH64_OTHER: u32 = 0xffe0_fc00;

/// Returns the operation of an aarch64 instruction: the number of its kind and the bits that tell operations apart.
fn aarch64_operation(word: u32) -> u64 {
    let kind = AARCH64_KINDS.iter().position(|(mask, value, _)| word & mask == *value);
    let kept = kind.map_or(AARCH64_OTHER, |kind| AARCH64_KINDS[kind].2);
    (kind.unwrap_or(AARCH64_KINDS.len()) as u64) << 32 | u64::from(word & kept)
}

/// RIP-relative operands in a range of code.
#[derive(Debug)]
pub(super) struct Instructions {
    /// Offsets of the displacement field and of the end of its instruction, ascending.
    fields: Vec<(u64, u64)>,
}

impl Instructions {
    /// Decodes the code from the first to the last byte.
    pub fn decode(code: &[u8]) -> Self {
        let mut decoder = Decoder::with_ip(64, code, 0, DecoderOptions::NONE);
        let mut instruction = iced_x86::Instruction::default();
        let mut fields = Vec::new();
        while decoder.can_decode() {
            decoder.decode_out(&mut instruction);
            if instruction.is_ip_rel_memory_operand() {
                let field = decoder.get_constant_offsets(&instruction).displacement_offset();
                fields.push((instruction.ip() + field as u64, instruction.next_ip()));
            }
        }
        Self { fields }
    }

    /// Returns the number of bytes from the field to the end of its instruction; `None` if no operand starts there, as
    /// in data between functions.
    pub fn bytes_to_end(&self, field: u64) -> Option<u64> {
        let at = self.fields.binary_search_by_key(&field, |(field, _)| *field).ok()?;
        Some(self.fields[at].1 - field)
    }
}

/// Machine code of an executable.
#[derive(Debug)]
pub struct Operations {
    architecture: Architecture,
    /// Addresses and bytes of its sections; empty for processors without a decoder.
    sections: Vec<(u64, Vec<u8>)>,
}

impl Default for Operations {
    fn default() -> Self {
        Self { architecture: Architecture::Unknown, sections: Vec::new() }
    }
}

impl Operations {
    /// Reads the machine code of an executable.
    pub fn read(executable: &[u8]) -> Self {
        let Ok(file) = object::File::parse(executable) else { return Self::default() };
        if !can_decode(file.architecture()) {
            return Self::default();
        }
        let code = file.sections().filter(|section| section.kind() == SectionKind::Text);
        let sections = code.filter_map(|section| Some((section.address(), section.data().ok()?.to_vec())));
        Self { architecture: file.architecture(), sections: sections.collect() }
    }

    /// Returns a number that identifies the operation and the kinds of its operands; `None` if it is unknown.
    pub fn at(&self, address: u64) -> Option<u64> {
        /// Length of the longest instruction.
        const LONGEST: usize = 15;
        let (start, bytes) = self
            .sections
            .iter()
            .find(|(start, bytes)| address.checked_sub(*start).is_some_and(|offset| offset < bytes.len() as u64))?;
        let code = bytes.get((address - start) as usize..)?;
        let code = &code[..code.len().min(LONGEST)];
        decode(self.architecture, code).first().map(|instruction| instruction.operation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: u32, jump: Option<i64>) {
        let code = [NOP.to_le_bytes(), word.to_le_bytes()].concat();
        let [padding, instruction] = decode(Architecture::Aarch64, &code)[..] else { panic!("two instructions") };
        assert!(padding.is_padding && !instruction.is_padding);
        assert_eq!((instruction.start, instruction.end), (4, 8));
        assert_eq!(instruction.jump.map(|target| target.wrapping_sub(4).cast_signed()), jump, "{word:08x}");
    }

    #[test]
    fn jumps_of_aarch64_are_decoded_with_their_targets() {
        check(0x17ff_fffe, Some(-8)); // b .-8
        check(0x1400_0002, Some(8)); // b .+8
        check(0x54ff_ff61, Some(-20)); // b.ne .-20
        check(0xb500_0043, Some(8)); // cbnz x3, .+8
        check(0x3637_ffe4, Some(-4)); // tbz w4, #6, .-4
        check(0x9400_0002, None); // bl .+8
        check(0xd61f_0100, None); // br x8
        check(0xd65f_03c0, None); // ret
    }

    #[test]
    fn an_operation_of_aarch64_has_no_registers_and_numbers() {
        let operation = |word: u32| decode(Architecture::Aarch64, &word.to_le_bytes())[0].operation;
        // `add x8, x9, #1` and `add x0, x1, #4095`; `adrp` of two pages; `ldr x0, [x1, #8]` and `ldr x8, [sp]`.
        for [one, other] in [[0x9100_0528, 0x913f_fc20], [0x9000_0000, 0xf0ff_ffe8], [0xf940_0420, 0xf940_03e8]] {
            assert_eq!(operation(one), operation(other));
        }
        // `add` and `sub`; 32 and 64 bits; `ldr` and `str`; `b.eq` and `b.ne`.
        for [one, other] in [
            [0x9100_0528, 0xd100_0528],
            [0x9100_0528, 0x1100_0528],
            [0xf940_0420, 0xf900_0420],
            [0x5400_0000, 0x5400_0001],
        ] {
            assert_ne!(operation(one), operation(other));
        }
    }

    #[test]
    fn a_trailing_immediate_belongs_to_the_instruction() {
        // cmp dword ptr [rip + 0], 7; lea rax, [rip + 0]
        let code = [0x83, 0x3d, 0, 0, 0, 0, 7, 0x48, 0x8d, 0x05, 0, 0, 0, 0];
        let instructions = Instructions::decode(&code);
        assert_eq!(instructions.bytes_to_end(2), Some(5));
        assert_eq!(instructions.bytes_to_end(10), Some(4));
        assert_eq!(instructions.bytes_to_end(3), None);
    }
}
