//! Where the functions of an executable are.

use super::unseen::Unseen;
use object::{Architecture, Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};
use perfunit_build::side_of;
use perfunit_model::error::{Error, Result};
use perfunit_system::fs;
use perfunit_system::os::unix::fs::MetadataExt;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

/// The functions of an executable by their linker symbol names, and what identifies it in a running process.
#[derive(Debug, Clone)]
pub struct Places {
    /// Several for one name: local symbols of different objects.
    addresses: BTreeMap<String, Vec<u64>>,
    /// Address of the first instruction, as linked.
    pub(super) entry: u64,
    pub(super) file: FileId,
    /// The side's folder, which contains the package's binaries.
    pub(super) folder: Option<PathBuf>,
    /// Why no function can be found.
    unreadable: Option<Unseen>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileId(u64, u64);

impl FileId {
    /// Follows links, also `/proc/<id>/exe`.
    pub fn of(path: &Path) -> std::io::Result<Self> {
        std::fs::metadata(path).map(|data| Self(data.dev(), data.ino()))
    }
}

impl Places {
    /// Reads the symbol table of the executable at `path`; once is enough for all its tests.
    ///
    /// An executable without one is no error: every question about it is answered with [`Executed::Unknown`].
    ///
    /// [`Executed::Unknown`]: super::Executed::Unknown
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = fs::read(path)?;
        let file =
            FileId::of(path).map_err(|error| Error::setup(format!("cannot read {}: {error}", path.display())))?;
        // As the kernel names it.
        let folder = side_of(path).and_then(|folder| folder.canonicalize().ok());
        let mut places = Self { addresses: BTreeMap::new(), entry: 0, file, folder, unreadable: None };
        match object::File::parse(&*bytes) {
            Ok(parsed) if is_native(parsed.architecture()) => places.fill(&parsed),
            Ok(_) => places.unreadable = Some(Unseen::OtherProcessor),
            Err(_) => places.unreadable = Some(Unseen::OtherSystem),
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
            // A breakpoint in data would change what the program reads. Hand-written assembly often gives no type.
            let may_be_code = matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Unknown);
            let is_code = may_be_code && symbol.section_index().is_some_and(|section| code.contains(&section));
            if let (true, Ok(name)) = (is_code, symbol.name()) {
                self.addresses.entry(name.to_owned()).or_default().push(symbol.address());
            }
        }
        if self.addresses.is_empty() {
            self.unreadable = Some(Unseen::NoSymbols);
        }
    }

    /// The addresses, as linked, of all these functions; each once, for merged functions share theirs. Or why not.
    pub(super) fn find(&self, symbols: &BTreeSet<String>) -> std::result::Result<BTreeSet<u64>, Unseen> {
        if let Some(why) = &self.unreadable {
            return Err(why.clone());
        }
        let mut found = BTreeSet::new();
        for symbol in symbols {
            let Some(addresses) = self.addresses.get(symbol) else {
                return Err(Unseen::NoFunction(symbol.clone()));
            };
            found.extend(addresses);
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
