//! Memory that the processes of a pair share: the page by which the tool directs them, and the pages of their
//! executables.
//!
//! Chance decides which pages of memory hold a program, and so which of its lines share a set of the caches. That changes
//! a test's time by up to 2 % for as long as an executable is in memory. Pages that base and head share have the same
//! effect on both (see `memory.rs` of the runtime). With matched layouts nearly all of a program is shared; if
//! executables have nothing in common, each process copies its own pages.

use object::Endianness;
use object::elf::{DF_TEXTREL, DT_FLAGS, DT_TEXTREL, FileHeader64, PF_W, PF_X, PT_DYNAMIC, PT_LOAD};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use perfunit_build::TestExecutable;
use perfunit_model::Sides;
use perfunit_model::error::{Error, Result};
use perfunit_runtime::page::{CommonPages, MAGIC, MOST_RUNS, PAGE_BYTES, Page, Run, UNKNOWN_NS, state, unit};
use perfunit_system::os::SharedMemory;
use perfunit_system::os::unix::fs::MetadataExt;
use perfunit_system::{fs, os};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

/// A mapped page.
#[derive(Debug)]
pub struct SharedPage(SharedMemory);

impl SharedPage {
    pub fn new() -> Result<Self> {
        let memory = SharedMemory::new(c"perfunit", PAGE_BYTES);
        memory.map(Self).map_err(|error| Error::setup(format!("cannot create shared memory: {error}")))
    }

    /// Returns the file that the processes inherit.
    pub fn file(&self) -> &File {
        self.0.file()
    }

    /// Clears the state of an earlier pair, except repetitions and plan, which the next pair sets.
    pub fn reset(&self) {
        self.magic.store(MAGIC, Relaxed);
        self.turn.store(0, Relaxed);
        for side in &self.sides {
            side.state.store(state::STARTING, Relaxed);
            side.whole_function.store(0, Relaxed);
            side.first_ns.store(0, Relaxed);
            side.prepared_ns.store(0, Relaxed);
            side.message_len.store(0, Relaxed);
            side.settled.store(0, Relaxed);
            for figure in [
                &side.heap,
                &side.readings,
                &side.no_instructions,
                &side.io_is_counted,
                &side.starts_processes,
                &side.child_status,
            ] {
                figure.store(0, Relaxed);
            }
            side.first_cpu_ns.store(0, Relaxed);
            side.first_idle_ns.store(UNKNOWN_NS, Relaxed);
            side.runs.store(0, Relaxed);
            side.clock_readings.store(0, Relaxed);
            side.passed_ns.store(0, Relaxed);
            side.peak_rss.store(0, Relaxed);
            side.unit.store(unit::NONE, Relaxed);
        }
    }
}

impl Deref for SharedPage {
    type Target = Page;

    fn deref(&self) -> &Page {
        // SAFETY: mapped as long as `self` lives; `Page` consists of atomics, valid for every bit pattern.
        unsafe { self.0.address().cast().as_ref() }
    }
}

/// The identity of a file and its content, unless its modification time is set back.
pub type Identity = (u64, u64, i64, i64);

/// Returns the size of both executables, bytes.
pub fn size(executables: Sides<&TestExecutable>) -> Result<u64> {
    let Sides { base, head } = executables.try_map(|_, executable| Ok(fs::metadata(&executable.path)?.len()))?;
    Ok(base + head)
}

/// Returns the identities of two executables.
pub fn identities(executables: Sides<&TestExecutable>) -> Result<Sides<Identity>> {
    executables.try_map(|_, executable| {
        let data = fs::metadata(&executable.path)?;
        Ok((data.dev(), data.ino(), data.mtime(), data.mtime_nsec()))
    })
}

/// The file for the pair of executables that is being measured.
#[derive(Debug, Default)]
pub struct CommonFile {
    current: Option<(Sides<Identity>, Option<Rc<File>>)>,
}

