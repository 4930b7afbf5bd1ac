//! What single instructions of an executable do.

use iced_x86::{Decoder, DecoderOptions};
use object::{Architecture, Object as _, ObjectSection as _, SectionKind};

/// The machine code of an executable.
#[derive(Debug, Default)]
pub struct Operations {
    /// Addresses and bytes of its sections; none of a processor whose instructions we do not decode.
    sections: Vec<(u64, Vec<u8>)>,
}

impl Operations {
    /// Those of an executable.
    pub fn read(executable: &[u8]) -> Self {
        let Ok(file) = object::File::parse(executable) else { return Self::default() };
        if file.architecture() != Architecture::X86_64 {
            return Self::default();
        }
        let code = file.sections().filter(|section| section.kind() == SectionKind::Text);
        let sections = code.filter_map(|section| Some((section.address(), section.data().ok()?.to_vec())));
        Self { sections: sections.collect() }
    }

    /// A number that stands for the operation and the kinds of its operands; `None` if it is not known.
    pub fn at(&self, address: u64) -> Option<u16> {
        let (start, bytes) = self
            .sections
            .iter()
            .find(|(start, bytes)| address.checked_sub(*start).is_some_and(|offset| offset < bytes.len() as u64))?;
        let code = bytes.get((address - start) as usize..)?;
        Some(Decoder::with_ip(64, code, address, DecoderOptions::NONE).decode().code() as u16)
    }
}
