//! What an executable tells of the places of its functions and sections.

use object::{Architecture, Object, ObjectKind, ObjectSection, ObjectSymbol, SymbolKind};
use std::collections::BTreeMap;

/// The functions of an executable, in the order of their addresses, and its sections.
#[derive(Debug, Clone)]
pub struct Image {
    /// What can be ordered: in `.text`, with a name and a size.
    pub(super) functions: Vec<Function>,
    pub(super) sections: Vec<Section>,
    pub(super) architecture: Architecture,
    /// Whether it is loaded at the addresses that it names, and nowhere else.
    pub(super) has_fixed_addresses: bool,
    text: Vec<u8>,
    text_address: u64,
}

/// A function.
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
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let file = object::File::parse(bytes).map_err(|error| format!("the executable cannot be read: {error}"))?;
        let text = file.section_by_name(".text").ok_or("the executable has no .text")?;
        let content = text.data().map_err(|error| error.to_string())?.to_vec();
        // Merged functions share an address.
        let mut functions: BTreeMap<u64, Function> = BTreeMap::new();
        for symbol in file.symbols() {
            let is_function = symbol.kind() == SymbolKind::Text && symbol.size() > 0;
            let (true, Ok(name)) = (is_function && symbol.section_index() == Some(text.index()), symbol.name()) else {
                continue;
            };
            let (address, size) = (symbol.address(), symbol.size());
            let function = Function { name: name.to_owned(), address, size };
            let known = functions.entry(address).or_insert_with(|| function.clone());
            if function.name < known.name {
                *known = function;
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
            text: content,
            text_address: text.address(),
        })
    }

    /// The machine code of a function; empty if the file lies about it.
    pub(super) fn code(&self, function: &Function) -> &[u8] {
        let start = function.address.checked_sub(self.text_address);
        let range = start.and_then(|start| Some(start as usize..start.checked_add(function.size)? as usize));
        range.and_then(|range| self.text.get(range)).unwrap_or_default()
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
