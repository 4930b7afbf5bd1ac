//! Decodes machine instructions: their ends and their operations.
//!
//! A PC-relative reference is relative to the end of its instruction. On x86-64 the addend of such a relocation is
//! therefore reduced by the distance from the field to that end. Assuming 4 bytes would be wrong if an immediate
//! follows (`cmp dword ptr [rip + x], 7` has 5 bytes, with a 32-bit immediate 8), and would refer to the neighboring
//! constant.

use iced_x86::{Decoder, DecoderOptions, Instruction};
use object::{Architecture, Object as _, ObjectSection as _, SectionKind};

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

    /// Returns the number of bytes from the field to the end of its instruction; `None` if no operand starts there, as
    /// in data between functions.
    pub fn bytes_to_end(&self, field: u64) -> Option<u64> {
        let at = self.fields.binary_search_by_key(&field, |(field, _)| *field).ok()?;
        Some(self.fields[at].1 - field)
    }
}

/// Machine code of an executable.
#[derive(Debug, Default)]
pub struct Operations {
    /// Addresses and bytes of its sections; empty for processors without a decoder.
    sections: Vec<(u64, Vec<u8>)>,
}

impl Operations {
    /// Reads the machine code of an executable.
    pub fn read(executable: &[u8]) -> Self {
        let Ok(file) = object::File::parse(executable) else { return Self::default() };
        if file.architecture() != Architecture::X86_64 {
            return Self::default();
        }
        let code = file.sections().filter(|section| section.kind() == SectionKind::Text);
        let sections = code.filter_map(|section| Some((section.address(), section.data().ok()?.to_vec())));
        Self { sections: sections.collect() }
    }

    /// Returns a number that identifies the operation and the kinds of its operands; `None` if it is unknown.
    pub fn at(&self, address: u64) -> Option<u16> {
        let (start, bytes) = self
            .sections
            .iter()
            .find(|(start, bytes)| address.checked_sub(*start).is_some_and(|offset| offset < bytes.len() as u64))?;
        let code = bytes.get((address - start) as usize..)?;
        Some(Decoder::with_ip(64, code, address, DecoderOptions::NONE).decode().code() as u16)
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
