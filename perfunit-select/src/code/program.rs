//! A linked program: resolves every reference to an atom once all units are known.

use super::digest::{Digest, Hash, Table};
use super::names;
use super::unit::{Binding, Edge, Kind, To, Unit};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Inputs of one link, with resolved references.
#[derive(Debug)]
pub struct Program {
    units: Vec<Arc<Unit>>,
    /// Index of each unit's first atom in the program, followed by the number of all atoms.
    first: Vec<u32>,
    /// Meaning of each name, by unit and name.
    meanings: Vec<Vec<Meaning>>,
    definitions: Table<Hash, Definition>,
    /// Names that distinguish mutable atoms: a stable name, numbered if several atoms have it.
    mutable: Table<u64, Hash>,
    /// Sections that `__start_NAME` and `__stop_NAME` enclose. Their numbers follow the atoms.
    lists: Vec<List>,
}

/// Sections with the same name, in link order.
#[derive(Debug)]
struct List {
    name: String,
    atoms: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Definition {
    atom: u32,
    offset: i64,
    binding: Binding,
}

#[derive(Debug, Clone, Copy)]
enum Meaning {
    Atom { atom: u32, offset: i64 },
    Outside(Hash),
}

/// Target of an edge in a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reached {
    Atom {
        atom: u32,
        offset: i64,
    },
    /// A symbol of std, libc or the linker, known by name only.
    Outside {
        name: Hash,
        offset: i64,
    },
}

/// Links units in the linker's order: the first definition of a name wins, but a weak one only without another.
///
/// Every member of an archive takes part. The linker might omit some, so this can only add code to the comparison.
pub fn link(units: &[Arc<Unit>]) -> Program {
    let mut program = Program {
        units: units.to_vec(),
        first: vec![0],
        meanings: Vec::new(),
        definitions: Table::default(),
        mutable: Table::default(),
        lists: Vec::new(),
    };
    let mut atoms = 0;
    for unit in units {
        atoms += unit.atoms.len() as u32;
        program.first.push(atoms);
    }
    program.define();
    program.number_mutable();
    program.enclose_sections();
    program.meanings = (0..units.len()).map(|unit| program.meanings_in(unit)).collect();
    program
}

impl Program {
    fn define(&mut self) {
        for (unit, first) in self.units.iter().zip(&self.first) {
            for symbol in unit.symbols.iter().filter(|symbol| symbol.binding != Binding::Local) {
                let (atom, offset) = (first + symbol.atom, symbol.offset.cast_signed());
                let found = Definition { atom, offset, binding: symbol.binding };
                let known = self.definitions.entry(unit.names.hash(symbol.name)).or_insert(found);
                if known.binding == Binding::Weak && found.binding == Binding::Global {
                    *known = found;
                }
            }
        }
    }

    fn number_mutable(&mut self) {
        let mut seen: Table<Hash, u64> = Table::default();
        for (unit, first) in self.units.iter().zip(&self.first) {
            for (name, atom) in &unit.mutable {
                let number = seen.entry(*name).or_insert(0);
                *number += 1;
                let name = Digest::default().bytes(&name.to_le_bytes()).number(*number).finish();
                self.mutable.insert(u64::from(first + atom), name);
            }
        }
    }

    fn enclose_sections(&mut self) {
        let mut lists: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
        for (unit, first) in self.units.iter().zip(&self.first) {
            for (name, atom) in &unit.collected {
                lists.entry(unit.names.get(*name)).or_default().push(first + atom);
            }
        }
        let lists: Vec<List> = lists.into_iter().map(|(name, atoms)| List { name: name.to_owned(), atoms }).collect();
        for (number, list) in (self.atom_count()..).zip(&lists) {
            for (offset, prefix) in [(0, "__start_"), (1, "__stop_")] {
                let name = super::digest::hash(format!("{prefix}{}", list.name).as_bytes());
                let found = Definition { atom: number, offset, binding: Binding::Weak };
                self.definitions.entry(name).or_insert(found);
            }
        }
        self.lists = lists;
    }

    fn meanings_in(&self, unit: usize) -> Vec<Meaning> {
        let names = self.units[unit].names.hashes();
        let meaning = |name: &Hash| match self.definitions.get(name) {
            Some(definition) => Meaning::Atom { atom: definition.atom, offset: definition.offset },
            None => Meaning::Outside(*name),
        };
        names.iter().map(meaning).collect()
    }

    /// Returns the number of atoms of all units. Larger numbers are lists.
    fn atom_count(&self) -> u32 {
        self.first.last().copied().unwrap_or_default()
    }

    /// Returns the unit of an atom and its number there; `None` for a list.
    fn place(&self, atom: u32) -> Option<(usize, u32)> {
        let unit = self.first.partition_point(|first| *first <= atom) - 1;
        (unit < self.units.len()).then(|| (unit, atom - self.first[unit]))
    }

    fn list(&self, atom: u32) -> &List {
        &self.lists[(atom - self.atom_count()) as usize]
    }

    /// Returns everything that identifies an atom apart from its targets, and the distinguishing name of a mutable one.
    pub(super) fn identity(&self, atom: u32) -> (Hash, Hash) {
        let name = self.mutable.get(&u64::from(atom)).copied().unwrap_or_default();
        match self.place(atom) {
            Some((unit, local)) => (self.units[unit].atoms[local as usize].identity, name),
            None => (0, name),
        }
    }

