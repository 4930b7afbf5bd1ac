//! Parses a relocatable ELF object: its sections by role, its symbols, its relocations.
//!
//! Everything that depends on the encoding is in this file. The bytes of a relocated field count as content.
//! Relocations with an explicit addend leave the field zero; if one does not, two objects look more different than they
//! are.

use super::names;
use super::unit::{Binding, Kind, Why};
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, Rela, SectionHeader, SectionTable, Sym, SymbolTable};
use object::{LittleEndian, SectionIndex, SymbolIndex};

type Header = FileHeader64<LittleEndian>;
type RawSection = elf::SectionHeader64<LittleEndian>;
const LITTLE: LittleEndian = LittleEndian;

/// A parsed object that borrows from its bytes.
#[derive(Debug)]
pub(super) struct Elf<'data> {
    pub machine: Machine,
    pub sections: Vec<Section<'data>>,
    pub symbols: Vec<ElfSymbol<'data>>,
}

/// Processor architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Machine {
    X86_64,
    Aarch64,
}

#[derive(Debug)]
pub(super) struct Section<'data> {
    pub name: &'data str,
    pub role: Role,
    /// True if it runs before or after `main`.
    pub is_constructor: bool,
    /// Content; empty if it is all zero.
    pub content: &'data [u8],
    pub size: u64,
    pub align: u64,
    /// True if it contains a symbol named by a person.
    pub is_named: bool,
    pub relocations: Vec<Relocation>,
}

/// Role of a section in the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A section that is not loaded or does not affect execution.
    Ignored,
    /// A section that is placed as a whole.
    Whole(Kind),
    /// A section that the linker splits into entries of this size, or into strings with characters of this size.
    Mergeable { size: u64, strings: bool },
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Relocation {
    pub offset: u64,
    pub kind: u32,
    /// Symbol index; 0 for none.
    pub symbol: usize,
    pub addend: i64,
}

#[derive(Debug)]
pub(super) struct ElfSymbol<'data> {
    pub name: &'data str,
    pub place: SymbolPlace,
    pub value: u64,
    pub size: u64,
    pub binding: Binding,
    /// True if the symbol stands for its section as a whole.
    pub is_section: bool,
}

impl ElfSymbol<'_> {
    /// Checks whether no section contains the symbol's definition: the linker allocates it, or it is a plain number.
    pub fn is_an_atom(&self) -> bool {
        self.place == SymbolPlace::Common || (self.place == SymbolPlace::Absolute && self.binding != Binding::Local)
    }
}

/// Location of a symbol's definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SymbolPlace {
    Elsewhere,
    Absolute,
    /// A tentative definition of C: the linker allocates it, and the value is its alignment.
    Common,
    Section(usize),
}

impl Machine {
    /// Returns the relocation type for a whole pointer.
    pub fn pointer(self) -> u32 {
        match self {
            Machine::X86_64 => elf::R_X86_64_64.0,
            Machine::Aarch64 => elf::R_AARCH64_ABS64.0,
        }
    }

    /// Checks whether the addend is relative to the end of the instruction. On aarch64 it never is.
    pub fn counts_from_instruction(self, kind: u32) -> bool {
        let relative = [elf::R_X86_64_PC32.0, elf::R_X86_64_PLT32.0];
        self == Machine::X86_64 && relative.contains(&kind)
    }

    /// Checks whether the addend is the offset from the symbol.
    pub fn is_exact(self, kind: u32) -> bool {
        let absolute = [elf::R_X86_64_64.0, elf::R_X86_64_32.0, elf::R_X86_64_32S.0];
        self == Machine::Aarch64 || absolute.contains(&kind)
    }
}

impl<'data> Elf<'data> {
    pub fn parse(bytes: &'data [u8]) -> Result<Self, Why> {
        // Identification: 64 bit, little-endian. Everything after depends on that.
        if bytes.get(4..6) != Some(&[2, 1]) {
            return Err(Why::OtherForm);
        }
        let header = Header::parse(bytes)?;
        let machine = match header.e_machine(LITTLE) {
            elf::EM_X86_64 => Machine::X86_64,
            elf::EM_AARCH64 => Machine::Aarch64,
            other => return Err(Why::OtherMachine(other.0)),
        };
        match header.e_type(LITTLE) {
            elf::ET_REL => {}
            elf::ET_DYN => return Err(Why::SharedLibrary),
            _ => return Err(Why::NotRelocatable),
        }
        let table = header.sections(LITTLE, bytes)?;
        let symbols = table.symbols(LITTLE, bytes, elf::SHT_SYMTAB)?;
        let mut sections = Vec::with_capacity(table.len());
        for (_, raw) in table.enumerate() {
            sections.push(Section::parse(raw, &table, bytes)?);
        }
        let mut elf = Elf { machine, sections, symbols: parse_symbols(&symbols)? };
        elf.check_symbols()?;
        elf.add_relocations(&table, bytes)?;
        Ok(elf)
    }

