//! Recognizes data by its shape that rustc generates: source locations and test descriptors.

use super::elf::{Elf, Relocation, Role, Section, SymbolPlace};
use super::unit::{Binding, Kind};
use perfunit_build::CompiledFiles;

/// Checks for a `core::panic::Location`: pointer and length of a file name, line, column. Its content changes with
/// every line that is inserted above, and only affects messages.
///
/// Accepts only anonymous constants, because the content of a named static is deliberate, and only positions in
/// compiled files, because a constant of the user may have the same shape.
pub(super) fn is_location(elf: &Elf<'_>, section: &Section<'_>, files: &CompiledFiles) -> bool {
    let [relocation] = section.relocations.as_slice() else { return false };
    if section.role != Role::Whole(Kind::Constant)
        || section.is_named
        || section.content.len() != 24
        || relocation.offset != 0
    {
        return false;
    }
    let number = |at: usize| u32::from_le_bytes(section.content[at..at + 4].try_into().unwrap_or_default());
    // Newer compilers end the name with a zero byte.
    let file = string(elf, section, relocation).map(|file| file.strip_suffix(b"\0").unwrap_or(file));
    let file = file.and_then(|file| std::str::from_utf8(file).ok());
    file.is_some_and(|file| files.holds(file, number(16), number(20)))
}

/// Returns the strings in a constant that also points to something other than strings, like a `test::TestDescAndFn`. If
/// one of them is the name of a test, the constant is its descriptor.
pub(super) fn names_in_descriptor<'data>(elf: &Elf<'data>, section: &Section<'data>) -> Vec<&'data [u8]> {
    /// Test paths are short, so longer strings are skipped.
    const LONGEST: usize = 2000;
    if section.role != Role::Whole(Kind::Constant) || !section.relocations.iter().any(|to| may_be_code(elf, to)) {
        return Vec::new();
    }
    let strings = section.relocations.iter().filter_map(|relocation| string(elf, section, relocation));
    strings.filter(|text| (1..=LONGEST).contains(&text.len())).collect()
}

fn may_be_code(elf: &Elf<'_>, relocation: &Relocation) -> bool {
    let symbol = &elf.symbols[relocation.symbol];
    match symbol.place {
        SymbolPlace::Section(section) => elf.sections[section].role == Role::Whole(Kind::Code),
        SymbolPlace::Elsewhere => symbol.binding != Binding::Local,
        SymbolPlace::Absolute | SymbolPlace::Common => false,
    }
}

/// Returns the bytes of a `&str` in a constant: a pointer into constant data, followed by a length that fits.
fn string<'data>(elf: &Elf<'data>, section: &Section<'data>, relocation: &Relocation) -> Option<&'data [u8]> {
    if relocation.kind != elf.machine.pointer() {
        return None;
    }
    let at = usize::try_from(relocation.offset).ok()?.checked_add(8)?;
    let length = u64::from_le_bytes(section.content.get(at..at.checked_add(8)?)?.try_into().ok()?);
    let symbol = &elf.symbols[relocation.symbol];
    let SymbolPlace::Section(target) = symbol.place else { return None };
    let target = &elf.sections[target];
    if !matches!(target.role, Role::Whole(Kind::Constant) | Role::Mergeable { .. }) {
        return None;
    }
    let start = usize::try_from(symbol.value.checked_add_signed(relocation.addend)?).ok()?;
    target.content.get(start..start.checked_add(usize::try_from(length).ok()?)?)
}
