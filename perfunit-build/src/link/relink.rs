//! Repeats a link with more options, to place the same functions elsewhere.

use super::arguments::Scope;
use super::linkers::Linker;
use super::record::LinkRecord;
use crate::full_disk::full_disk;
use object::read::archive::ArchiveFile;
use object::{Architecture, File, Object, ObjectSection, ObjectSymbol, SectionIndex, SymbolKind};
use perfunit_model::NoLayout;
use perfunit_model::error::{Error, Result, Stop, Tried};
use perfunit_system::{fs, process};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

/// Load address of the executable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Position {
    /// Unchanged from the repeated link: by default, anywhere.
    #[default]
    AsBuilt,
    /// At the addresses that the linker assigned.
    Fixed,
}

/// A running link.
#[derive(Debug)]
pub struct Relink {
    child: Child,
    linker: String,
    output: PathBuf,
}

/// An additional argument for a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extra {
    Input(PathBuf),
    /// A word for the linker, not for the driver.
    Option(OsString),
}

/// Starts to repeat a link with this linker, from the stored files with the changes in `freed`, and with `more` after
/// its options. The executable keeps its symbols. Returns a reason if the linker cannot do that.
pub fn relink(
    link: &Path,
    freed: &Freed,
    output: &Path,
    position: Position,
    linker: &Linker,
    more: &[Extra],
) -> Tried<Relink, NoLayout> {
    let mut record = LinkRecord::load(link)?;
    record.replace(&freed.inputs);
    record.keep_symbols();
    record.link_by(linker);
    start(&record, &linker.name, output, position, more)
}

/// Starts to repeat a link with the debug information of the inputs. Code and addresses stay the same.
pub fn relink_with_debug_information(link: &Path, output: &Path) -> Tried<Relink, NoLayout> {
    let mut record = LinkRecord::load(link)?;
    record.keep_debug_information();
    let linker = record.linker.clone();
    start(&record, &linker, output, Position::AsBuilt, &[])
}

