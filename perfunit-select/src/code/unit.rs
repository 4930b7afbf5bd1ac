//! The content of one input file, reduced to what comparison needs: a graph of atoms by index, and names; or the reason
//! why the file cannot be compared.

use super::digest::{Hash, hash};
use super::names;
use std::collections::HashMap;
use std::ops::Range;

/// Content of one linker input, independent of its bytes. It is parsed once and shared by all executables that link it.
#[derive(Debug, Default)]
pub struct Unit {
    /// The names, each once.
    pub(super) names: Names,
    /// Sections, and pieces of mergeable sections that something refers to.
    pub(super) atoms: Vec<Atom>,
    /// Edges of all atoms, in the order of the atoms.
    pub(super) edges: Vec<Edge>,
    /// Symbols in atoms, in the order of atoms and offsets.
    pub(super) symbols: Vec<Symbol>,
    /// Test descriptors, by the hash of the test's name.
    pub(super) descriptors: Vec<(Hash, u32)>,
    /// Mutable atoms, with the hash of a name that is the same in two versions of a crate.
    pub(super) mutable: Vec<(Hash, u32)>,
    /// Atoms with content that is called before and after `main`, in order.
    pub(super) constructors: Vec<u32>,
    /// Atoms in sections with a C identifier as name, which `__start_NAME` and `__stop_NAME` enclose.
    pub(super) collected: Vec<(NameId, u32)>,
}

/// Index of a name in a unit.
pub(super) type NameId = u32;

/// Kind of an atom; part of its identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Code,
    Constant,
    Writable,
    ThreadLocal,
}

impl Kind {
    /// Checks whether atoms of this kind are mutable, and therefore distinct even if their content is equal.
    pub fn is_mutable(self) -> bool {
        matches!(self, Kind::Writable | Kind::ThreadLocal)
    }
}

/// The unit that the linker places as a whole.
#[derive(Debug)]
pub(super) struct Atom {
    /// Kind, content, and the positions and types of its references, but not their targets.
    pub identity: Hash,
    /// End of its edges in the unit's list; they start at the end of the preceding atom's.
    pub edges_end: u32,
    pub kind: Kind,
    /// Name of its section, the only name of an anonymous atom.
    pub section: NameId,
}

/// A reference from an atom.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    pub to: To,
    /// Offset of the target position from the target's start (or from the symbol).
    pub offset: i64,
}

/// Target of an edge.
#[derive(Debug, Clone, Copy)]
pub(super) enum To {
    /// An atom of the same unit, independent of other units.
    Atom(u32),
    /// The definition of this name in the link.
    Name(NameId),
}

/// A symbol in an atom.
#[derive(Debug)]
pub(super) struct Symbol {
    pub name: NameId,
    pub atom: u32,
    pub offset: u64,
    pub binding: Binding,
}

/// Visibility of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Binding {
    Global,
    Weak,
    Local,
}

impl Unit {
    /// Returns the edges of an atom.
    pub(super) fn edges_of(&self, atom: u32) -> &[Edge] {
        let start = atom.checked_sub(1).map_or(0, |before| self.atoms[before as usize].edges_end);
        &self.edges[start as usize..self.atoms[atom as usize].edges_end as usize]
    }

    /// Returns the symbols in an atom, by offset, visible ones first.
    pub(super) fn symbols_of(&self, atom: u32) -> &[Symbol] {
        let start = self.symbols.partition_point(|symbol| symbol.atom < atom);
        let length = self.symbols[start..].partition_point(|symbol| symbol.atom == atom);
        &self.symbols[start..start + length]
    }

    /// Returns the name of the atom's first symbol, or of its section if it has none.
    pub(super) fn name_of(&self, atom: u32) -> &str {
        let symbol = self.symbols_of(atom).first().map(|symbol| symbol.name);
        self.names.get(symbol.unwrap_or(self.atoms[atom as usize].section))
    }

    /// Completes the unit. Call this after adding all atoms and symbols.
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
    /// Used only while the unit is being read.
    known: HashMap<Hash, NameId>,
}

impl Names {
    /// Returns the index of a name, adding it if needed.
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

    /// Returns the hashes of all names, by index.
    pub fn hashes(&self) -> &[Hash] {
        &self.hashes
    }

    fn finish(&mut self) {
        self.known = HashMap::new();
        self.text.shrink_to_fit();
    }
}

/// Error for a file, or a member of an archive, that cannot be compared. Every test that is linked with it must count
/// as changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {why}")]
pub struct Unreadable {
    /// Name of the file, with that of the archive's member.
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
    /// Names are distinguished by their text; names that are not text could be confused.
    #[error("a name that is not UTF-8")]
    NotUtf8,
    #[error("too large")]
    TooLarge,
}
