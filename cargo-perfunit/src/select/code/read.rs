//! From the bytes of a file to a [`Unit`].

use super::atoms;
use super::elf::Elf;
use super::unit::Unit;
use crate::build::CompiledFiles;
use object::read::archive::ArchiveFile;
use std::fmt;

/// A file that cannot be compared. Every test that is linked with it has to count as changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Its name, and that of the archive's member.
    pub file: String,
    /// What stands against it.
    pub why: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.why)
    }
}

impl std::error::Error for Unreadable {}

/// Archives may hold archives (bundled C libraries); more than that is damaged or hostile.
const DEEPEST: usize = 4;

/// Reads a relocatable object, or all objects of an archive. The name is for messages only: a unit does not depend on it.
/// Only places in `files` are source locations.
pub fn read(name: &str, bytes: &[u8], files: &CompiledFiles) -> Result<Unit, Unreadable> {
    let mut unit = Unit::default();
    add(&mut unit, name, bytes, files, 0)?;
    unit.finish();
    Ok(unit)
}

fn add(unit: &mut Unit, name: &str, bytes: &[u8], files: &CompiledFiles, depth: usize) -> Result<(), Unreadable> {
    let unreadable = |why: &str| Err(Unreadable { file: name.to_owned(), why: why.to_owned() });
    match bytes {
        [0x7f, b'E', b'L', b'F', ..] => {
            let added = Elf::parse(bytes).and_then(|elf| atoms::add(unit, &elf, files));
            added.map_err(|why| Unreadable { file: name.to_owned(), why })
        }
        [b'B', b'C', 0xc0, 0xde, ..] | [0xde, 0xc0, 0x17, 0x0b, ..] => {
            unreadable("LLVM bitcode, to be compiled by the linker")
        }
        [b'!', b'<', b'a', b'r', b'c', b'h', b'>', b'\n', ..] if depth < DEEPEST => {
            add_members(unit, name, bytes, files, depth)
        }
        [b'!', b'<', b't', b'h', b'i', b'n', b'>', b'\n', ..] => {
            unreadable("a thin archive, whose objects are elsewhere")
        }
        _ => unreadable("neither an ELF object nor an archive"),
    }
}

fn add_members(
    unit: &mut Unit,
    name: &str,
    bytes: &[u8],
    files: &CompiledFiles,
    depth: usize,
) -> Result<(), Unreadable> {
    let damaged = |error: object::Error| Unreadable { file: name.to_owned(), why: error.to_string() };
    for member in ArchiveFile::parse(bytes).map_err(damaged)?.members() {
        let member = member.map_err(damaged)?;
        // What crates tell each other; the linker takes no part in it.
        if member.name().starts_with(b"lib.rmeta") {
            continue;
        }
        let inner = format!("{name}({})", String::from_utf8_lossy(member.name()));
        add(unit, &inner, member.data(bytes).map_err(damaged)?, files, depth + 1)?;
    }
    Ok(())
}
