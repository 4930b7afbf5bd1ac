//! Converts an object to atoms: identities, edges, symbols.

use super::digest::Digest;
use super::elf::{Elf, Relocation, Role, SymbolPlace};
use super::instructions::Instructions;
use super::unit::{Atom, Binding, Edge, Kind, Symbol, To, Unit, Why};
use super::{digest, names, pieces, shapes};
use perfunit_build::CompiledFiles;
use std::collections::HashMap;

/// Adds the content of an object to a unit.
pub(super) fn add(unit: &mut Unit, elf: &Elf<'_>, files: &CompiledFiles) -> Result<(), Why> {
    let mut builder = Builder::new(unit, elf, files)?;
    for index in 0..elf.sections.len() {
        if let Role::Whole(kind) = elf.sections[index].role {
            builder.add_section(index, kind);
        }
    }
    builder.add_sectionless();
    builder.add_symbols();
    builder.add_pieces();
    u32::try_from(unit.atoms.len().max(unit.edges.len())).map(|_| ()).map_err(|_| Why::TooLarge)
}

struct Builder<'a, 'data> {
    unit: &'a mut Unit,
    elf: &'a Elf<'data>,
    files: &'a CompiledFiles,
    /// Atom of each section that is placed as a whole.
    of_section: Vec<Option<u32>>,
    /// Atom of each symbol without a section.
    of_symbol: HashMap<usize, u32>,
    /// Atom by section and start.
    of_piece: HashMap<(usize, usize), u32>,
    /// Section, start and end, in the order of their future atoms.
    pieces: Vec<(usize, usize, usize)>,
    first_piece: u32,
}

/// Meaning of a relocation.
enum Target {
    Edge(Edge),
    /// Part of the content, because it cannot be followed.
    Content(Digest),
}

impl<'a, 'data> Builder<'a, 'data> {
    /// Numbers the atoms in this order: sections, symbols without section, pieces. Edges can then refer to later atoms.
    fn new(unit: &'a mut Unit, elf: &'a Elf<'data>, files: &'a CompiledFiles) -> Result<Self, Why> {
        let mut next = u32::try_from(unit.atoms.len()).map_err(|_| Why::TooLarge)?;
        let mut number = || {
            next += 1;
            next - 1
        };
        let whole = |role: Role| matches!(role, Role::Whole(_));
        let of_section = elf.sections.iter().map(|section| whole(section.role).then(&mut number)).collect();
        let atoms = elf.symbols.iter().enumerate().filter(|(_, symbol)| symbol.is_an_atom());
        let of_symbol = atoms.map(|(index, _)| (index, number())).collect();
        let (of_piece, pieces) = (HashMap::new(), Vec::new());
        Ok(Self { of_section, of_symbol, of_piece, pieces, first_piece: next, unit, elf, files })
    }

    fn add_section(&mut self, index: usize, kind: Kind) {
        let elf = self.elf;
        let section = &elf.sections[index];
        let atom = self.unit.atoms.len() as u32;
        let name = self.unit.names.add(section.name);
        if section.is_constructor {
            self.unit.constructors.push(atom);
        }
        if names::is_c_identifier(section.name) {
            self.unit.collected.push((name, atom));
        }
        if shapes::is_location(elf, section, self.files) {
            self.push(kind, Digest::default().bytes(b"location"), section.name);
            return;
        }
        for text in shapes::names_in_descriptor(elf, section) {
            self.unit.descriptors.push((digest::hash(text), atom));
        }
        let mut identity = Digest::default().number(section.align).number(section.size).bytes(section.content);
        let mut instructions = None;
        for relocation in &section.relocations {
            identity = identity.number(relocation.offset).number(relocation.kind.into());
            match self.target(index, relocation, &mut instructions) {
                Target::Edge(edge) => self.unit.edges.push(edge),
                Target::Content(content) => identity = identity.bytes(&content.finish().to_le_bytes()),
            }
        }
        self.push(kind, identity, section.name);
    }

    fn push(&mut self, kind: Kind, identity: Digest, section: &str) {
        let section = self.unit.names.add(section);
        let edges_end = self.unit.edges.len() as u32;
        let identity = identity.number(kind as u64).finish();
        self.unit.atoms.push(Atom { identity, edges_end, kind, section });
    }

