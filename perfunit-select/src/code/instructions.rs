//! Where instructions end: a PC-relative reference counts from there.
//!
//! On x86-64 the addend of such a relocation is the distance from the field to the end of the instruction taken away
//! from the place meant. "4 bytes" is a guess: an immediate may follow (`cmp dword ptr [rip + x], 7` has 5 bytes, with a
//! 32-bit immediate 8). A wrong guess would name the neighbouring constant.

use iced_x86::{Decoder, DecoderOptions, Instruction};

/// The RIP-relative operands of a stretch of code.
#[derive(Debug)]
pub(super) struct Instructions {
    /// Offsets of the displacement field and of the end of its instruction, ascending.
    fields: Vec<(u64, u64)>,
}

impl Instructions {
    /// Decodes from the first byte to the last.
    pub fn decode(code: &[u8]) -> Self {
        let mut decoder = Decoder::with_ip(64, code, 0, DecoderOptions::NONE);
        let mut instruction = Instruction::default();
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

    /// The number of bytes from the field to the end of its instruction; none if no operand begins there, as in data
    /// between functions.
    pub fn bytes_to_end(&self, field: u64) -> Option<u64> {
        let at = self.fields.binary_search_by_key(&field, |(field, _)| *field).ok()?;
        Some(self.fields[at].1 - field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
