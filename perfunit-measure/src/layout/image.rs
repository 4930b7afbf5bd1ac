//! The addresses of an executable's functions and sections.

use super::ORDERED;
use object::{Architecture, Object, ObjectKind, ObjectSection, ObjectSymbol, SymbolKind};
use perfunit_model::NoLayout;
use perfunit_select::code;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// The functions of an executable, in the order of their addresses, and its sections.
#[derive(Debug, Clone)]
pub struct Image {
    /// The functions that can be ordered: those in a section of code, with a name and a size.
    pub(super) functions: Vec<Function>,
    pub(super) sections: Vec<Section>,
    pub(super) architecture: Architecture,
    /// True if the executable is loaded only at the addresses that it names.
    pub(super) has_fixed_addresses: bool,
    /// True if lld linked the executable.
    pub(super) is_by_lld: bool,
    /// The functions that the executable exports to other programs.
    exports: BTreeSet<String>,
    /// Other names of functions, by address.
    aliases: BTreeMap<u64, Vec<String>>,
    text: Vec<Content>,
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
    /// The symbol name; the first one in alphabetical order if several symbols have the address.
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
    /// Reads an ELF executable, or returns the reason why that is not possible.
    pub fn read(bytes: &[u8]) -> Result<Self, NoLayout> {
        let file = object::File::parse(bytes).map_err(unreadable)?;
        let code: Vec<_> = [".text", ORDERED].into_iter().filter_map(|name| file.section_by_name(name)).collect();
        if code.is_empty() {
            return Err(NoLayout::NoCode);
        }
        let is_code = |index| code.iter().any(|section| Some(section.index()) == index);
        let constants = file.section_by_name(".rodata").map(|section| Content::of(&section)).transpose()?;
        // Merged functions share an address.
        let mut functions: BTreeMap<u64, Function> = BTreeMap::new();
        let mut aliases: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for symbol in file.symbols() {
            let is_function = symbol.kind() == SymbolKind::Text && symbol.size() > 0;
            let (true, Ok(name)) = (is_function && is_code(symbol.section_index()), symbol.name()) else {
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
            is_by_lld: is_by_lld(&file),
            exports: exports(&file),
            aliases,
            text: code.iter().map(Content::of).collect::<Result<_, _>>()?,
            constants: constants.unwrap_or_default(),
        })
    }

    /// Returns an image without functions and sections.
    #[cfg(test)]
    pub fn empty() -> Self {
        let (functions, sections, exports, aliases, text, constants) = Default::default();
        let (architecture, has_fixed_addresses, is_by_lld) = (Architecture::X86_64, false, false);
        Self { functions, sections, architecture, has_fixed_addresses, is_by_lld, exports, aliases, text, constants }
    }

    /// Returns an image with these functions, one behind the other, beginning at this address.
    #[cfg(test)]
    pub fn with(functions: &[(&str, &[u8])], address: u64) -> Self {
        let (mut image, mut bytes) = (Self::empty(), Vec::new());
        for (name, code) in functions {
            let address = address + bytes.len() as u64;
            image.functions.push(Function { name: (*name).to_owned(), address, size: code.len() as u64 });
            bytes.extend_from_slice(code);
            bytes.resize(bytes.len().next_multiple_of(16), 0xcc);
        }
        image.text.push(Content { address, bytes });
        image
    }

    /// Returns the machine code of a function; empty if the file's symbol is invalid.
    pub(super) fn code(&self, function: &Function) -> &[u8] {
        let found = self.text.iter().map(|content| content.at(function.address, function.size));
        found.into_iter().find(|code| !code.is_empty()).unwrap_or_default()
    }

    /// Returns the bytes of a constant; empty if it is not in `.rodata`.
    pub(super) fn constant(&self, address: u64, size: u64) -> &[u8] {
        self.constants.at(address, size)
    }

    /// Returns all names of a function.
    pub(super) fn names<'a>(&'a self, function: &'a Function) -> impl Iterator<Item = &'a String> {
        std::iter::once(&function.name).chain(self.aliases.get(&function.address).into_iter().flatten())
    }

    /// Returns the addresses of all functions with each name, ascending.
    pub(super) fn addresses(&self) -> BTreeMap<&str, Vec<u64>> {
        let mut addresses: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for function in &self.functions {
            addresses.entry(&function.name).or_default().push(function.address);
        }
        addresses
    }

