//! Converts the bytes of a file to a [`Unit`].

use super::atoms;
use super::elf::Elf;
use super::unit::{Unit, Unreadable, Why};
use object::read::archive::ArchiveFile;
use perfunit_build::CompiledFiles;

/// Archives may contain archives (bundled C libraries). A deeper nesting is damaged or hostile.
const DEEPEST: usize = 4;

/// Reads a relocatable object, or all objects of an archive. `name` is for messages only; the unit does not depend on
/// it. Source locations must refer to `files`.
pub fn read(name: &str, bytes: &[u8], files: &CompiledFiles) -> Result<Unit, Unreadable> {
    let mut unit = Unit::default();
    add(&mut unit, name, bytes, files, 0)?;
    unit.finish();
    Ok(unit)
}

fn add(unit: &mut Unit, name: &str, bytes: &[u8], files: &CompiledFiles, depth: usize) -> Result<(), Unreadable> {
    let unreadable = |why| Unreadable { file: name.to_owned(), why };
    match bytes {
        [0x7f, b'E', b'L', b'F', ..] => {
            Elf::parse(bytes).and_then(|elf| atoms::add(unit, &elf, files)).map_err(unreadable)
        }
        [b'B', b'C', 0xc0, 0xde, ..] | [0xde, 0xc0, 0x17, 0x0b, ..] => Err(unreadable(Why::Bitcode)),
        [b'!', b'<', b'a', b'r', b'c', b'h', b'>', b'\n', ..] if depth < DEEPEST => {
            add_members(unit, name, bytes, files, depth)
        }
        [b'!', b'<', b't', b'h', b'i', b'n', b'>', b'\n', ..] => Err(unreadable(Why::ThinArchive)),
        _ => Err(unreadable(Why::NoObject)),
    }
}

fn add_members(
    unit: &mut Unit,
    name: &str,
    bytes: &[u8],
    files: &CompiledFiles,
    depth: usize,
) -> Result<(), Unreadable> {
    let damaged = |error| Unreadable { file: name.to_owned(), why: Why::DamagedArchive(error) };
    for member in ArchiveFile::parse(bytes).map_err(damaged)?.members() {
        let member = member.map_err(damaged)?;
        // Metadata that crates share; the linker ignores it.
        if member.name().starts_with(b"lib.rmeta") {
            continue;
        }
        let inner = format!("{name}({})", String::from_utf8_lossy(member.name()));
        add(unit, &inner, member.data(bytes).map_err(damaged)?, files, depth + 1)?;
    }
    Ok(())
}
