//! Objects that the available compilers do not create reliably: certain relocations, another machine.

use super::support::{between, changed_code, same};
use crate::code::{Unit, What, read};
use object::elf;
use object::write::{Object, Relocation, SectionId, Symbol, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, RelocationFlags, SectionFlags, SectionKind, SymbolFlags, SymbolKind,
    SymbolScope,
};
use perfunit_build::CompiledFiles;
use std::sync::Arc;

/// A relocation of this kind at `field` in a function's code.
#[derive(Clone, Copy)]
struct Field {
    at: u64,
    kind: u32,
    addend: i64,
}

/// Builds an object with a descriptor of the test `a_test` that calls a function with this code. The field refers to
/// the section that holds these constants, 4 bytes each, by the section symbol plus the addend.
fn object(machine: Architecture, code: &[u8], constants: &[u32], field: Field) -> Arc<Unit> {
    let Field { at, kind, addend } = field;
    let mut object = Object::new(BinaryFormat::Elf, machine, Endianness::Little);
    let text = object.add_section(Vec::new(), b".text.shim".to_vec(), SectionKind::Text);
    object.append_section_data(text, code, 16);
    let merged = object.add_section(Vec::new(), b".rodata.cst4".to_vec(), SectionKind::ReadOnlyData);
    let bytes: Vec<u8> = constants.iter().flat_map(|constant| constant.to_le_bytes()).collect();
    object.append_section_data(merged, &bytes, 4);
    object.section_mut(merged).flags = SectionFlags::Elf {
        sh_type: elf::SHT_PROGBITS,
        sh_flags: elf::SectionFlags(elf::SHF_ALLOC.0 | elf::SHF_MERGE.0),
    };
    let name = object.add_section(Vec::new(), b".rodata.name".to_vec(), SectionKind::ReadOnlyData);
    object.append_section_data(name, b"a_test", 1);
    let descriptor = object.add_section(Vec::new(), b".data.rel.ro.it".to_vec(), SectionKind::ReadOnlyDataWithRel);
    object.append_section_data(descriptor, &[[0; 8], 6_u64.to_le_bytes(), [0; 8]].concat(), 8);
    let pointer = if machine == Architecture::Aarch64 { elf::R_AARCH64_ABS64.0 } else { elf::R_X86_64_64.0 };
    let mut relate = |from: SectionId, offset: u64, to: SectionId, kind: u32, addend: i64| {
        let symbol = object.section_symbol(to);
        let flags = RelocationFlags::Elf { r_type: elf::RelocationType(kind) };
        object.add_relocation(from, Relocation { offset, symbol, addend, flags }).unwrap();
    };
    relate(descriptor, 0, name, pointer, 0);
    relate(descriptor, 16, text, pointer, 0);
    relate(text, at, merged, kind, addend);
    object.add_symbol(Symbol {
        name: b"shim".to_vec(),
        value: 0,
        size: code.len() as u64,
        kind: SymbolKind::Text,
        scope: SymbolScope::Compilation,
        weak: false,
        section: SymbolSection::Section(text),
        flags: SymbolFlags::None,
    });
    let bytes = with_entry_size(object.write().unwrap());
    Arc::new(read("synthetic.o", &bytes, &CompiledFiles::default()).unwrap())
}

/// Writes the entry size, which the writer does not support, into the header of the one mergeable section.
fn with_entry_size(mut bytes: Vec<u8>) -> Vec<u8> {
    let number = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let (headers, count) = (number(&bytes, 40), usize::from(bytes[60]));
    for header in (0..count).map(|index| headers + 64 * index) {
        if number(&bytes, header + 8) as u64 & elf::SHF_MERGE.0 != 0 {
            bytes[header + 56] = 4;
        }
    }
    bytes
}

/// Checks which of two constants the test's code refers to: the other one may change.
#[track_caller]
fn means(machine: Architecture, code: &[u8], field: Field, index: usize) {
    let with = |constants: [u32; 3]| object(machine, code, &constants, field);
    let base = with([10, 20, 30]);
    for at in 0..3 {
        let mut constants = [10, 20, 30];
        constants[at] += 1;
        let comparison = between(&[&base], &[&with(constants)], &["a_test"]);
        if at == index {
            let code = &changed_code(&comparison, "a_test").frontier[0];
            assert_eq!((code.name.as_str(), &code.what), ("shim", &What::Data("a constant".to_owned())));
        } else {
            same(&comparison, "a_test");
        }
    }
}

#[test]
fn a_relative_operand_counts_from_the_end_of_its_instruction() {
    let x86 = Architecture::X86_64;
    let relative = |addend| Field { at: 2, kind: elf::R_X86_64_PC32.0, addend };
    // mov eax, [rip + x]: the field ends the instruction.
    means(x86, &[0x8b, 0x05, 0, 0, 0, 0, 0xc3], relative(4 - 4), 1);
    // cmp dword ptr [rip + x], 7: one byte follows.
    means(x86, &[0x83, 0x3d, 0, 0, 0, 0, 7, 0xc3], relative(4 - 5), 1);
    // mov dword ptr [rip + x], 7: four bytes follow.
    means(x86, &[0xc7, 0x05, 0, 0, 0, 0, 7, 0, 0, 0, 0xc3], relative(8 - 8), 2);
}

#[test]
fn on_aarch64_the_addend_is_the_offset() {
    let arm = Architecture::Aarch64;
    // adrp x0, x; ldr w0, [x0, :lo12:x]; ret
    let code = [0x9000_0000_u32, 0xb940_0000, 0xd65f_03c0].map(u32::to_le_bytes).concat();
    for index in 0..3 {
        let addend = 4 * i64::try_from(index).unwrap();
        means(arm, &code, Field { at: 4, kind: elf::R_AARCH64_LDST32_ABS_LO12_NC.0, addend }, index);
        means(arm, &code, Field { at: 0, kind: elf::R_AARCH64_ADR_PREL_PG_HI21.0, addend }, index);
    }
}

#[test]
fn where_the_constant_meant_is_unknown_all_of_them_are() {
    // The field is not an operand of an instruction.
    let code = [0xc3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90];
    let with = |last: u32| {
        object(Architecture::X86_64, &code, &[10, last], Field { at: 2, kind: elf::R_X86_64_PC32.0, addend: 0 })
    };
    let comparison = between(&[&with(20)], &[&with(21)], &["a_test"]);
    assert_eq!(changed_code(&comparison, "a_test").frontier[0].what, What::Code);
    same(&between(&[&with(20)], &[&with(20)], &["a_test"]), "a_test");
}
