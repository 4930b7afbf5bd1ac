//! Placement of this process's program in physical memory. Pages that base and head have in common are shared; all
//! other pages are newly allocated for each process.
//!
//! The physical pages of a file determine which of its lines share a cache set, and they stay the same while the file
//! is in memory. As a result, equal executables in two files differed by 2 % in every pair of processes. Pages that are
//! equal in both executables are therefore mapped from one file, so that they affect both sides alike. Pages that
//! differ are copied to memory of the process, where their placement is noise between pairs. Only the placement
//! changes, never the content.

use crate::page::{CommonPages, MOST_RUNS};
use crate::sys;
use std::cell::Cell;
use std::ffi::{c_char, c_int, c_long, c_uint, c_void};
use std::ptr::{copy_nonoverlapping, null_mut};
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::Relaxed;

extern "C" {
    fn dl_iterate_phdr(visit: Visit, data: *mut c_void) -> c_int;
    fn mmap(at: *mut c_void, length: usize, protection: c_int, flags: c_int, fd: c_int, offset: i64) -> *mut c_void;
    fn mprotect(at: *mut c_void, length: usize, protection: c_int) -> c_int;
    fn mremap(from: *mut c_void, length: usize, new_length: usize, flags: c_int, ...) -> *mut c_void;
    fn munmap(at: *mut c_void, length: usize) -> c_int;
    fn pwrite(fd: c_int, buffer: *const c_void, length: usize, offset: i64) -> isize;
    fn syscall(number: c_long, ...) -> c_long;
    fn close(fd: c_int) -> c_int;
}

/// Callback of the dynamic linker for each object.
///
/// # Safety
///
/// The first argument describes a loaded object; the last is the pointer passed to `dl_iterate_phdr`.
type Visit = unsafe extern "C" fn(*const Object, usize, *mut c_void) -> c_int;

/// Used fields of `struct dl_phdr_info`.
#[repr(C)]
struct Object {
    base: usize,
    name: *const c_char,
    headers: *const Header,
    count: u16,
}

/// `Elf64_Phdr`.
#[repr(C)]
struct Header {
    kind: u32,
    flags: u32,
    offset: u64,
    address: u64,
    physical: u64,
    file_size: u64,
    memory_size: u64,
    alignment: u64,
}

const LOAD: u32 = 1;
const READ_ONLY_AFTER_LOADING: u32 = 0x6474_e552;
const EXECUTABLE: u32 = 1;
const WRITABLE: u32 = 2;
const PROT_READ: c_int = 1;
const PROT_READ_WRITE: c_int = 3;
const PROT_READ_EXECUTE: c_int = 5;
const MAP_PRIVATE: c_int = 2;
const MAP_FIXED: c_int = 0x10;
const MAP_ANONYMOUS: c_int = 0x20;
const MAP_POPULATE: c_int = 0x8000;
const MREMAP_MAYMOVE_FIXED: c_int = 3;
const MFD_CLOEXEC: c_uint = 1;
/// glibc has a function for this system call since 2.27.
#[cfg(target_arch = "x86_64")]
const SYS_MEMFD_CREATE: c_long = 319;
#[cfg(not(target_arch = "x86_64"))]
const SYS_MEMFD_CREATE: c_long = 279;

/// Addresses from `start` up to but excluding `end`, both multiples of a page.
#[derive(Clone, Copy)]
struct Range {
    start: usize,
    end: usize,
}

/// This program, as loaded by the dynamic linker.
#[derive(Clone, Copy)]
struct Program {
    base: usize,
    headers: &'static [Header],
    /// Size of a memory page.
    page: usize,
}

/// A program with moved pages. Forked children get new pages by [`renew`](Self::renew).
#[derive(Clone, Copy)]
pub struct Settled {
    program: Program,
    runs: &'static CommonPages,
    /// False if the system refused to move some pages, which stayed in place.
    is_complete: bool,
}

/// Moves the program's pages. `common` is the descriptor of the file with the pages that base and head share; it is
/// closed. Returns `None` if the program or the list of these pages was not found.
pub fn settle_program(common: i32) -> Option<Settled> {
    let settled = Runs::open(common).and_then(|runs| {
        let program = Program::find()?;
        let is_complete = program.read_only().fold(true, |moved, (header, protection)| {
            moved & for_each_part(program, header, runs, |part| part.place(protection, common))
        });
        program.writable().for_each(|header| own_data(program, header));
        Some(Settled { program, runs, is_complete })
    });
    // SAFETY: this process received the descriptor, and nothing else uses it.
    unsafe { close(common) };
    settled
}

