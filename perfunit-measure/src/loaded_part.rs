//! Files that become the program of one version or the other when the part that the system loads is overwritten.
//!
//! Debug information is often ten times as large as the rest of a program. Such a file begins with the loaded part of one
//! version, followed by the rest of both versions: symbols, debug information and section headers. Only the headers name
//! the place of these in the file.

use object::LittleEndian;
use object::elf::{FileHeader64, PT_GNU_RELRO, SectionHeader64};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use perfunit_model::{Side, Sides};
use std::mem::offset_of;

/// A multiple of all alignments in a file, in bytes.
const ALIGNMENT: usize = 65_536;

/// Largest size of two programs that are put in one file, in bytes: both are in memory meanwhile.
const MOST_BYTES: usize = 512 << 20;

/// The places of two programs in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrangement {
    parts: Sides<Parts>,
    /// Length of the part that is overwritten, in bytes.
    start: usize,
    /// Length of the file, in bytes.
    pub length: usize,
    /// Distance of each program's rest from its place in the program, in bytes.
    moved: Sides<usize>,
}

impl Arrangement {
    /// Arranges two programs. Returns `None` if one is not an ELF file of 64 bits, or has data outside its sections, or if they
    /// are too large to be in one file.
    pub fn of(programs: Sides<&[u8]>) -> Option<Self> {
        if programs.base.len() + programs.head.len() > MOST_BYTES {
            return None;
        }
        let parts = Sides { base: Parts::of(programs.base)?, head: Parts::of(programs.head)? };
        let start = parts.base.loaded.max(parts.head.loaded).next_multiple_of(ALIGNMENT);
        let after = |end: usize, side: Side| {
            let loaded = parts.get(side).loaded;
            end.next_multiple_of(ALIGNMENT) + loaded % ALIGNMENT - loaded
        };
        let base = after(start, Side::Base);
        let head = after(base + programs.base.len(), Side::Head);
        Some(Self { parts, start, length: head + programs.head.len(), moved: Sides { base, head } })
    }

    /// Returns the length of a side's loaded part, in bytes.
    pub fn loaded_len(&self, side: Side) -> usize {
        self.parts.get(side).loaded
    }

    /// Returns the start of the file with a side's program, given its loaded part.
    pub fn start(&self, side: Side, loaded: &[u8]) -> Vec<u8> {
        let mut start = loaded.to_vec();
        start.resize(self.start, 0);
        add(&mut start, offset_of!(FileHeader64<LittleEndian>, e_shoff), *self.moved.get(side));
        start
    }

    /// Returns the whole file with a side's program.
    pub fn whole(&self, side: Side, programs: Sides<&[u8]>) -> Vec<u8> {
        let mut file = Vec::with_capacity(self.length);
        file.extend(self.start(side, &programs.get(side)[..self.loaded_len(side)]));
        for side in Side::BOTH {
            let (loaded, moved) = (self.loaded_len(side), *self.moved.get(side));
            file.resize(loaded + moved, 0);
            file.extend_from_slice(&programs.get(side)[loaded..]);
            self.parts.get(side).offsets.iter().for_each(|place| add(&mut file, place + moved, moved));
        }
        file
    }
}

/// Adds to the number of 64 bits at a place.
fn add(bytes: &mut [u8], place: usize, moved: usize) {
    if let Some(number) = bytes.get_mut(place..).and_then(|bytes| bytes.first_chunk_mut()) {
        *number = (u64::from_le_bytes(*number) + moved as u64).to_le_bytes();
    }
}

/// The loaded part of one program, and the references to the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Parts {
    /// Length of the part that the system loads, in bytes.
    loaded: usize,
    /// Places of the section headers' offsets that point behind the loaded part.
    offsets: Vec<usize>,
}

impl Parts {
    fn of(program: &[u8]) -> Option<Self> {
        let header = FileHeader64::<LittleEndian>::parse(program).ok()?;
        let end = |(offset, size): (u64, u64)| usize::try_from(offset.checked_add(size)?).ok();
        let segments = header.program_headers(LittleEndian, program).ok()?;
        // The range that becomes read-only is one of addresses, and can be longer than what the file holds of it.
        let in_file = segments.iter().filter(|segment| segment.p_type(LittleEndian) != PT_GNU_RELRO);
        let ends = in_file.map(|segment| end(segment.file_range(LittleEndian)));
        let of_headers = (header.e_phoff.get(LittleEndian), size_of_val(segments) as u64);
        let loaded = ends.chain([end(of_headers)]).collect::<Option<Vec<_>>>()?.into_iter().max()?;
        let sections = header.section_headers(LittleEndian, program).ok()?;
        let headers = usize::try_from(header.e_shoff.get(LittleEndian)).ok()?;
        let mut last = headers.checked_add(size_of_val(sections))?;
        let mut offsets = Vec::new();
        for (index, section) in sections.iter().enumerate() {
            let Some(range) = section.file_range(LittleEndian) else { continue };
            last = last.max(end(range)?);
            if range.0 >= loaded as u64 {
                let place = headers + index * size_of::<SectionHeader64<LittleEndian>>();
                offsets.push(place + offset_of!(SectionHeader64<LittleEndian>, sh_offset));
            } else if end(range)? > loaded {
                return None;
            }
        }
        (headers >= loaded && last == program.len()).then_some(Self { loaded, offsets })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::{Object as _, ObjectSection as _, ObjectSymbol as _};
    use perfunit_system::fs;

    /// A section or symbol: name, address, and the section's content.
    type Entry = (String, u64, Vec<u8>);

    /// Returns the sections and symbols of a program.
    fn contents(program: &[u8]) -> Vec<Entry> {
        let file = object::File::parse(program).unwrap();
        let sections = file.sections().map(|section| {
            (section.name().unwrap().to_owned(), section.address(), section.data().unwrap_or_default().to_vec())
        });
        let named = |symbol: object::Symbol<'_, '_>| {
            (symbol.name().unwrap_or_default().to_owned(), symbol.address(), Vec::new())
        };
        sections.chain(file.symbols().map(named)).collect()
    }

    /// Returns the running executable, which is larger than one page and has symbols.
    fn program() -> Vec<u8> {
        fs::read(&std::env::current_exe().unwrap()).unwrap()
    }

    #[test]
    fn a_file_holds_the_program_whose_loaded_part_is_at_its_start() {
        let base = program();
        let mut head = base.clone();
        let loaded = Parts::of(&base).unwrap().loaded;
        head[loaded - 1] ^= 1;
        let programs = Sides { base: base.as_slice(), head: head.as_slice() };
        let arrangement = Arrangement::of(programs).unwrap();
        let mut file = arrangement.whole(Side::Base, programs);
        assert_eq!(contents(&file), contents(&base));
        let start = arrangement.start(Side::Head, &head[..arrangement.loaded_len(Side::Head)]);
        file[..start.len()].copy_from_slice(&start);
        assert_eq!(contents(&file), contents(&head));
        assert_eq!(file, arrangement.whole(Side::Head, programs));
    }

    #[test]
    fn a_program_with_data_behind_its_sections_stays_whole() {
        let program = program();
        let packed = [program.as_slice(), b"archive"].concat();
        assert_eq!(Arrangement::of(Sides { base: &program, head: &packed }), None);
        assert_eq!(Arrangement::of(Sides { base: b"#!/bin/sh", head: b"#!/bin/sh" }), None);
    }
}
