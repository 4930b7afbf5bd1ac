//! Reads inlining from an executable's debug information: the functions that each instruction comes from.
//!
//! The compiler copies a function into its callers, and again into their callers. DWARF describes each copy: its
//! address ranges, the function that was copied, and the enclosing copy or function.

use gimli::{
    AttributeValue, DebugInfoOffset, DebuggingInformationEntry, EndianSlice, LittleEndian, SectionId, Unit, UnitOffset,
    constants as dw,
};
use object::{Object as _, ObjectSection as _};
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

type Bytes<'data> = EndianSlice<'data, LittleEndian>;
type Dwarf<'data> = gimli::Dwarf<Bytes<'data>>;
type Entry<'abbrev, 'unit, 'data> = DebuggingInformationEntry<'abbrev, 'unit, Bytes<'data>>;

/// A function in the source.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Origin {
    /// Mangled symbol name.
    pub symbol: String,
    /// Name without its path: `fold<u64>`, `{closure#0}`.
    pub name: String,
    /// Source file.
    pub file: PathBuf,
    /// First line, counted from 1.
    pub line: usize,
}

/// A function's own machine code, or a copy of it in another function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub origin: usize,
    /// Index in [`Inlining::frames`] of the frame it was copied into; `None` for a function's own code.
    pub caller: Option<usize>,
    ranges: Vec<Range<u64>>,
    copies: Vec<usize>,
}

