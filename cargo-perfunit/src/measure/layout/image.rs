//! What an executable tells of the places of its functions and sections.

use crate::model::NoLayout;
use object::{Architecture, Object, ObjectKind, ObjectSection, ObjectSymbol, SymbolKind};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The functions of an executable, in the order of their addresses, and its sections.
#[derive(Debug, Clone)]
pub struct Image {
    /// What can be ordered: in `.text`, with a name and a size.
    pub(super) functions: Vec<Function>,
    pub(super) sections: Vec<Section>,
    pub(super) architecture: Architecture,
    /// Whether it is loaded at the addresses that it names, and nowhere else.
    pub(super) has_fixed_addresses: bool,
    /// Other names of functions, by address.
    aliases: BTreeMap<u64, Vec<String>>,
    text: Content,
    constants: Content,
}

/// The bytes of a section and where they are loaded.
#[derive(Debug, Clone, Default)]
struct Content {
    address: u64,
    bytes: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Function {
    /// As the linker knows it; of several names of one address the first.
    pub name: String,
    pub address: u64,
    pub size: u64,
}

/// A section; one that is not loaded has the address 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    pub name: String,
    pub address: u64,
    pub size: u64,
}

impl Image {
    /// Reads an ELF executable; in words why that is not possible.
    pub fn read(bytes: &[u8]) -> Result<Self, NoLayout> {
        let file = object::File::parse(bytes).map_err(unreadable)?;
        let text = file.section_by_name(".text").ok_or(NoLayout::NoCode)?;
        let code = Content::of(&text)?;
        let constants = file.section_by_name(".rodata").map(|section| Content::of(&section)).transpose()?;
        // Merged functions share an address.
        let mut functions: BTreeMap<u64, Function> = BTreeMap::new();
        let mut aliases: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for symbol in file.symbols() {
            let is_function = symbol.kind() == SymbolKind::Text && symbol.size() > 0;
            let (true, Ok(name)) = (is_function && symbol.section_index() == Some(text.index()), symbol.name()) else {
                continue;
            };
            let (address, size) = (symbol.address(), symbol.size());
            let function = Function { name: name.to_owned(), address, size };
            match functions.entry(address) {
                Entry::Vacant(entry) => {
                    entry.insert(function);
                }
                Entry::Occupied(mut entry) => {
                    let is_first = function.name < entry.get().name;
                    let other = if is_first { entry.insert(function) } else { function };
                    aliases.entry(address).or_default().push(other.name);
                }
            }
        }
        let sections = file.sections().filter_map(|section| {
            Some(Section { name: section.name().ok()?.to_owned(), address: section.address(), size: section.size() })
        });
        Ok(Self {
            functions: functions.into_values().collect(),
            sections: sections.collect(),
            architecture: file.architecture(),
            has_fixed_addresses: file.kind() == ObjectKind::Executable,
            aliases,
            text: code,
            constants: constants.unwrap_or_default(),
        })
    }

    /// Without anything in it.
    #[cfg(test)]
    pub fn empty() -> Self {
        let (functions, sections, aliases, text, constants) = Default::default();
        let (architecture, has_fixed_addresses) = (Architecture::X86_64, false);
        Self { functions, sections, architecture, has_fixed_addresses, aliases, text, constants }
    }

    /// With these functions, one behind the other from this address on.
    #[cfg(test)]
    pub fn with(functions: &[(&str, &[u8])], address: u64) -> Self {
        let mut image = Self { text: Content { address, bytes: Vec::new() }, ..Self::empty() };
        for (name, code) in functions {
            let address = address + image.text.bytes.len() as u64;
            image.functions.push(Function { name: (*name).to_owned(), address, size: code.len() as u64 });
            image.text.bytes.extend_from_slice(code);
            image.text.bytes.resize(image.text.bytes.len().next_multiple_of(16), 0xcc);
        }
        image
    }

    /// The machine code of a function; empty if the file lies about it.
    pub(super) fn code(&self, function: &Function) -> &[u8] {
        self.text.at(function.address, function.size)
    }

    /// A constant; empty if it is not in `.rodata`.
    pub(super) fn constant(&self, address: u64, size: u64) -> &[u8] {
        self.constants.at(address, size)
    }

    /// All names of a function.
    pub(super) fn names<'a>(&'a self, function: &'a Function) -> impl Iterator<Item = &'a String> {
        std::iter::once(&function.name).chain(self.aliases.get(&function.address).into_iter().flatten())
    }

    /// By name, the addresses of the functions that have it, ascending.
    pub(super) fn addresses(&self) -> BTreeMap<&str, Vec<u64>> {
        let mut addresses: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for function in &self.functions {
            addresses.entry(&function.name).or_default().push(function.address);
        }
        addresses
    }

    /// Size of a section; 0 if there is none of that name.
    pub(super) fn size_of(&self, section: &str) -> u64 {
        self.sections.iter().find(|known| known.name == section).map_or(0, |section| section.size)
    }
}

fn unreadable(error: object::Error) -> NoLayout {
    NoLayout::Unreadable { why: error.to_string() }
}

impl Content {
    fn of<'a>(section: &impl ObjectSection<'a>) -> Result<Self, NoLayout> {
        let bytes = section.data().map_err(unreadable)?.to_vec();
        Ok(Self { address: section.address(), bytes })
    }

    fn at(&self, address: u64, size: u64) -> &[u8] {
        let start = address.checked_sub(self.address);
        let range = start.and_then(|start| Some(start as usize..start.checked_add(size)? as usize));
        range.and_then(|range| self.bytes.get(range)).unwrap_or_default()
    }
}
