//! A plan as linker input: an object file that holds the gaps and, for GNU ld, a script with the order of functions.
//!
//! Only lld accepts lists of symbols. Every version of GNU ld can place sections into an output section in the order of a
//! script, and compilers put each function into a section of the same name.

use super::ORDERED;
use super::data::is_plain;
use super::plan::Gap;
use object::write::{Object, Symbol, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, SectionFlags, SectionKind, SymbolFlags, SymbolKind, SymbolScope, elf,
};
use perfunit_model::NoLayout;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The content of gaps, which traps if it is executed: `int3` on x86-64, an undefined instruction elsewhere.
const TRAP: u8 = 0xcc;

/// Builds an object file with a section and a symbol for each gap.
pub(super) fn gap_object(gaps: &[Gap], architecture: Architecture) -> Result<Vec<u8>, NoLayout> {
    let mut object = Object::new(BinaryFormat::Elf, architecture, Endianness::Little);
    for gap in gaps {
        // The linker must retain the section although it has no references.
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
    // Without this note a linker would make the stack executable.
    object.add_section(Vec::new(), b".note.GNU-stack".to_vec(), SectionKind::Other);
    object.write().map_err(|error| NoLayout::NoGaps { why: error.to_string() })
}

/// The prefixes by which compilers turn a function's name into that of its section.
const BEFORE_NAMES: [&str; 5] = [".text.", ".text.unlikely.", ".text.hot.", ".text.startup.", ".text.exit."];

/// Returns the script; `aliases` are other names of functions, any of which may be the name of the section.
pub(super) fn order_script(order: &[String], gaps: &[Gap], aliases: &BTreeMap<String, Vec<String>>) -> String {
    let gaps: BTreeSet<&str> = gaps.iter().map(|gap| gap.name.as_str()).collect();
    let mut script = format!("SECTIONS {{ {ORDERED} : {{\n");
    for name in order {
        if gaps.contains(name.as_str()) {
            // The linker must retain the section although it has no references.
            let _ = writeln!(script, "  KEEP(*(.text.{name}))");
            continue;
        }
        let aliases = aliases.get(name).map(Vec::as_slice).unwrap_or_default();
        let names = std::iter::once(name).chain(aliases).filter(|name| is_plain(name));
        let sections = names.flat_map(|name| BEFORE_NAMES.map(|before| format!("{before}{name}")));
        let sections: Vec<String> = sections.collect();
        if !sections.is_empty() {
            let _ = writeln!(script, "  *({})", sections.join(" "));
        }
    }
    script.push_str("} } INSERT BEFORE .text;\n");
    script
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::{Object as _, ObjectSection as _, ObjectSymbol as _};

    #[test]
    fn every_gap_is_a_section_with_a_symbol() {
        let gap = |name: &str, align, size| Gap { name: name.to_owned(), align, size };
        let bytes = gap_object(&[gap("first", 64, 48), gap("second", 1, 7)], Architecture::X86_64).unwrap();
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

    #[test]
    fn a_script_names_the_sections_of_functions_in_order() {
        let gap = Gap { name: "perfunit_before_0".to_owned(), align: 64, size: 64 };
        let aliases = BTreeMap::from([("b".to_owned(), vec!["c".to_owned()])]);
        let names = ["perfunit_before_0", "b", "a*", "a"].map(str::to_owned);
        let script = order_script(&names, &[gap], &aliases);
        let lines: Vec<&str> = script.lines().collect();
        assert_eq!(lines.len(), 5, "{script}");
        assert_eq!(lines[1], "  KEEP(*(.text.perfunit_before_0))");
        assert!(lines[2].contains(" .text.unlikely.b ") && lines[2].contains(" .text.hot.c "), "{script}");
        assert!(lines[3].starts_with("  *(.text.a .text.unlikely.a "), "{script}");
        assert_eq!(lines[4], "} } INSERT BEFORE .text;");
    }
}