/// Reason why an executable cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableExecutable {
    #[error("not an executable: {0}")]
    NotExecutable(#[from] object::Error),
    #[error("cannot read its debug information: {0}")]
    DebugInformation(#[from] gimli::Error),
    #[error("it has no debug information")]
    NoDebugInformation,
}

/// The functions with debug information, and the copies in them.
#[derive(Debug, Default)]
pub struct Inlining {
    /// The functions, each once.
    pub origins: Vec<Origin>,
    /// The frames. Callers come before the copies in them.
    pub frames: Vec<Frame>,
    /// Address ranges of functions, in ascending order.
    functions: Vec<(Range<u64>, usize)>,
}

impl Inlining {
    pub fn read(executable: &[u8]) -> Result<Self, UnreadableExecutable> {
        let file = object::File::parse(executable)?;
        let section = |id: SectionId| {
            let data = file.section_by_name(id.name()).and_then(|section| section.data().ok());
            Ok::<_, gimli::Error>(EndianSlice::new(data.unwrap_or_default(), LittleEndian))
        };
        let dwarf = Dwarf::load(section)?;
        let mut reader = Reader { dwarf: &dwarf, found: Self::default(), origins: HashMap::new() };
        let mut units = dwarf.units();
        while let Some(header) = units.next()? {
            let unit = dwarf.unit(header)?;
            reader.unit(&unit)?;
        }
        let mut found = reader.found;
        if found.functions.is_empty() {
            return Err(UnreadableExecutable::NoDebugInformation);
        }
        found.functions.sort_by_key(|(range, _)| range.start);
        Ok(found)
    }

    /// Returns the innermost copy that contains an instruction; `None` if there is no debug information.
    pub fn innermost(&self, address: u64) -> Option<usize> {
        let after = self.functions.partition_point(|(range, _)| range.start <= address);
        let (range, function) = self.functions.get(after.checked_sub(1)?)?;
        let mut at = range.contains(&address).then_some(*function)?;
        let holds = |frame: &&usize| self.frames[**frame].ranges.iter().any(|range| range.contains(&address));
        while let Some(copy) = self.frames[at].copies.iter().find(holds) {
            at = *copy;
        }
        Some(at)
    }
}

struct Reader<'a, 'data> {
    dwarf: &'a Dwarf<'data>,
    found: Inlining,
    /// Indices by offset in the whole section.
    origins: HashMap<usize, usize>,
}

impl<'data> Reader<'_, 'data> {
    fn unit(&mut self, unit: &Unit<Bytes<'data>>) -> gimli::Result<()> {
        let mut entries = unit.entries();
        let mut depth = 0;
        // The enclosing frames, with the depth of each.
        let mut around: Vec<(isize, usize)> = Vec::new();
        while let Some((delta, entry)) = entries.next_dfs()? {
            depth += delta;
            while around.last().is_some_and(|(outer, _)| *outer >= depth) {
                around.pop();
            }
            let caller = match entry.tag() {
                dw::DW_TAG_subprogram => None,
                dw::DW_TAG_inlined_subroutine => match around.last() {
                    Some((_, caller)) => Some(*caller),
                    None => continue,
                },
                _ => continue,
            };
            let ranges = self.ranges(unit, entry)?;
            if ranges.is_empty() {
                continue;
            }
            let origin = self.origin(unit, entry)?;
            let frame = self.found.frames.len();
            match caller {
                Some(caller) => self.found.frames[caller].copies.push(frame),
                None => self.found.functions.extend(ranges.iter().map(|range| (range.clone(), frame))),
            }
            self.found.frames.push(Frame { origin, caller, ranges, copies: Vec::new() });
            around.push((depth, frame));
        }
        Ok(())
    }

    /// Returns the address ranges. Skips code that the linker dropped: its addresses are near 0.
    fn ranges(&self, unit: &Unit<Bytes<'data>>, entry: &Entry<'_, '_, 'data>) -> gimli::Result<Vec<Range<u64>>> {
        const FIRST_PAGE: u64 = 4096;
        let mut ranges = self.dwarf.die_ranges(unit, entry)?;
        let mut found = Vec::new();
        while let Some(range) = ranges.next()? {
            if range.begin >= FIRST_PAGE && range.begin < range.end {
                found.push(range.begin..range.end);
            }
        }
        Ok(found)
    }

    /// Returns the function of an entry, or the function that it is a copy of.
    fn origin(&mut self, unit: &Unit<Bytes<'data>>, entry: &Entry<'_, '_, 'data>) -> gimli::Result<usize> {
        for name in [dw::DW_AT_abstract_origin, dw::DW_AT_specification] {
            match entry.attr_value(name)? {
                Some(AttributeValue::UnitRef(offset)) => return self.origin_at(unit, offset),
                Some(AttributeValue::DebugInfoRef(offset)) => return self.origin_elsewhere(offset),
                _ => {}
            }
        }
        let offset = entry.offset().to_debug_info_offset(&unit.header).map_or(usize::MAX, |offset| offset.0);
        if let Some(known) = self.origins.get(&offset) {
            return Ok(*known);
        }
        let origin = self.read_origin(unit, entry)?;
        self.found.origins.push(origin);
        self.origins.insert(offset, self.found.origins.len() - 1);
        Ok(self.found.origins.len() - 1)
    }

    fn origin_at(&mut self, unit: &Unit<Bytes<'data>>, offset: UnitOffset) -> gimli::Result<usize> {
        let known = offset.to_debug_info_offset(&unit.header).and_then(|offset| self.origins.get(&offset.0));
        match known {
            Some(known) => Ok(*known),
            None => self.origin(unit, &unit.entry(offset)?),
        }
    }

    /// Finds the function in another unit, for code that LTO inlined across crates.
    fn origin_elsewhere(&mut self, offset: DebugInfoOffset) -> gimli::Result<usize> {
        if let Some(known) = self.origins.get(&offset.0) {
            return Ok(*known);
        }
        let mut units = self.dwarf.units();
        while let Some(header) = units.next()? {
            if let Some(offset) = offset.to_unit_offset(&header) {
                let unit = self.dwarf.unit(header)?;
                return self.origin_at(&unit, offset);
            }
        }
        Err(gimli::Error::OffsetOutOfBounds)
    }

    fn read_origin(&self, unit: &Unit<Bytes<'data>>, entry: &Entry<'_, '_, 'data>) -> gimli::Result<Origin> {
        let text = |name| -> gimli::Result<String> {
            let Some(value) = entry.attr_value(name)? else { return Ok(String::new()) };
            Ok(self.dwarf.attr_string(unit, value)?.to_string_lossy().into_owned())
        };
        let number = |name| Ok::<_, gimli::Error>(entry.attr_value(name)?.and_then(|value| value.udata_value()));
        let file = match entry.attr_value(dw::DW_AT_decl_file)? {
            Some(AttributeValue::FileIndex(index)) => self.file(unit, index)?,
            _ => None,
        };
        Ok(Origin {
            symbol: text(dw::DW_AT_linkage_name)?,
            name: text(dw::DW_AT_name)?,
            file: file.unwrap_or_default(),
            line: number(dw::DW_AT_decl_line)?.unwrap_or_default() as usize,
        })
    }

    fn file(&self, unit: &Unit<Bytes<'data>>, index: u64) -> gimli::Result<Option<PathBuf>> {
        let Some(header) = unit.line_program.as_ref().map(gimli::IncompleteLineProgram::header) else {
            return Ok(None);
        };
        let Some(file) = header.file(index) else { return Ok(None) };
        let text = |value| Ok::<_, gimli::Error>(self.dwarf.attr_string(unit, value)?.to_string_lossy().into_owned());
        let mut path = unit.comp_dir.map_or_else(PathBuf::new, |folder| PathBuf::from(&*folder.to_string_lossy()));
        if let Some(folder) = file.directory(header) {
            path.push(text(folder)?);
        }
        path.push(Path::new(&text(file.path_name())?));
        Ok(Some(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[expect(clippy::inline_always, reason = "has to be inlined in a debug build too")]
    #[inline(always)]
    fn copied(number: u64) -> u64 {
        black_box(number) ^ 0x55
    }

    #[inline(never)]
    fn holder(number: u64) -> u64 {
        black_box(copied(number)) + 1
    }

    #[test]
    fn a_copy_knows_its_function_and_the_one_around_it() {
        assert_eq!(holder(black_box(0)), 0x56);
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        // The section is missing in profiles that strip it.
        let Ok(found) = Inlining::read(&own) else { return };
        let origin = |frame: usize| &found.origins[found.frames[frame].origin];
        let is_ours = |frame: usize, name| origin(frame).name == name && origin(frame).symbol.contains("inlining");
        let copy = (0..found.frames.len())
            .find(|frame| is_ours(*frame, "copied") && found.frames[*frame].caller.is_some())
            .expect("the function is inlined");
        let outwards = |frame| std::iter::successors(Some(frame), |frame: &usize| found.frames[*frame].caller);
        let around: Vec<usize> = outwards(copy).collect();
        assert!(around.len() == 2 && is_ours(around[1], "holder"), "{around:?}");
        assert!(origin(copy).file.ends_with("src/code/inlining.rs"), "{:?}", origin(copy));
        let source = include_str!("inlining.rs");
        assert!(source.lines().nth(origin(copy).line - 1).is_some_and(|line| line.contains("fn copied")));
        let inside = found.frames[copy].ranges[0].start;
        let innermost = found.innermost(inside).unwrap();
        assert!(outwards(innermost).any(|frame| frame == copy));
        assert_eq!(found.innermost(1), None);
    }

    #[test]
    fn what_is_no_executable_is_an_error_in_words() {
        assert!(Inlining::read(b"text").is_err_and(|why| matches!(why, UnreadableExecutable::NotExecutable(_))));
    }
}
