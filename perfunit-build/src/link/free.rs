//! Copies of a link's inputs in which some functions may begin at any byte.
//!
//! Compilers align functions to 16 bytes, and a linker keeps to that. What an edit moved inside of a function by other
//! bytes could then never be put where it was, and lies there in every layout.

use super::record::LinkRecord;
use object::read::archive::ArchiveFile;
use object::{Architecture, File, Object, ObjectSection, ObjectSymbol, SectionIndex, SymbolKind};
use perfunit_model::error::Result;
use perfunit_system::fs;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Compilers align functions, and the loops for which that pays, to so many bytes. What is aligned to more is so on purpose.
pub const ALIGNMENT: u64 = 16;

/// What was freed in the inputs of a link.
#[derive(Debug, Clone, Default)]
pub struct Freed {
    /// The functions that may begin at any byte now.
    pub functions: BTreeSet<String>,
    /// Copies that take the place of inputs, by their numbers.
    pub(super) inputs: BTreeMap<usize, PathBuf>,
}

/// Frees these functions of x86-64 code, as far as each has a section of its own, in copies in a folder.
pub fn free(link: &Path, functions: &BTreeSet<&str>, folder: &Path) -> Result<Freed> {
    let record = LinkRecord::load(link)?;
    let mut freed = Freed::default();
    for (number, kept) in record.numbered_inputs() {
        let mut bytes = fs::read(&kept)?;
        let places = places(&bytes, functions);
        if places.is_empty() {
            continue;
        }
        for (name, place) in places {
            bytes[place].copy_from_slice(&1u64.to_le_bytes());
            freed.functions.insert(name);
        }
        let copy = folder.join(kept.file_name().unwrap_or_default());
        fs::write(&copy, bytes)?;
        freed.inputs.insert(number, copy);
    }
    Ok(freed)
}

/// Where an object, or each in an archive, says to what the sections of these functions are aligned.
fn places(bytes: &[u8], functions: &BTreeSet<&str>) -> Vec<(String, Range<usize>)> {
    let Ok(archive) = ArchiveFile::parse(bytes) else { return in_object(bytes, 0..bytes.len(), functions) };
    let ranges = archive.members().filter_map(|member| {
        let (start, size) = member.ok()?.file_range();
        Some(start as usize..(start as usize).checked_add(size as usize)?)
    });
    ranges.flat_map(|range| in_object(bytes, range, functions)).collect()
}

fn in_object(bytes: &[u8], range: Range<usize>, functions: &BTreeSet<&str>) -> Vec<(String, Range<usize>)> {
    let start = range.start;
    let Some(file) = bytes.get(range).and_then(|bytes| File::parse(bytes).ok()) else { return Vec::new() };
    let File::Elf64(elf) = &file else { return Vec::new() };
    if file.architecture() != Architecture::X86_64 {
        return Vec::new();
    }
    let mut of_sections: BTreeMap<usize, Vec<(&str, u64)>> = BTreeMap::new();
    for symbol in file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text) {
        if let (Some(section), Ok(name)) = (symbol.section_index(), symbol.name()) {
            of_sections.entry(section.0).or_default().push((name, symbol.address()));
        }
    }
    let header = elf.elf_header();
    let endian = elf.endian();
    let (table, entry) = (header.e_shoff.get(endian) as usize, usize::from(header.e_shentsize.get(endian)));
    let mut places = Vec::new();
    for (index, symbols) in of_sections {
        let is_wanted = symbols.iter().all(|(_, address)| *address == 0);
        let name = symbols.iter().map(|(name, _)| *name).find(|name| functions.contains(*name));
        let (true, Some(name)) = (is_wanted, name) else { continue };
        let align = file.section_by_index(SectionIndex(index)).map_or(0, |section| section.align());
        let section = start + table + index * entry;
        let place = section + ADDRALIGN.start..section + ADDRALIGN.end;
        if (1..=ALIGNMENT).contains(&align) && bytes.len() >= place.end {
            places.push((name.to_owned(), place));
        }
    }
    places
}

/// Where a section header of 64 bits has the alignment (`sh_addralign`).
const ADDRALIGN: Range<usize> = 48..56;

#[cfg(test)]
mod tests {
    use super::*;
    use object::write::{Object as Written, Symbol, SymbolSection};
    use object::{BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolScope};

    /// An object with a section for each list of functions, one byte each.
    fn with(sections: &[&[&str]], align: u64) -> Vec<u8> {
        let mut object = Written::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
        for functions in sections {
            let name = format!(".text.{}", functions[0]).into_bytes();
            let section = object.add_section(Vec::new(), name, SectionKind::Text);
            object.append_section_data(section, &vec![0xc3; functions.len()], align);
            for (value, function) in functions.iter().enumerate() {
                object.add_symbol(Symbol {
                    name: function.as_bytes().to_vec(),
                    value: value as u64,
                    size: 1,
                    kind: SymbolKind::Text,
                    scope: SymbolScope::Compilation,
                    weak: false,
                    section: SymbolSection::Section(section),
                    flags: SymbolFlags::None,
                });
            }
        }
        object.write().unwrap()
    }

    /// Alignments of the sections with code once these functions are freed.
    #[track_caller]
    fn check(sections: &[&[&str]], align: u64, freed: &[&str], expected: &[u64]) {
        let mut bytes = with(sections, align);
        let functions = freed.iter().copied().collect();
        for (_, place) in places(&bytes, &functions) {
            bytes[place].copy_from_slice(&1u64.to_le_bytes());
        }
        let file = File::parse(&*bytes).unwrap();
        let code = file.sections().filter(|section| section.kind() == SectionKind::Text && section.size() > 0);
        assert_eq!(code.map(|section| section.align()).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn only_what_was_asked_for_may_begin_anywhere() {
        check(&[&["one"], &["two"], &["three"]], 16, &["two", "four"], &[16, 1, 16]);
    }

    #[test]
    fn what_shares_its_section_or_is_aligned_on_purpose_stays() {
        check(&[&["one", "two"], &["three"]], 16, &["one", "two"], &[16, 16]);
        check(&[&["one"]], 64, &["one"], &[64]);
    }
}