    /// Returns the target of a relocation in a section. Instructions are decoded on demand.
    fn target(&mut self, from: usize, relocation: &Relocation, instructions: &mut Option<Instructions>) -> Target {
        let elf = self.elf;
        let content = Digest::default();
        if relocation.symbol == 0 {
            return Target::Content(content.number(relocation.addend as u64));
        }
        let symbol = &elf.symbols[relocation.symbol];
        let offset = symbol.value.cast_signed().wrapping_add(relocation.addend);
        match symbol.place {
            SymbolPlace::Absolute if symbol.binding == Binding::Local => Target::Content(content.number(offset as u64)),
            SymbolPlace::Section(section) if symbol.binding == Binding::Local => {
                match (self.of_section[section], elf.sections[section].role) {
                    (Some(atom), _) => Target::Edge(Edge { to: To::Atom(atom), offset }),
                    (None, Role::Mergeable { .. }) => {
                        let start = self.start_of_piece(from, relocation, instructions);
                        self.piece_or_all(section, start, symbol.value, relocation, symbol.is_section)
                    }
                    (None, _) => {
                        Target::Content(content.bytes(elf.sections[section].name.as_bytes()).number(offset as u64))
                    }
                }
            }
            SymbolPlace::Absolute | SymbolPlace::Common | SymbolPlace::Elsewhere | SymbolPlace::Section(_) => {
                let to = To::Name(self.unit.names.add(symbol.name));
                Target::Edge(Edge { to, offset: relocation.addend })
            }
        }
    }

    /// Returns the offset that a relocation into a mergeable section refers to. A named symbol contains it; for a
    /// section's symbol it follows from the addend. Returns `None` if it cannot be determined.
    fn start_of_piece(
        &self,
        from: usize,
        relocation: &Relocation,
        instructions: &mut Option<Instructions>,
    ) -> Option<u64> {
        let elf = self.elf;
        let symbol = &elf.symbols[relocation.symbol];
        if !symbol.is_section {
            return Some(symbol.value);
        }
        let section = &elf.sections[from];
        let correction = if elf.machine.is_exact(relocation.kind) {
            0
        } else if elf.machine.counts_from_instruction(relocation.kind) && section.role == Role::Whole(Kind::Code) {
            let instructions = instructions.get_or_insert_with(|| Instructions::decode(section.content));
            instructions.bytes_to_end(relocation.offset)?
        } else {
            return None;
        };
        // Apply the correction first, because an offset near the section's start would otherwise become negative.
        symbol.value.checked_add(correction)?.checked_add_signed(relocation.addend)
    }

    fn piece_or_all(
        &mut self,
        section: usize,
        start: Option<u64>,
        value: u64,
        relocation: &Relocation,
        is_section: bool,
    ) -> Target {
        let piece = start.and_then(|offset| Some((offset, self.piece(section, offset)?)));
        let Some((offset, atom)) = piece else {
            // The entry is unknown, so include all of them.
            let all = Digest::default().bytes(self.elf.sections[section].content);
            return Target::Content(all.number(value).number(relocation.addend as u64));
        };
        let (_, first, _) = self.pieces[(atom - self.first_piece) as usize];
        let inside = (offset - first as u64).cast_signed();
        let offset = if is_section { inside } else { inside.wrapping_add(relocation.addend) };
        Target::Edge(Edge { to: To::Atom(atom), offset })
    }

    /// Returns the atom of the piece that contains an offset.
    fn piece(&mut self, section: usize, offset: u64) -> Option<u32> {
        let Role::Mergeable { size, strings } = self.elf.sections[section].role else { return None };
        let range = pieces::piece_at(self.elf.sections[section].content, size, strings, offset)?;
        let next = self.first_piece + self.pieces.len() as u32;
        Some(*self.of_piece.entry((section, range.start)).or_insert_with(|| {
            self.pieces.push((section, range.start, range.end));
            next
        }))
    }

    fn add_sectionless(&mut self) {
        let elf = self.elf;
        for symbol in elf.symbols.iter().filter(|symbol| symbol.is_an_atom()) {
            let identity = Digest::default().number(symbol.size).number(symbol.value);
            let is_common = symbol.place == SymbolPlace::Common;
            let kind = if is_common { Kind::Writable } else { Kind::Constant };
            self.push(kind, identity.bytes(b"no section"), if is_common { "COMMON" } else { "ABS" });
        }
    }

    fn add_symbols(&mut self) {
        let elf = self.elf;
        for (index, symbol) in elf.symbols.iter().enumerate() {
            let is_local_label = symbol.binding == Binding::Local && names::is_anonymous(symbol.name);
            if symbol.is_section || symbol.name.is_empty() || is_local_label {
                continue;
            }
            let found = match symbol.place {
                SymbolPlace::Elsewhere => None,
                SymbolPlace::Absolute | SymbolPlace::Common => self.of_symbol.get(&index).map(|atom| (*atom, 0)),
                SymbolPlace::Section(section) => match self.of_section[section] {
                    Some(atom) => Some((atom, symbol.value)),
                    None => self.piece(section, symbol.value).map(|atom| {
                        let (_, start, _) = self.pieces[(atom - self.first_piece) as usize];
                        (atom, symbol.value - start as u64)
                    }),
                },
            };
            if let Some((atom, offset)) = found {
                let name = self.unit.names.add(symbol.name);
                self.unit.symbols.push(Symbol { name, atom, offset, binding: symbol.binding });
            }
        }
    }

    fn add_pieces(&mut self) {
        let elf = self.elf;
        for (section, start, end) in std::mem::take(&mut self.pieces) {
            let section = &elf.sections[section];
            self.push(Kind::Constant, Digest::default().bytes(&section.content[start..end]), section.name);
        }
    }
}
