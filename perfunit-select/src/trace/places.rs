//! Finds the addresses of an executable's functions.

use super::failure::TraceFailure;
use object::{Architecture, Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};
use perfunit_build::side_of;
use perfunit_model::error::Result;
use perfunit_system::fs;
use perfunit_system::os::unix::fs::MetadataExt;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

/// The functions of an executable by linker symbol, and what identifies it in a running process.
#[derive(Debug, Clone)]
pub struct Places {
    /// Several addresses for one name: local symbols of different objects.
    addresses: BTreeMap<String, Vec<u64>>,
    /// Address of the first instruction, as linked.
    pub(super) entry: u64,
    /// The side's folder, which contains the package's binaries.
    pub(super) folder: Option<PathBuf>,
    /// The reason why no function can be found.
    unreadable: Option<TraceFailure>,
}

/// Device and inode of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileId(u64, u64);

impl From<&std::fs::Metadata> for FileId {
    fn from(data: &std::fs::Metadata) -> Self {
        Self(data.dev(), data.ino())
    }
}

impl Places {
    /// Reads the symbol table of the executable at `path`, once for all its tests.
    ///
    /// An executable without a symbol table is not an error here: every request for it returns [`Execution::Unknown`].
    ///
    /// [`Execution::Unknown`]: super::Execution::Unknown
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = fs::read(path)?;
        // The path as the kernel reports it.
        let folder = side_of(path).and_then(|folder| folder.canonicalize().ok());
        let mut places = Self { addresses: BTreeMap::new(), entry: 0, folder, unreadable: None };
        match object::File::parse(&*bytes) {
            Ok(parsed) if is_native(parsed.architecture()) => places.fill(&parsed),
            Ok(_) => places.unreadable = Some(TraceFailure::OtherProcessor),
            Err(_) => places.unreadable = Some(TraceFailure::OtherSystem),
        }
        Ok(places)
    }

    fn fill(&mut self, file: &object::File<'_>) {
        self.entry = file.entry();
        let code: HashSet<_> = file
            .sections()
            .filter(|section| section.kind() == SectionKind::Text)
            .map(|section| section.index())
            .collect();
        for symbol in file.symbols() {
            // A breakpoint in data would change what the program reads. Symbols of hand-written assembly often have no
            // type.
            let may_be_code = matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Unknown);
            let is_code = may_be_code && symbol.section_index().is_some_and(|section| code.contains(&section));
            if let (true, Ok(name)) = (is_code, symbol.name()) {
                self.addresses.entry(name.to_owned()).or_default().push(symbol.address());
            }
        }
        if self.addresses.is_empty() {
            self.unreadable = Some(TraceFailure::NoSymbols);
        }
    }

    /// Returns the addresses, as linked, of all these functions, or the reason why some have none. Merged functions
    /// share an address.
    pub(super) fn find(&self, symbols: &BTreeSet<String>) -> std::result::Result<BTreeMap<u64, String>, TraceFailure> {
        if let Some(why) = self.unreadable.as_ref().filter(|_| !symbols.is_empty()) {
            return Err(why.clone());
        }
        let mut found = BTreeMap::new();
        for symbol in symbols {
            let Some(addresses) = self.addresses.get(symbol) else {
                return Err(TraceFailure::NoFunction(symbol.clone()));
            };
            for address in addresses {
                found.entry(*address).or_insert_with(|| symbol.clone());
            }
        }
        Ok(found)
    }
}

fn is_native(architecture: Architecture) -> bool {
    match architecture {
        Architecture::X86_64 => cfg!(target_arch = "x86_64"),
        Architecture::Aarch64 => cfg!(target_arch = "aarch64"),
        _ => false,
    }
}