fn start(
    record: &LinkRecord,
    linker: &str,
    output: &Path,
    position: Position,
    more: &[Extra],
) -> Tried<Relink, NoLayout> {
    if let Some(why) = record.incomplete() {
        return Err(Stop::Because(NoLayout::Incomplete { why: why.clone() }));
    }
    if let Some(folder) = output.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut command = record.command(output);
    if position == Position::Fixed {
        if !is_free_to_move(record) {
            return Err(Stop::Because(NoLayout::NotPositionIndependent));
        }
        // The last of the two options wins, and the driver chooses the startup files accordingly.
        command.arg("-no-pie");
    }
    for extra in more {
        match extra {
            Extra::Input(path) => command.arg(path),
            Extra::Option(option) if record.is_driven() => command.arg("-Xlinker").arg(option),
            Extra::Option(option) => command.arg(option),
        };
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = process::spawn(&mut command).map_err(|error| {
        let (linker, message) = (linker.to_owned(), error.message().to_owned());
        Stop::Because(NoLayout::Refused { linker, message })
    })?;
    Ok(Relink { child, linker: linker.to_owned(), output: output.to_owned() })
}

impl Relink {
    /// Waits for the link to finish. Returns a reason if the linker fails.
    pub fn finish(self) -> Tried<(), NoLayout> {
        let Self { child, linker, output } = self;
        let ended = child
            .wait_with_output()
            .map_err(|error| Error::setup(format!("cannot link {} again: {error}", output.display())))?;
        if ended.status.success() {
            return Ok(());
        }
        let message = String::from_utf8_lossy(&ended.stderr);
        // Another layout would be missing only because of the disk.
        if let Some(error) = output.parent().and_then(|folder| full_disk(folder, &message)) {
            return Err(error.into());
        }
        let first = message.lines().find(|text| !text.trim().is_empty()).unwrap_or("no message");
        Err(Stop::Because(NoLayout::Refused { linker, message: first.trim().to_owned() }))
    }
}

/// Checks whether a compiler driver creates a position-independent executable and chooses the startup files itself.
/// Rustc's own startup files for static executables (musl) work for such executables only.
fn is_free_to_move(record: &LinkRecord) -> bool {
    let has = |option: &str| record.arguments.iter().any(|known| known.scope == Scope::Program && known.text == option);
    has("-pie") && !has("-nostartfiles") && !has("-static")
}

/// Alignment of functions, and of loops where it pays, by default. A larger alignment is deliberate.
pub const ALIGNMENT: u64 = 16;

/// Returns the smallest distance between the addresses of two functions, in bytes; `None` for processors that the tool
/// has no decoder for.
pub fn code_unit(architecture: Architecture) -> Option<u64> {
    match architecture {
        Architecture::X86_64 => Some(1),
        Architecture::Aarch64 => Some(4),
        _ => None,
    }
}

/// Returns whether the tool decodes the instructions of a processor.
pub fn can_decode(architecture: Architecture) -> bool {
    code_unit(architecture).is_some()
}

/// Functions of a link that were freed from alignment.
#[derive(Debug, Clone, Default)]
pub struct Freed {
    /// Functions that may now start at any instruction.
    pub functions: BTreeSet<String>,
    /// Changed copies of inputs, by index.
    pub(super) inputs: BTreeMap<usize, PathBuf>,
}

/// Removes the alignment of these functions, if each has its own section, in copies in a folder.
pub fn free(link: &Path, functions: &BTreeSet<&str>, folder: &Path) -> Result<Freed> {
    let record = LinkRecord::load(link)?;
    let mut freed = Freed::default();
    for (number, kept) in record.numbered_inputs() {
        let mut bytes = fs::read(&kept)?;
        let places = places(&bytes, functions);
        if places.is_empty() {
            continue;
        }
        let mut is_changed = false;
        for (name, place, align) in places {
            is_changed |= bytes[place.clone()] != align;
            bytes[place].copy_from_slice(&align);
            freed.functions.insert(name);
        }
        if !is_changed {
            continue;
        }
        let copy = folder.join(kept.file_name().unwrap_or_default());
        fs::write(&copy, bytes)?;
        freed.inputs.insert(number, copy);
    }
    Ok(freed)
}

/// A function, the place where an object stores the alignment of its section, and the smallest alignment.
type Aligned = (String, Range<usize>, [u8; 8]);

/// Finds where an object, or each object in an archive, stores the alignment of these functions' sections.
fn places(bytes: &[u8], functions: &BTreeSet<&str>) -> Vec<Aligned> {
    let Ok(archive) = ArchiveFile::parse(bytes) else { return in_object(bytes, 0..bytes.len(), functions) };
    let ranges = archive.members().filter_map(|member| {
        let (start, size) = member.ok()?.file_range();
        Some(start as usize..(start as usize).checked_add(size as usize)?)
    });
    ranges.flat_map(|range| in_object(bytes, range, functions)).collect()
}

fn in_object(bytes: &[u8], range: Range<usize>, functions: &BTreeSet<&str>) -> Vec<Aligned> {
    let start = range.start;
    let Some(file) = bytes.get(range).and_then(|bytes| File::parse(bytes).ok()) else { return Vec::new() };
    let File::Elf64(elf) = &file else { return Vec::new() };
    let Some(unit) = code_unit(file.architecture()) else { return Vec::new() };
    let mut of_sections: BTreeMap<usize, Vec<(&str, u64)>> = BTreeMap::new();
    for symbol in file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text) {
        if let (Some(section), Ok(name)) = (symbol.section_index(), symbol.name()) {
            of_sections.entry(section.0).or_default().push((name, symbol.address()));
        }
    }
    let header = elf.elf_header();
    let endian = elf.endian();
    let (table, entry) = (header.e_shoff.get(endian) as usize, usize::from(header.e_shentsize.get(endian)));
    let mut places = Vec::new();
    for (index, symbols) in of_sections {
        let is_wanted = symbols.iter().all(|(_, address)| *address == 0);
        let name = symbols.iter().map(|(name, _)| *name).find(|name| functions.contains(*name));
        let (true, Some(name)) = (is_wanted, name) else { continue };
        let align = file.section_by_index(SectionIndex(index)).map_or(0, |section| section.align());
        let section = start + table + index * entry;
        let place = section + ADDRALIGN.start..section + ADDRALIGN.end;
        if (1..=ALIGNMENT).contains(&align) && bytes.len() >= place.end {
            places.push((name.to_owned(), place, unit.min(align).to_le_bytes()));
        }
    }
    places
}