    pub(super) fn kind(&self, atom: u32) -> Kind {
        self.place(atom).map_or(Kind::Constant, |(unit, local)| self.units[unit].atoms[local as usize].kind)
    }

    /// Returns the targets of an atom, in order.
    pub(super) fn targets(&self, atom: u32) -> impl Iterator<Item = Reached> + use<'_> {
        let (unit, edges, list): (usize, &[Edge], &[u32]) = match self.place(atom) {
            Some((unit, local)) => (unit, self.units[unit].edges_of(local), &[]),
            None => (0, &[], &self.list(atom).atoms),
        };
        let listed = list.iter().map(|atom| Reached::Atom { atom: *atom, offset: 0 });
        edges.iter().map(move |edge| self.follow(unit, *edge)).chain(listed)
    }

    fn follow(&self, unit: usize, edge: Edge) -> Reached {
        match edge.to {
            To::Atom(atom) => Reached::Atom { atom: self.first[unit] + atom, offset: edge.offset },
            To::Name(name) => match self.meanings[unit][name as usize] {
                Meaning::Atom { atom, offset } => Reached::Atom { atom, offset: offset.wrapping_add(edge.offset) },
                Meaning::Outside(name) => Reached::Outside { name, offset: edge.offset },
            },
        }
    }

    /// Returns the functions that an atom refers to.
    pub(super) fn functions_in(&self, atom: u32) -> Vec<u32> {
        let code = |reached| match reached {
            Reached::Atom { atom, .. } if self.kind(atom) == Kind::Code => Some(atom),
            _ => None,
        };
        self.targets(atom).filter_map(code).collect()
    }

    /// Returns the number of atoms and lists.
    pub(super) fn node_count(&self) -> u32 {
        self.atom_count() + self.lists.len() as u32
    }

    /// Returns the hashes of wanted names that the link does not define.
    pub(super) fn names_outside(&self, is_wanted: impl Fn(&str) -> bool) -> BTreeSet<Hash> {
        let units = self.units.iter().zip(&self.meanings);
        let all =
            units.flat_map(|(unit, meanings)| (0..).zip(meanings).map(|(id, meaning)| (unit.names.get(id), meaning)));
        let outside = all.filter_map(|(name, meaning)| match meaning {
            Meaning::Outside(hash) if is_wanted(name) => Some(*hash),
            _ => None,
        });
        outside.collect()
    }

    /// Returns the atom that the link defines under a name.
    pub(super) fn definition(&self, symbol: &str) -> Option<u32> {
        self.definitions.get(&super::digest::hash(symbol.as_bytes())).map(|definition| definition.atom)
    }

    /// Returns the atoms with this symbol, including local ones.
    pub(super) fn atoms_named(&self, symbol: &str) -> Vec<u32> {
        let wanted = super::digest::hash(symbol.as_bytes());
        let units = self.units.iter().zip(&self.first);
        let named = units.flat_map(|(unit, first)| {
            let symbols = unit.symbols.iter().filter(move |known| unit.names.hash(known.name) == wanted);
            symbols.map(move |known| first + known.atom)
        });
        named.collect()
    }

    /// Returns the descriptors of tests, with the hash of each name in them.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = (Hash, u32)> {
        let units = self.units.iter().zip(&self.first);
        units.flat_map(|(unit, first)| unit.descriptors.iter().map(move |(name, atom)| (*name, first + atom)))
    }

    /// Returns the code that runs before and after `main`, in link order.
    pub(super) fn constructors(&self) -> Vec<u32> {
        let units = self.units.iter().zip(&self.first);
        units.flat_map(|(unit, first)| unit.constructors.iter().map(move |atom| first + atom)).collect()
    }

    /// Returns the atoms that std and the C library call by name.
    pub(super) fn called_from_outside(&self) -> BTreeMap<&str, u32> {
        let symbols = self.units.iter().flat_map(|unit| unit.symbols.iter().map(move |symbol| (unit, symbol)));
        let visible = symbols.filter(|(_, symbol)| symbol.binding != Binding::Local);
        let names = visible.map(|(unit, symbol)| unit.names.get(symbol.name));
        let called = names.filter(|name| names::is_called_from_outside(name));
        called.filter_map(|name| Some((name, self.definition(name)?))).collect()
    }

    /// Returns all symbols in an atom.
    pub(super) fn symbols(&self, atom: u32) -> Vec<&str> {
        let Some((unit, local)) = self.place(atom) else { return Vec::new() };
        let unit = &self.units[unit];
        unit.symbols_of(local).iter().map(|symbol| unit.names.get(symbol.name)).collect()
    }

    /// Returns the name of an atom for messages, if it has one.
    pub(super) fn readable_name(&self, atom: u32) -> Option<String> {
        let Some((unit, local)) = self.place(atom) else { return Some(format!("section {}", self.list(atom).name)) };
        let name = self.units[unit].name_of(local);
        let is_section = name.starts_with('.');
        (!is_section && !names::is_anonymous(name)).then(|| names::readable(name))
    }
}