    /// Returns the other names of each function that has several.
    pub(super) fn aliases(&self) -> BTreeMap<String, Vec<String>> {
        let aliases = |function: &Function| self.aliases.get(&function.address).cloned();
        self.functions.iter().filter_map(|function| Some((function.name.clone(), aliases(function)?))).collect()
    }

    /// Returns the size of the machine code, bytes.
    pub(super) fn size_of_code(&self) -> u64 {
        self.size_of(".text") + self.size_of(ORDERED)
    }

    /// Returns a difference from the program `built`, which another linker made of the same inputs: a function of another
    /// length, a different set of exported functions, or another size of a section that a program finds by its name.
    /// Linkers may drop different parts without references.
    pub(super) fn difference(&self, built: &Self) -> Option<String> {
        let lengths = |image: &Self| {
            let mut lengths: BTreeMap<String, Vec<u64>> = BTreeMap::new();
            for function in &image.functions {
                lengths.entry(function.name.clone()).or_default().push(function.size);
            }
            lengths
        };
        let own = lengths(self);
        for (name, known) in lengths(built) {
            if let (Some([length]), [known]) = (own.get(&name).map(Vec::as_slice), known.as_slice())
                && length != known
            {
                return Some(format!("{name} has {length} bytes instead of {known}"));
            }
        }
        let named = |name: &str| code::is_c_identifier(name) || FOUND_BY_LOADER.contains(&name);
        let sections = self.sections.iter().chain(&built.sections).map(|section| section.name.as_str());
        for name in sections.filter(|name| named(name)) {
            let (size, known) = (self.size_of(name), built.size_of(name));
            if size != known {
                return Some(format!("the section {name} has {size} bytes instead of {known}"));
            }
        }
        let exported = self.exports.symmetric_difference(&built.exports).next()?;
        Some(format!("{exported} is exported by one of the two only"))
    }

    /// Returns the size of a section; 0 if no section has the name.
    pub(super) fn size_of(&self, section: &str) -> u64 {
        self.sections.iter().find(|known| known.name == section).map_or(0, |section| section.size)
    }
}

/// The sections of functions that run before or after `main`.
const FOUND_BY_LOADER: [&str; 3] = [".preinit_array", ".init_array", ".fini_array"];

/// Returns whether lld linked the file: lld writes its name and version into the executable.
fn is_by_lld(file: &object::File<'_>) -> bool {
    let comment = file.section_by_name(".comment").and_then(|section| section.data().ok()).unwrap_or_default();
    comment.split(|byte| *byte == 0).any(|text| text.starts_with(b"Linker: LLD "))
}

fn exports(file: &object::File<'_>) -> BTreeSet<String> {
    let symbols = file.dynamic_symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition());
    symbols.filter_map(|symbol| Some(symbol.name().ok()?.to_owned())).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the difference of an image with these functions and sections from one with `a`, `b` and `linkme_ALL`.
    #[track_caller]
    fn check(functions: &[(&str, &[u8])], sections: &[(&str, u64)], exports: &[&str], expected: Option<&str>) {
        let image = |functions: &[(&str, &[u8])], sections: &[(&str, u64)], exports: &[&str]| {
            let mut image = Image::with(functions, 0x1000);
            let section =
                |(name, size): &(&str, u64)| Section { name: (*name).to_owned(), address: 0x9000, size: *size };
            image.sections = sections.iter().map(section).collect();
            image.exports = exports.iter().map(|name| (*name).to_owned()).collect();
            image
        };
        let built = image(&[("a", &[1; 5]), ("b", &[2; 7])], &[("linkme_ALL", 16), (".text", 32)], &["a"]);
        assert_eq!(image(functions, sections, exports).difference(&built).as_deref(), expected);
    }

    #[test]
    fn another_linker_makes_the_same_program_or_not() {
        let [a, b]: [(&str, &[u8]); 2] = [("a", &[1; 5]), ("b", &[2; 7])];
        let all = [("linkme_ALL", 16), (".text", 64)];
        check(&[b, a], &all, &["a"], None);
        // A linker may drop `b` if nothing refers to it.
        check(&[a], &all, &["a"], None);
        check(&[a, ("b", &[2; 8])], &all, &["a"], Some("b has 8 bytes instead of 7"));
        check(&[a, b], &[(".text", 32)], &["a"], Some("the section linkme_ALL has 0 bytes instead of 16"));
        let more = [("linkme_ALL", 16), (".init_array", 8)];
        check(&[a, b], &more, &["a"], Some("the section .init_array has 8 bytes instead of 0"));
        check(&[a, b], &all, &["a", "b"], Some("b is exported by one of the two only"));
    }
}