impl Settled {
    /// Returns whether all pages were moved.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Copies the read-only pages that base and head do not share to a new memory file. Returns its descriptor, or
    /// `None` if the system refuses.
    pub fn copy(&self) -> Option<c_int> {
        let name = c"perfunit";
        // SAFETY: the name ends in a zero byte.
        let file = unsafe { syscall(SYS_MEMFD_CREATE, name.as_ptr(), MFD_CLOEXEC) } as c_int;
        let at = Cell::new(0);
        let is_complete = file >= 0 && self.for_each_own_part(|pages, _| append(file, pages, &at));
        if file >= 0 && !is_complete {
            close_copy(file);
        }
        is_complete.then_some(file)
    }

    /// Gives a forked child other pages where base and head share none: those of a [copy](Self::copy) if there is one,
    /// otherwise new ones. Returns whether all pages were moved. Data of libraries gets new pages when the child writes
    /// to it.
    pub fn renew(&self, copy: Option<c_int>) -> bool {
        let (program, at) = (self.program, Cell::new(0));
        let moved = self.for_each_own_part(|pages, protection| match copy {
            // Some systems refuse to execute pages of a memory file.
            Some(file) => map_copied(pages, protection, file, &at) || own(pages, protection),
            None => own(pages, protection),
        });
        let moved = moved & self.is_complete;
        let relocated = program.read_only_after_loading();
        let moved = moved & own(relocated, PROT_READ);
        program.writable().fold(moved, |moved, header| {
            let Range { start, end } = program.pages(header);
            let before = Range { start, end: end.min(relocated.start) };
            let behind = Range { start: start.max(relocated.end), end };
            moved & own_filled(program, before) & own_filled(program, behind)
        })
    }

    /// Applies `place` to read-only pages that are not common, with their protection. Returns whether all succeeded.
    fn for_each_own_part(&self, place: impl Fn(Range, c_int) -> bool) -> bool {
        self.program.read_only().fold(true, |all, (header, protection)| {
            all & for_each_part(self.program, header, self.runs, |part| match part {
                Part::Own(pages) => place(pages, protection),
                Part::Common(..) => true,
            })
        })
    }
}

/// Closes the descriptor of a copy.
pub fn close_copy(file: c_int) {
    // SAFETY: nothing else uses the descriptor.
    unsafe { close(file) };
}

/// Appends pages to a file. Returns whether all were written.
fn append(file: c_int, pages: Range, at: &Cell<usize>) -> bool {
    let (length, offset) = next_part(pages, at);
    // SAFETY: readable pages of this program.
    let written = || unsafe { pwrite(file, pages.start as *const c_void, length, offset) };
    length == 0 || usize::try_from(written()) == Ok(length)
}

/// Returns the length of these pages and their offset in a copy, which has all parts in a row.
fn next_part(pages: Range, at: &Cell<usize>) -> (usize, i64) {
    let length = pages.end.saturating_sub(pages.start);
    let offset = at.replace(at.get() + length);
    (length, i64::try_from(offset).unwrap_or(i64::MAX))
}

/// Maps pages from the file of a copy. The kernel populates only pages in use, many at a time.
fn map_copied(pages: Range, protection: c_int, file: c_int, at: &Cell<usize>) -> bool {
    let (length, offset) = next_part(pages, at);
    let flags = MAP_PRIVATE | MAP_FIXED;
    // SAFETY: the mapped content is equal to the current content.
    length == 0 || unsafe { mmap(pages.start as *mut c_void, length, protection, flags, file, offset) } as isize != -1
}

/// List of common runs; it stays mapped.
struct Runs;

impl Runs {
    fn open(common: i32) -> Option<&'static CommonPages> {
        // SAFETY: the file begins with a `CommonPages`, which is valid for every bit pattern.
        unsafe {
            let address = mmap(null_mut(), std::mem::size_of::<CommonPages>(), PROT_READ, MAP_PRIVATE, common, 0);
            (address as isize != -1).then(|| &*address.cast::<CommonPages>())
        }
    }
}

impl Program {
    fn find() -> Option<Self> {
        let mut found: Option<Program> = None;
        // SAFETY: `first_object` writes an `Option<Program>` to this pointer.
        unsafe { dl_iterate_phdr(first_object, std::ptr::from_mut(&mut found).cast()) };
        found
    }