impl CommonFile {
    /// Returns the file; `None` if the programs have to stay where they are loaded.
    pub fn of(&mut self, executables: Sides<&TestExecutable>) -> Result<Option<Rc<File>>> {
        let identities = identities(executables)?;
        if self.current.as_ref().is_none_or(|(known, _)| *known != identities) {
            let programs = executables.try_map(|_, executable| fs::read(&executable.path))?;
            self.current = Some((identities, write(&programs)?.map(Rc::new)));
        }
        Ok(self.current.as_ref().and_then(|(_, file)| file.clone()))
    }
}

/// Writes the file. It has no name, so that no other process can open it and a crash leaves nothing behind.
fn write(programs: &Sides<Vec<u8>>) -> Result<Option<File>> {
    let page_size = os::page_size();
    let pages = programs.as_ref().map(|program| read_only_pages(program, page_size));
    let (Some(base), Some(head)) = (pages.base, pages.head) else { return Ok(None) };
    let runs = common_runs(&base, &head, page_size);
    // Some systems do not allow code in files without a name.
    let Ok(mut file) = os::anonymous_file(c"perfunit-program") else { return Ok(None) };
    let mut content = header(&runs, page_size);
    for page in runs.iter().flat_map(|run| (run.address..run.address + run.length).step_by(page_size)) {
        content.extend_from_slice(&base[&page].content);
    }
    file.write_all(&content).map_err(|error| Error::setup(format!("cannot fill shared memory: {error}")))?;
    Ok(Some(file))
}

/// Returns the size of [`CommonPages`] in the file, whole pages.
fn header_size(page_size: usize) -> usize {
    size_of::<CommonPages>().next_multiple_of(page_size)
}

/// Returns [`CommonPages`] as it lies in the file.
fn header(runs: &[Run], page_size: usize) -> Vec<u8> {
    let numbers = runs.iter().flat_map(|run| [run.address, run.length, run.offset.cast_unsigned()]);
    let mut bytes: Vec<u8> = [runs.len() as u64, 0].into_iter().chain(numbers).flat_map(u64::to_ne_bytes).collect();
    bytes.resize(header_size(page_size), 0);
    bytes
}

/// A page as it is in memory.
#[derive(Debug, PartialEq, Eq)]
struct MappedPage {
    executable: bool,
    content: Vec<u8>,
}

/// Returns the pages that no process writes, by address; `None` if this program cannot be moved.
fn read_only_pages(program: &[u8], page_size: usize) -> Option<BTreeMap<u64, MappedPage>> {
    let header = FileHeader64::<Endianness>::parse(program).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, program).ok()?;
    let mut pages = BTreeMap::new();
    for segment in segments {
        if segment.p_type(endian) == PT_DYNAMIC && relocates_code(segment, endian, program) {
            return None;
        }
        if segment.p_type(endian) != PT_LOAD || segment.p_flags(endian).0 & PF_W.0 != 0 {
            continue;
        }
        let (address, offset, size) = (segment.p_vaddr(endian), segment.p_offset(endian), segment.p_filesz(endian));
        let first = address - address % page_size as u64;
        for page in (first..address + size).step_by(page_size) {
            // The file around the segment is mapped with it; zeros follow its end.
            let start = usize::try_from((offset + page).checked_sub(address)?).ok()?;
            let mut content = program.get(start..(start + page_size).min(program.len()))?.to_vec();
            content.resize(page_size, 0);
            pages.insert(page, MappedPage { executable: segment.p_flags(endian).0 & PF_X.0 != 0, content });
        }
    }
    Some(pages)
}

/// Returns whether the dynamic linker writes to pages that are read-only afterwards: memory then differs from the file.
fn relocates_code(dynamic: &impl ProgramHeader<Endian = Endianness>, endian: Endianness, program: &[u8]) -> bool {
    let entries = dynamic.dynamic(endian, program).ok().flatten().unwrap_or_default();
    entries.iter().any(|entry| {
        let (tag, flags): (_, u64) = (entry.d_tag(endian), entry.d_val(endian).into());
        tag == DT_TEXTREL || tag == DT_FLAGS && flags & DF_TEXTREL.0 != 0
    })
}