    fn add_relocations(&mut self, table: &SectionTable<'data, Header>, bytes: &'data [u8]) -> Result<(), Why> {
        for (_, raw) in table.enumerate() {
            let kind = raw.sh_type(LITTLE);
            if ![elf::SHT_REL, elf::SHT_RELA, elf::SHT_CREL].contains(&kind) {
                continue;
            }
            let SectionIndex(target) = raw.info_link(LITTLE);
            let section =
                self.sections.get_mut(target).ok_or(Why::Dangling("relocations of a section that is not there"))?;
            if section.role == Role::Ignored {
                continue;
            }
            let Some((entries, _)) = raw.rela(LITTLE, bytes)? else {
                let section = section.name.to_owned();
                return Err(Why::UnknownRelocations { section, kind: kind.0 });
            };
            section.relocations.extend(entries.iter().map(|entry| Relocation {
                offset: entry.r_offset(LITTLE),
                kind: entry.r_type(LITTLE, false).0,
                symbol: entry.r_sym(LITTLE, false) as usize,
                addend: entry.r_addend(LITTLE),
            }));
            section.relocations.sort_by_key(|relocation| relocation.offset);
            // 0 means "no relocation" on both machines and only keeps its target alive.
            section.relocations.retain(|relocation| relocation.kind != 0);
            if section.relocations.iter().any(|relocation| relocation.symbol >= self.symbols.len()) {
                return Err(Why::Dangling("a relocation to a symbol that is not there"));
            }
            if !section.relocations.is_empty() && matches!(section.role, Role::Mergeable { .. }) {
                section.role = Role::Whole(Kind::Constant);
            }
        }
        Ok(())
    }

    fn check_symbols(&mut self) -> Result<(), Why> {
        for symbol in &self.symbols {
            if symbol.name == "__gnu_lto_slim" {
                return Err(Why::GccCode);
            }
            if let SymbolPlace::Section(section) = symbol.place {
                let section =
                    self.sections.get_mut(section).ok_or(Why::Dangling("a symbol in a section that is not there"))?;
                section.is_named |= !symbol.name.is_empty() && !names::is_anonymous(symbol.name);
            }
        }
        Ok(())
    }
}

impl<'data> Section<'data> {
    fn parse(raw: &RawSection, table: &SectionTable<'data, Header>, bytes: &'data [u8]) -> Result<Self, Why> {
        let name = text(table.section_name(LITTLE, raw)?)?;
        let kind = raw.sh_type(LITTLE);
        let flags = raw.sh_flags(LITTLE);
        let has = |flag: elf::SectionFlags| flags.0 & flag.0 != 0;
        let is_constructor = [elf::SHT_INIT_ARRAY, elf::SHT_FINI_ARRAY, elf::SHT_PREINIT_ARRAY].contains(&kind)
            || [".init", ".fini", ".ctors", ".dtors"].contains(&without_priority(name));
        let known = is_constructor || kind == elf::SHT_PROGBITS || kind == elf::SHT_NOBITS;
        let role = if !has(elf::SHF_ALLOC) || is_about_unwinding(name) || kind == elf::SHT_NOTE {
            Role::Ignored
        } else if !known {
            return Err(Why::UnknownSection { name: name.to_owned(), kind: kind.0 });
        } else if has(elf::SHF_COMPRESSED) {
            return Err(Why::Compressed(name.to_owned()));
        } else {
            role(name, flags, raw.sh_entsize(LITTLE), raw.sh_size(LITTLE), is_constructor)
        };
        let content = if role == Role::Ignored { &[] } else { raw.data(LITTLE, bytes)? };
        let (size, align) = (raw.sh_size(LITTLE), raw.sh_addralign(LITTLE));
        let is_constructor = is_constructor && role != Role::Ignored;
        Ok(Section { name, role, is_constructor, content, size, align, is_named: false, relocations: Vec::new() })
    }
}

/// Checks for sections that only unwinding reads. Their content (lengths, landing pads) follows from the code.
fn is_about_unwinding(name: &str) -> bool {
    name == ".eh_frame" || name == ".gcc_except_table" || name.starts_with(".gcc_except_table.")
}

/// Removes a priority: `.ctors.65535` becomes `.ctors`.
fn without_priority(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((head, tail)) if !head.is_empty() && tail.bytes().all(|byte| byte.is_ascii_digit()) => head,
        _ => name,
    }
}

fn role(name: &str, flags: elf::SectionFlags, entry: u64, size: u64, is_constructor: bool) -> Role {
    let has = |flag: elf::SectionFlags| flags.0 & flag.0 != 0;
    let kind = if has(elf::SHF_TLS) {
        Kind::ThreadLocal
    } else if has(elf::SHF_EXECINSTR) {
        Kind::Code
    } else if has(elf::SHF_WRITE) && !is_constructor && !name.starts_with(".data.rel.ro") {
        Kind::Writable
    } else {
        // Only the dynamic linker writes to `.data.rel.ro`.
        Kind::Constant
    };
    let is_mergeable = has(elf::SHF_MERGE) && entry > 0 && size.is_multiple_of(entry);
    if is_mergeable && kind == Kind::Constant && !names::is_c_identifier(name) {
        return Role::Mergeable { size: entry, strings: has(elf::SHF_STRINGS) };
    }
    Role::Whole(kind)
}

fn parse_symbols<'data>(table: &SymbolTable<'data, Header>) -> Result<Vec<ElfSymbol<'data>>, Why> {
    let mut symbols = Vec::with_capacity(table.len());
    for (index, raw) in (0..table.len()).map(SymbolIndex).zip(table.iter()) {
        let place = match table.symbol_section(LITTLE, raw, index)? {
            Some(SectionIndex(section)) => SymbolPlace::Section(section),
            None if raw.is_common(LITTLE) => SymbolPlace::Common,
            None if raw.is_absolute(LITTLE) => SymbolPlace::Absolute,
            None => SymbolPlace::Elsewhere,
        };
        symbols.push(ElfSymbol {
            name: text(table.symbol_name(LITTLE, raw)?)?,
            place,
            value: raw.st_value(LITTLE),
            size: raw.st_size(LITTLE),
            binding: match raw.st_bind() {
                elf::STB_LOCAL => Binding::Local,
                elf::STB_WEAK => Binding::Weak,
                _ => Binding::Global,
            },
            is_section: raw.st_type() == elf::STT_SECTION,
        });
    }
    Ok(symbols)
}

fn text(name: &[u8]) -> Result<&str, Why> {
    std::str::from_utf8(name).map_err(|_| Why::NotUtf8)
}