    fn loaded_headers(self) -> impl Iterator<Item = &'static Header> {
        self.headers.iter().filter(|header| header.kind == LOAD)
    }

    /// Returns the read-only segments with their protection.
    fn read_only(self) -> impl Iterator<Item = (&'static Header, c_int)> {
        let protection = |flags: u32| if flags & EXECUTABLE != 0 { PROT_READ_EXECUTE } else { PROT_READ };
        let read_only = self.loaded_headers().filter(|header| header.flags & WRITABLE == 0);
        read_only.map(move |header| (header, protection(header.flags)))
    }

    fn writable(self) -> impl Iterator<Item = &'static Header> {
        self.loaded_headers().filter(|header| header.flags & WRITABLE != 0)
    }

    /// Returns the address of the first page, which stays mapped from the executable: std finds the program's path by
    /// it when it symbolizes functions. Only a position-independent program begins at its base.
    fn first_page(self) -> usize {
        self.loaded_headers().map(|header| self.pages(header).start).min().unwrap_or(self.base)
    }

    /// Returns the pages of a segment that are backed by the file.
    fn pages(self, header: &Header) -> Range {
        let start = self.base + header.address as usize;
        self.pages_around(start, (start + header.file_size as usize).next_multiple_of(self.page))
    }

    /// Returns the pages that the dynamic linker makes read-only after loading; the last page only if it is protected
    /// entirely. Without such pages, the range is empty and before all others.
    fn read_only_after_loading(self) -> Range {
        let Some(header) = self.headers.iter().find(|header| header.kind == READ_ONLY_AFTER_LOADING) else {
            return Range { start: 0, end: 0 };
        };
        let start = self.base + header.address as usize;
        let end = start + header.memory_size as usize;
        self.pages_around(start, end & !(self.page - 1))
    }

    /// Returns the pages from that of `start` up to `end`.
    fn pages_around(self, start: usize, end: usize) -> Range {
        Range { start: start & !(self.page - 1), end }
    }
}

/// Takes the first object, which is the program itself.
///
/// # Safety
///
/// The same as for [`Visit`]; `data` points to an `Option<Program>` that nothing else uses.
unsafe extern "C" fn first_object(object: *const Object, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: the caller guarantees both pointers.
    unsafe { *data.cast::<Option<Program>>() = Some(loaded_program(object)) };
    1
}

/// Returns the address and the program headers of a loaded object.
///
/// # Safety
///
/// `object` describes a loaded object.
unsafe fn loaded_program(object: *const Object) -> Program {
    // SAFETY: the headers of a loaded object stay in place.
    unsafe {
        let headers = std::slice::from_raw_parts((*object).headers, usize::from((*object).count));
        Program { base: (*object).base, headers, page: sys::page_size() }
    }
}

/// A run of pages of a read-only segment.
enum Part {
    /// Pages that are equal in both programs, with their offset in the common file.
    Common(Range, i64),
    /// Pages that differ.
    Own(Range),
}

impl Part {
    /// Maps common pages from their file and copies all others. Returns whether this succeeded.
    fn place(self, protection: c_int, common: i32) -> bool {
        match self {
            Self::Own(pages) => own(pages, protection),
            // SAFETY: the mapped content is equal to the current content, because the tool compared both files page by
            // page.
            Self::Common(pages, offset) => unsafe {
                let flags = MAP_PRIVATE | MAP_FIXED | MAP_POPULATE;
                let length = pages.end - pages.start;
                mmap(pages.start as *mut c_void, length, protection, flags, common, offset) as isize != -1
            },
        }
    }
}

/// Applies `place` to all parts of a segment. Returns whether all succeeded.
fn for_each_part(program: Program, header: &Header, runs: &CommonPages, place: impl Fn(Part) -> bool) -> bool {
    let Range { start, end } = program.pages(header);
    let mut at = start.max(program.first_page() + program.page);
    let mut all = true;
    for run in runs.runs.iter().take((runs.count as usize).min(MOST_RUNS)) {
        let run_start = program.base + run.address as usize;
        let run_end = run_start + run.length as usize;
        if run_start < at || run_end > end {
            continue;
        }
        all &= place(Part::Own(Range { start: at, end: run_start }));
        all &= place(Part::Common(Range { start: run_start, end: run_end }, run.offset));
        at = run_end;
    }
    all & place(Part::Own(Range { start: at, end }))
}

