//! The object file that holds the gaps.

use super::plan::Gap;
use object::elf;
use object::write::{Object, Symbol, SymbolSection};
use object::{Architecture, BinaryFormat, Endianness, SectionFlags, SectionKind, SymbolFlags, SymbolKind, SymbolScope};
use perfunit_model::NoLayout;

/// What is never executed traps: `int3` on x86-64, an undefined instruction elsewhere.
const TRAP: u8 = 0xcc;

/// An object with a section and a symbol for each gap.
pub(super) fn object(gaps: &[Gap], architecture: Architecture) -> Result<Vec<u8>, NoLayout> {
    let mut object = Object::new(BinaryFormat::Elf, architecture, Endianness::Little);
    for gap in gaps {
        // Retained although nothing refers to it.
        let section = object.add_section(Vec::new(), format!(".text.{}", gap.name).into_bytes(), SectionKind::Text);
        object.section_mut(section).flags = SectionFlags::Elf {
            sh_type: elf::SHT_PROGBITS,
            sh_flags: elf::SHF_ALLOC | elf::SHF_EXECINSTR | elf::SHF_GNU_RETAIN,
        };
        object.append_section_data(section, &vec![TRAP; gap.size as usize], gap.align);
        object.add_symbol(Symbol {
            name: gap.name.clone().into_bytes(),
            value: 0,
            size: 0,
            kind: SymbolKind::Text,
            scope: SymbolScope::Compilation,
            weak: false,
            section: SymbolSection::Section(section),
            flags: SymbolFlags::None,
        });
    }
    // Without this note a linker would take the stack for executable.
    object.add_section(Vec::new(), b".note.GNU-stack".to_vec(), SectionKind::Other);
    object.write().map_err(|error| NoLayout::NoGaps { why: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::{Object as _, ObjectSection as _, ObjectSymbol as _};

    #[test]
    fn every_gap_is_a_section_with_a_symbol() {
        let gap = |name: &str, align, size| Gap { name: name.to_owned(), align, size };
        let bytes = object(&[gap("first", 64, 48), gap("second", 1, 7)], Architecture::X86_64).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let sections: Vec<_> = file
            .sections()
            .filter(|section| section.kind() == SectionKind::Text)
            .map(|section| (section.name().unwrap().to_owned(), section.align(), section.size()))
            .collect();
        assert_eq!(sections, [(".text.first".to_owned(), 64, 48), (".text.second".to_owned(), 1, 7)]);
        let names: Vec<_> = file.symbols().filter_map(|symbol| symbol.name().ok()).collect();
        assert!(names.contains(&"first") && names.contains(&"second"), "{names:?}");
        assert!(file.section_by_name(".note.GNU-stack").is_some());
    }
}
