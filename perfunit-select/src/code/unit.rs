//! The content of one input file, reduced to what comparison needs: a graph of atoms by index, and names; or why the file
//! cannot be compared.

use super::digest::{Hash, hash};
use super::names;
use std::collections::HashMap;
use std::ops::Range;

/// What one input of a link holds, independent of its bytes. Parsed once, shared by all executables that link it.
#[derive(Debug, Default)]
pub struct Unit {
    /// All names, each once.
    pub(super) names: Names,
    /// Sections, and pieces of mergeable sections that something refers to.
    pub(super) atoms: Vec<Atom>,
    /// The edges of all atoms, atom after atom.
    pub(super) edges: Vec<Edge>,
    /// Named places in atoms, in the order of atoms and offsets.
    pub(super) symbols: Vec<Symbol>,
    /// Descriptors of tests, by the hash of the test's name.
    pub(super) descriptors: Vec<(Hash, u32)>,
    /// Mutable atoms, with the hash of a name that is the same in two versions of a crate.
    pub(super) mutable: Vec<(Hash, u32)>,
    /// Atoms whose content is called before and after `main`, in order.
    pub(super) constructors: Vec<u32>,
    /// Atoms in sections whose name is a C identifier: `__start_NAME` and `__stop_NAME` enclose them all.
    pub(super) collected: Vec<(NameId, u32)>,
}

/// One of a unit's names.
pub(super) type NameId = u32;

/// What an atom is; part of its identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Code,
    Constant,
    Writable,
    ThreadLocal,
}

impl Kind {
    /// Two mutable things with equal content are still two things.
    pub fn is_mutable(self) -> bool {
        matches!(self, Kind::Writable | Kind::ThreadLocal)
    }
}

/// What the linker places as a whole.
#[derive(Debug)]
pub(super) struct Atom {
    /// Kind, content, and the places and types of the references in it; not their targets.
    pub identity: Hash,
    /// Where its edges end in the unit's list; they begin where those of the atom before end.
    pub edges_end: u32,
    pub kind: Kind,
    /// Its section's name: the only one that a nameless atom has.
    pub section: NameId,
}

/// A reference from an atom.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    pub to: To,
    /// Of the place referred to, from the target's start (or from the symbol).
    pub offset: i64,
}

/// What an edge leads to.
#[derive(Debug, Clone, Copy)]
pub(super) enum To {
    /// An atom of the same unit, whatever the other units define.
    Atom(u32),
    /// What the link defines by this name.
    Name(NameId),
}

/// A named place in an atom.
#[derive(Debug)]
pub(super) struct Symbol {
    pub name: NameId,
    pub atom: u32,
    pub offset: u64,
    pub binding: Binding,
}

/// Who sees a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Binding {
    Global,
    Weak,
    Local,
}

impl Unit {
    /// The edges of an atom.
    pub(super) fn edges_of(&self, atom: u32) -> &[Edge] {
        let start = atom.checked_sub(1).map_or(0, |before| self.atoms[before as usize].edges_end);
        &self.edges[start as usize..self.atoms[atom as usize].edges_end as usize]
    }

    /// The symbols in an atom, by offset, those seen by others first.
    pub(super) fn symbols_of(&self, atom: u32) -> &[Symbol] {
        let start = self.symbols.partition_point(|symbol| symbol.atom < atom);
        let length = self.symbols[start..].partition_point(|symbol| symbol.atom == atom);
        &self.symbols[start..start + length]
    }

    /// What the atom's first symbol is called; its section's name if it has none.
    pub(super) fn name_of(&self, atom: u32) -> &str {
        let symbol = self.symbols_of(atom).first().map(|symbol| symbol.name);
        self.names.get(symbol.unwrap_or(self.atoms[atom as usize].section))
    }

    /// To be called when all atoms and symbols are there.
    pub(super) fn finish(&mut self) {
        let Unit { symbols, names: all, .. } = self;
        symbols.sort_by(|a, b| {
            let key = |symbol: &Symbol| (symbol.atom, symbol.offset, symbol.binding);
            key(a).cmp(&key(b)).then_with(|| all.get(a.name).cmp(all.get(b.name)))
        });
        all.finish();
        symbols.shrink_to_fit();
        let mutable = (0u32..).zip(&self.atoms).filter(|(_, atom)| atom.kind.is_mutable());
        let stable = |atom: u32| hash(names::stable(self.name_of(atom)).as_bytes());
        self.mutable = mutable.map(|(index, _)| (stable(index), index)).collect();
        self.atoms.shrink_to_fit();
        self.edges.shrink_to_fit();
    }
}

/// Names in one text, each once, with their hashes.
#[derive(Debug, Default)]
pub(super) struct Names {
    text: String,
    ranges: Vec<Range<u32>>,
    hashes: Vec<Hash>,
    /// Only while the unit is being read.
    known: HashMap<Hash, NameId>,
}

impl Names {
    /// The number of a name, which is added if it is new.
    pub fn add(&mut self, name: &str) -> NameId {
        let hash = hash(name.as_bytes());
        *self.known.entry(hash).or_insert_with(|| {
            let start = self.text.len() as u32;
            self.text.push_str(name);
            self.ranges.push(start..self.text.len() as u32);
            self.hashes.push(hash);
            self.ranges.len() as u32 - 1
        })
    }

    pub fn get(&self, name: NameId) -> &str {
        let range = &self.ranges[name as usize];
        &self.text[range.start as usize..range.end as usize]
    }

    pub fn hash(&self, name: NameId) -> Hash {
        self.hashes[name as usize]
    }

    /// All names, in the order of their numbers.
    pub fn hashes(&self) -> &[Hash] {
        &self.hashes
    }

    fn finish(&mut self) {
        self.known = HashMap::new();
        self.text.shrink_to_fit();
    }
}

/// A file, or a member of an archive, that cannot be compared. Every test that is linked with it has to count as changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {why}")]
pub struct Unreadable {
    /// Its name, and that of the archive's member.
    pub file: String,
    pub why: Why,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    #[error("neither an ELF object nor an archive")]
    NoObject,
    #[error("LLVM bitcode, to be compiled by the linker")]
    Bitcode,
    #[error("gcc's intermediate code, to be compiled by the linker")]
    GccCode,
    #[error("a thin archive, whose objects are elsewhere")]
    ThinArchive,
    #[error("{0}")]
    DamagedArchive(object::Error),
    #[error("damaged: {0}")]
    Damaged(#[from] object::Error),
    #[error("not a 64-bit little-endian object")]
    OtherForm,
    #[error("for another machine (ELF machine {0})")]
    OtherMachine(u16),
    #[error("a shared library, linked already")]
    SharedLibrary,
    #[error("not a relocatable object")]
    NotRelocatable,
    #[error("section {name} of unknown type {kind:#x}")]
    UnknownSection { name: String, kind: u32 },
    #[error("section {0} is compressed")]
    Compressed(String),
    #[error("relocations of type {kind:#x} in {section}")]
    UnknownRelocations { section: String, kind: u32 },
    #[error("{0}")]
    Dangling(&'static str),
    /// Names are told apart by their text; two that are not text could be mistaken for each other.
    #[error("a name that is not UTF-8")]
    NotUtf8,
    #[error("too large")]
    TooLarge,
}