/// Returns runs of equal pages of one kind; the longest ones if there are too many.
fn common_runs(base: &BTreeMap<u64, MappedPage>, head: &BTreeMap<u64, MappedPage>, page_size: usize) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut last = None;
    // The first page is never moved.
    for (address, page) in base.iter().skip(1).filter(|(address, page)| head.get(address) == Some(page)) {
        match runs.last_mut() {
            Some(run) if last == Some(page.executable) && run.address + run.length == *address => {
                run.length += page_size as u64;
            }
            _ => runs.push(Run { address: *address, length: page_size as u64, offset: 0 }),
        }
        last = Some(page.executable);
    }
    runs.sort_by_key(|run| std::cmp::Reverse(run.length));
    runs.truncate(MOST_RUNS);
    runs.sort_by_key(|run| run.address);
    let mut offset = header_size(page_size) as u64;
    for run in &mut runs {
        run.offset = offset.cast_signed();
        offset += run.length;
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes of memory pages that kernels have.
    const SIZES: [usize; 3] = [0x1000, 0x4000, 0x1_0000];

    /// Pages at multiples of a page: `.` is missing, capitals are code, other letters what they contain.
    fn pages(text: &str, size: usize) -> BTreeMap<u64, MappedPage> {
        let page = |(index, letter): (usize, char)| {
            let content = vec![letter.to_ascii_lowercase() as u8; size];
            (letter != '.').then(|| ((index * size) as u64, MappedPage { executable: letter.is_uppercase(), content }))
        };
        text.chars().enumerate().filter_map(page).collect()
    }

    #[track_caller]
    fn check(base: &str, head: &str, expected: &[(u64, u64)]) {
        for size in SIZES {
            let runs = common_runs(&pages(base, size), &pages(head, size), size);
            let page = size as u64;
            let found: Vec<_> = runs.iter().map(|run| (run.address / page, run.length / page)).collect();
            assert_eq!(found, expected);
            assert_eq!(header(&runs, size).len(), size);
            let mut offset = page;
            for run in &runs {
                assert_eq!(run.offset.cast_unsigned(), offset);
                offset += run.length;
            }
        }
    }

    #[test]
    fn pages_in_a_row_are_one_run() {
        check("abc", "abc", &[(1, 2)]);
        check("habXcd", "habYcd", &[(1, 2), (4, 2)]);
        check("ha.b", "ha.b", &[(1, 1), (3, 1)]);
    }

    #[test]
    fn code_and_data_are_runs_of_their_own() {
        check("habCDe", "habCDe", &[(1, 2), (3, 2), (5, 1)]);
        check("hA", "ha", &[]);
    }

    #[test]
    fn what_only_one_side_has_is_not_common() {
        check("habc", "hab", &[(1, 2)]);
        check("h", "habc", &[]);
    }

    #[test]
    fn of_too_many_runs_the_longest_are_kept() {
        let base: String = std::iter::once("h".to_owned()).chain((0..200).map(|_| "ax".to_owned())).collect();
        let head: String = std::iter::once("h".to_owned()).chain((0..200).map(|_| "ay".to_owned())).collect();
        let [size, ..] = SIZES;
        let runs = common_runs(&pages(&(base + "aa"), size), &pages(&(head + "aa"), size), size);
        assert_eq!(runs.len(), MOST_RUNS);
        assert_eq!(runs.last().map(|run| run.length), Some(2 * size as u64));
    }

    #[test]
    fn our_own_executable_shares_all_its_pages_with_itself() {
        let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let size = os::page_size();
        let pages = read_only_pages(&program, size).unwrap();
        let runs = common_runs(&pages, &pages, size);
        let common: u64 = runs.iter().map(|run| run.length / size as u64).sum();
        assert_eq!(common as usize, pages.len() - 1);
        assert!(pages.values().any(|page| page.executable) && pages.values().any(|page| !page.executable));
        assert_eq!(header(&runs, size).len(), header_size(size));
    }
}