/// Copies read-only pages to new ones and replaces them by the copy. Returns whether this succeeded.
fn own(pages: Range, protection: c_int) -> bool {
    if pages.start >= pages.end {
        return true;
    }
    let length = pages.end - pages.start;
    // SAFETY: the copy is a new mapping of the same length and content. One system call puts it in place of the
    // original, so that not even this code sees a difference.
    unsafe {
        let copy = mmap(null_mut(), length, PROT_READ_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if copy as isize == -1 {
            return false;
        }
        copy_nonoverlapping(pages.start as *const u8, copy.cast::<u8>(), length);
        let moved = mprotect(copy, length, protection) == 0
            && mremap(copy, length, length, MREMAP_MAYMOVE_FIXED, pages.start as *mut c_void) as isize != -1;
        if !moved {
            munmap(copy, length);
        }
        moved
    }
}

/// Copies writable pages to new ones, except pages of zeros, of which there are many between parts of the data that are
/// laid out apart.
fn own_filled(program: Program, pages: Range) -> bool {
    let is_filled = |page: usize| {
        // SAFETY: a page of this program's data, which no other thread writes.
        let words = unsafe { std::slice::from_raw_parts(page as *const u64, program.page / 8) };
        words.iter().any(|word| *word != 0)
    };
    let mut moved = true;
    let mut start = pages.start;
    for page in (pages.start..pages.end).step_by(program.page) {
        if !is_filled(page) {
            moved &= own(Range { start, end: page }, PROT_READ_WRITE);
            start = page + program.page;
        }
    }
    moved & own(Range { start, end: pages.end }, PROT_READ_WRITE)
}

/// Writes a byte back to each page of a data segment, so that the kernel gives this process its own page.
fn own_data(program: Program, header: &Header) {
    let protected = program.headers.iter().find(|other| other.kind == READ_ONLY_AFTER_LOADING);
    let protected = protected.map_or(Range { start: 0, end: 0 }, |header| program.pages(header));
    let pages = program.pages(header);
    let all = (pages.start..pages.end).step_by(program.page);
    for page in all.filter(|page| !(protected.start..protected.end).contains(page)) {
        // SAFETY: a byte of a writable page of this program; the access is atomic in case another thread writes it.
        let byte = unsafe { AtomicU8::from_ptr(page as *mut u8) };
        let _held = byte.fetch_update(Relaxed, Relaxed, Some);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write;
    use std::os::fd::IntoRawFd;

    /// Returns the path of the file that an address is mapped from; empty for anonymous memory.
    fn mapped_from(address: usize) -> String {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let holds = |line: &&str| {
            let (start, end) = line.split(' ').next().and_then(|range| range.split_once('-')).unwrap();
            let number = |text| usize::from_str_radix(text, 16).unwrap();
            (number(start)..number(end)).contains(&address)
        };
        let line = maps.lines().find(holds).unwrap();
        line.splitn(6, ' ').nth(5).unwrap_or("").trim().to_owned()
    }

    #[test]
    fn common_pages_come_from_the_file_and_all_others_are_our_own() {
        let program = Program::find().unwrap();
        let page = program.page;
        let data = program.loaded_headers().find(|header| header.flags & (WRITABLE | EXECUTABLE) == 0).unwrap();
        let code = program.loaded_headers().find(|header| header.flags & EXECUTABLE != 0).unwrap();
        let (data, code) = (program.pages(data), program.pages(code));
        let shared = data.start + 2 * page;
        assert!(shared + page < data.end, "this program is too small to share anything");
        // SAFETY: a read-only page of this program.
        let content = unsafe { std::slice::from_raw_parts(shared as *const u8, page) }.to_vec();
        let path = std::env::temp_dir().join(format!("perfunit-common-{}", std::process::id()));
        let mut file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        let numbers = [1, 0, (shared - program.base) as u64, page as u64, page as u64];
        let mut list: Vec<u8> = numbers.into_iter().flat_map(u64::to_ne_bytes).collect();
        list.resize(page, 0);
        file.write_all(&list).and_then(|()| file.write_all(&content)).unwrap();

        let settled = settle_program(file.into_raw_fd()).unwrap();
        assert!(settled.is_complete() && settled.renew(None));
        let copy = settled.copy().unwrap();
        assert!(settled.renew(Some(copy)));
        close_copy(copy);
        let from = mapped_from(shared);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(from, path.to_str().unwrap());
        // SAFETY: see above.
        assert_eq!(unsafe { std::slice::from_raw_parts(shared as *const u8, page) }, content);
        let executable = std::env::current_exe().unwrap();
        assert_eq!(mapped_from(program.first_page()), executable.to_str().unwrap());
        for own in [shared - page, shared + page, code.start, code.end - page] {
            assert_eq!(mapped_from(own), "/memfd:perfunit (deleted)");
        }
        assert_eq!(program.loaded_headers().count(), Program::find().unwrap().loaded_headers().count());
    }
}