/// Position of the alignment (`sh_addralign`) in a 64-bit section header.
const ADDRALIGN: Range<usize> = 48..56;

#[cfg(test)]
mod tests {
    use super::super::record::{Argument, Output, VERSION};
    use super::*;
    use std::collections::BTreeMap;

    #[track_caller]
    fn check(line: &str, expected: bool) {
        let argument = |text: &str| Argument { scope: Scope::Program, text: text.to_owned(), names: None };
        let record = LinkRecord {
            version: VERSION,
            linker: "cc".to_owned(),
            cwd: PathBuf::from("/"),
            env: BTreeMap::new(),
            arguments: line.split_whitespace().map(argument).collect(),
            inputs: Vec::new(),
            output: Output { path: PathBuf::from("/out"), bytes: 0, modified_ns: 0 },
            incomplete: None,
            folder: PathBuf::new(),
        };
        assert_eq!(is_free_to_move(&record), expected, "{line}");
    }

    #[test]
    fn only_what_a_driver_made_position_independent_can_be_fixed() {
        check("-m64 a.o -pie -nodefaultlibs", true);
        check("-m64 a.o -nodefaultlibs", false);
        check("-nostartfiles rcrt1.o a.o -static-pie", false);
        check("-nostartfiles Scrt1.o a.o -pie", false);
    }

    mod free {
        use super::super::*;
        use object::write::{Object as Written, Symbol, SymbolSection};
        use object::{BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolScope};

        /// Builds an object with a section for each list of functions, one byte each.
        fn with(architecture: Architecture, sections: &[&[&str]], align: u64) -> Vec<u8> {
            let mut object = Written::new(BinaryFormat::Elf, architecture, Endianness::Little);
            for functions in sections {
                let name = format!(".text.{}", functions[0]).into_bytes();
                let section = object.add_section(Vec::new(), name, SectionKind::Text);
                object.append_section_data(section, &vec![0xc3; functions.len()], align);
                for (value, function) in functions.iter().enumerate() {
                    object.add_symbol(Symbol {
                        name: function.as_bytes().to_vec(),
                        value: value as u64,
                        size: 1,
                        kind: SymbolKind::Text,
                        scope: SymbolScope::Compilation,
                        weak: false,
                        section: SymbolSection::Section(section),
                        flags: SymbolFlags::None,
                    });
                }
            }
            object.write().unwrap()
        }

        /// Checks the alignments of the code sections after these functions are freed.
        #[track_caller]
        fn check(sections: &[&[&str]], align: u64, freed: &[&str], expected: &[u64]) {
            check_on(Architecture::X86_64, sections, align, freed, expected);
        }

        #[track_caller]
        fn check_on(machine: Architecture, sections: &[&[&str]], align: u64, freed: &[&str], expected: &[u64]) {
            let mut bytes = with(machine, sections, align);
            let functions = freed.iter().copied().collect();
            for (_, place, align) in places(&bytes, &functions) {
                bytes[place].copy_from_slice(&align);
            }
            let file = File::parse(&*bytes).unwrap();
            let code = file.sections().filter(|section| section.kind() == SectionKind::Text && section.size() > 0);
            assert_eq!(code.map(|section| section.align()).collect::<Vec<_>>(), expected);
        }

        #[test]
        fn only_what_was_asked_for_may_begin_anywhere() {
            check(&[&["one"], &["two"], &["three"]], 16, &["two", "four"], &[16, 1, 16]);
        }

        #[test]
        fn functions_of_aarch64_begin_at_instructions() {
            check_on(Architecture::Aarch64, &[&["one"], &["two"]], 16, &["two"], &[16, 4]);
            check_on(Architecture::Aarch64, &[&["one"]], 4, &["one"], &[4]);
            check_on(Architecture::Riscv64, &[&["one"]], 16, &["one"], &[16]);
        }

        #[test]
        fn what_shares_its_section_or_is_aligned_on_purpose_stays() {
            check(&[&["one", "two"], &["three"]], 16, &["one", "two"], &[16, 16]);
            check(&[&["one"]], 64, &["one"], &[64]);
        }
    }
}
