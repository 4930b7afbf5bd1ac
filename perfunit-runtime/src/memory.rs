//! Where the program of this process lies in physical memory: what base and head have in common in the same pages, all
//! else in pages drawn anew for each process.
//!
//! The pages that hold a file decide which of its lines share a set of the caches, and they stay for as long as the file
//! is in memory: equal executables in two files were seen to differ by 2 %, process after process. So what is equal in
//! both is mapped from one file, where its pages do to both what they do, and what differs is copied to pages of the
//! process's own, where they are noise between pairs. Only where things lie changes, never what is there.

use crate::page::{CommonPages, MOST_RUNS, PAGE};
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

/// What the dynamic linker calls for each object.
///
/// # Safety
///
/// The first argument describes a loaded object, the last is what `dl_iterate_phdr` was given.
type Visit = unsafe extern "C" fn(*const Object, usize, *mut c_void) -> c_int;

/// `struct dl_phdr_info`, as far as it is needed.
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
/// The C library has a function for it from glibc 2.27 on.
#[cfg(target_arch = "x86_64")]
const SYS_MEMFD_CREATE: c_long = 319;
#[cfg(not(target_arch = "x86_64"))]
const SYS_MEMFD_CREATE: c_long = 279;

/// Addresses from the first to the one behind the last, both multiples of a page.
#[derive(Clone, Copy)]
struct Range {
    start: usize,
    end: usize,
}

/// This program, as the dynamic linker loaded it.
#[derive(Clone, Copy)]
struct Program {
    base: usize,
    headers: &'static [Header],
}

/// The pages of a program that was moved; its forked children draw theirs anew.
#[derive(Clone, Copy)]
pub struct Settled {
    program: Program,
    runs: &'static CommonPages,
    /// Whether the system refused to move some pages, which stayed where they were.
    is_complete: bool,
}

/// Moves the program; `common` is the descriptor of the file with the pages that base and head share, which is closed.
/// Returns `None` if the program or the list of these pages was not found.
pub fn settle_program(common: i32) -> Option<Settled> {
    let settled = Runs::open(common).and_then(|runs| {
        let program = Program::find()?;
        let is_complete = program.read_only().fold(true, |moved, (header, protection)| {
            moved & for_each_part(program, header, runs, |part| part.place(protection, common))
        });
        program.writable().for_each(|header| own_data(program, header));
        Some(Settled { program, runs, is_complete })
    });
    // SAFETY: the descriptor was given to us, and nobody else knows of it.
    unsafe { close(common) };
    settled
}

impl Settled {
    /// Tells whether all pages are where they should be.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Writes the pages that nobody writes, and that base and head do not share, to a new file in memory. Returns its
    /// descriptor.
    pub fn copy(&self) -> Option<c_int> {
        let name = c"perfunit";
        // SAFETY: the name ends with a zero.
        let file = unsafe { syscall(SYS_MEMFD_CREATE, name.as_ptr(), MFD_CLOEXEC) } as c_int;
        let at = Cell::new(0);
        let is_complete = file >= 0 && self.for_each_own_part(|pages, _| append(file, pages, &at));
        if file >= 0 && !is_complete {
            close_copy(file);
        }
        is_complete.then_some(file)
    }

    /// Gives a forked child other pages for what base and head do not share: those of a [copy](Self::copy), if there is one,
    /// else new ones. Returns whether all pages are where they should be. Libraries' data gets new pages where the child
    /// writes to it.
    pub fn renew(&self, copy: Option<c_int>) -> bool {
        let (program, at) = (self.program, Cell::new(0));
        let moved = self.for_each_own_part(|pages, protection| match copy {
            // A system may refuse to execute what lies in such a file.
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
            moved & own_filled(before) & own_filled(behind)
        })
    }

    /// Applies `place` to the pages, and their protection, that nobody writes and that are not common. Returns whether all
    /// succeeded.
    fn for_each_own_part(&self, place: impl Fn(Range, c_int) -> bool) -> bool {
        self.program.read_only().fold(true, |all, (header, protection)| {
            all & for_each_part(self.program, header, self.runs, |part| match part {
                Part::Own(pages) => place(pages, protection),
                Part::Common(..) => true,
            })
        })
    }
}

/// Closes a copy's descriptor.
pub fn close_copy(file: c_int) {
    // SAFETY: nobody else knows of the descriptor.
    unsafe { close(file) };
}

/// Writes pages to a file, behind what is there.
fn append(file: c_int, pages: Range, at: &Cell<usize>) -> bool {
    let (length, offset) = next_part(pages, at);
    // SAFETY: readable pages of this program.
    let written = || unsafe { pwrite(file, pages.start as *const c_void, length, offset) };
    length == 0 || usize::try_from(written()) == Ok(length)
}

/// Length of these pages and their place in a copy, where all parts lie behind each other.
fn next_part(pages: Range, at: &Cell<usize>) -> (usize, i64) {
    let length = pages.end.saturating_sub(pages.start);
    let offset = at.replace(at.get() + length);
    (length, i64::try_from(offset).unwrap_or(i64::MAX))
}

/// Maps pages from the file that they were written to. Only those that are used are mapped in, many at a time.
fn map_copied(pages: Range, protection: c_int, file: c_int, at: &Cell<usize>) -> bool {
    let (length, offset) = next_part(pages, at);
    let flags = MAP_PRIVATE | MAP_FIXED;
    // SAFETY: what is mapped is what is there already.
    length == 0 || unsafe { mmap(pages.start as *mut c_void, length, protection, flags, file, offset) } as isize != -1
}

/// The list of common runs, which stays mapped.
struct Runs;

impl Runs {
    fn open(common: i32) -> Option<&'static CommonPages> {
        // SAFETY: the file begins with a `CommonPages`, which is as long as a page and valid for every bit pattern.
        unsafe {
            let address = mmap(null_mut(), PAGE, PROT_READ, MAP_PRIVATE, common, 0);
            (address as isize != -1).then(|| &*address.cast::<CommonPages>())
        }
    }
}

impl Program {
    fn find() -> Option<Self> {
        let mut found: Option<Program> = None;
        // SAFETY: `first_object` writes an `Option<Program>`, and that is what it is given.
        unsafe { dl_iterate_phdr(first_object, std::ptr::from_mut(&mut found).cast()) };
        found
    }

    fn loaded(self) -> impl Iterator<Item = &'static Header> {
        self.headers.iter().filter(|header| header.kind == LOAD)
    }

    /// Returns the segments that nobody writes, with their protection.
    fn read_only(self) -> impl Iterator<Item = (&'static Header, c_int)> {
        let protection = |flags: u32| if flags & EXECUTABLE != 0 { PROT_READ_EXECUTE } else { PROT_READ };
        let read_only = self.loaded().filter(|header| header.flags & WRITABLE == 0);
        read_only.map(move |header| (header, protection(header.flags)))
    }

    fn writable(self) -> impl Iterator<Item = &'static Header> {
        self.loaded().filter(|header| header.flags & WRITABLE != 0)
    }

    /// The first page stays a page of the executable: std finds the path of the program by it when it names functions. Only
    /// a program that is free to move begins at its base.
    fn first_page(self) -> usize {
        self.loaded().map(|header| self.pages(header).start).min().unwrap_or(self.base)
    }

    /// The pages of a segment that come from the file.
    fn pages(self, header: &Header) -> Range {
        let start = self.base + header.address as usize;
        Range { start: start & !(PAGE - 1), end: (start + header.file_size as usize).next_multiple_of(PAGE) }
    }

    /// The pages that the dynamic linker protects when it is done: the last one only if all of it is to be read. Empty, and
    /// before all others, where there are none.
    fn read_only_after_loading(self) -> Range {
        let Some(header) = self.headers.iter().find(|header| header.kind == READ_ONLY_AFTER_LOADING) else {
            return Range { start: 0, end: 0 };
        };
        let start = self.base + header.address as usize;
        let end = start + header.memory_size as usize;
        Range { start: start & !(PAGE - 1), end: end & !(PAGE - 1) }
    }
}

/// The first object is the program itself.
///
/// # Safety
///
/// As of [`Visit`]; `data` is an `Option<Program>` that nobody else uses.
unsafe extern "C" fn first_object(object: *const Object, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { *data.cast::<Option<Program>>() = Some(loaded_program(object)) };
    1
}

/// # Safety
///
/// `object` describes a loaded object.
unsafe fn loaded_program(object: *const Object) -> Program {
    // SAFETY: the headers of a loaded object stay where they are.
    unsafe {
        let headers = std::slice::from_raw_parts((*object).headers, usize::from((*object).count));
        Program { base: (*object).base, headers }
    }
}

/// Runs of pages of a segment that nobody writes.
enum Part {
    /// Equal in both programs, at this place of the file.
    Common(Range, i64),
    /// All others.
    Own(Range),
}

impl Part {
    /// Maps common pages from their file and copies all others.
    fn place(self, protection: c_int, common: i32) -> bool {
        match self {
            Self::Own(pages) => own(pages, protection),
            // SAFETY: what is mapped is what is there already: the tool compared both files page by page.
            Self::Common(pages, offset) => unsafe {
                let flags = MAP_PRIVATE | MAP_FIXED | MAP_POPULATE;
                let length = pages.end - pages.start;
                mmap(pages.start as *mut c_void, length, protection, flags, common, offset) as isize != -1
            },
        }
    }
}

/// Applies `place` to all parts of a segment; returns whether all succeeded.
fn for_each_part(program: Program, header: &Header, runs: &CommonPages, place: impl Fn(Part) -> bool) -> bool {
    let Range { start, end } = program.pages(header);
    let mut at = start.max(program.first_page() + PAGE);
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

/// Copies pages that nobody writes to new ones and puts these in their place.
fn own(pages: Range, protection: c_int) -> bool {
    if pages.start >= pages.end {
        return true;
    }
    let length = pages.end - pages.start;
    // SAFETY: the copy is a new mapping of the same length; it takes the place of the original in one system call, with
    // the same content, so that not even the code that runs here sees a difference.
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

/// Copies writable pages to new ones, except those that hold zeros only: between parts of the data that are laid out apart
/// there are many.
fn own_filled(pages: Range) -> bool {
    let is_filled = |page: usize| {
        // SAFETY: a page of this program's data, which no other thread writes.
        let words = unsafe { std::slice::from_raw_parts(page as *const u64, PAGE / 8) };
        words.iter().any(|word| *word != 0)
    };
    let mut moved = true;
    let mut start = pages.start;
    for page in (pages.start..pages.end).step_by(PAGE) {
        if !is_filled(page) {
            moved &= own(Range { start, end: page }, PROT_READ_WRITE);
            start = page + PAGE;
        }
    }
    moved & own(Range { start, end: pages.end }, PROT_READ_WRITE)
}

/// Writes to each page of a data segment what it holds, so that the kernel gives this process a page of its own.
fn own_data(program: Program, header: &Header) {
    let protected = program.headers.iter().find(|other| other.kind == READ_ONLY_AFTER_LOADING);
    let protected = protected.map_or(Range { start: 0, end: 0 }, |header| program.pages(header));
    let pages = program.pages(header);
    for page in (pages.start..pages.end).step_by(PAGE).filter(|page| !(protected.start..protected.end).contains(page)) {
        // SAFETY: a byte of a writable page of this program; atomic, should another thread write it just now.
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

    /// Path of the file that an address is mapped from; empty for memory of our own.
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
        let data = program.loaded().find(|header| header.flags & (WRITABLE | EXECUTABLE) == 0).unwrap();
        let code = program.loaded().find(|header| header.flags & EXECUTABLE != 0).unwrap();
        let (data, code) = (program.pages(data), program.pages(code));
        let shared = data.start + 2 * PAGE;
        assert!(shared + PAGE < data.end, "this program is too small to share anything");
        // SAFETY: a page of our own program, which nobody writes.
        let content = unsafe { std::slice::from_raw_parts(shared as *const u8, PAGE) }.to_vec();
        let path = std::env::temp_dir().join(format!("perfunit-common-{}", std::process::id()));
        let mut file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        let numbers = [1, 0, (shared - program.base) as u64, PAGE as u64, PAGE as u64];
        let mut list: Vec<u8> = numbers.into_iter().flat_map(u64::to_ne_bytes).collect();
        list.resize(PAGE, 0);
        file.write_all(&list).and_then(|()| file.write_all(&content)).unwrap();

        let settled = settle_program(file.into_raw_fd()).unwrap();
        assert!(settled.is_complete() && settled.renew(None));
        let copy = settled.copy().unwrap();
        assert!(settled.renew(Some(copy)));
        close_copy(copy);
        let from = mapped_from(shared);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(from, path.to_str().unwrap());
        // SAFETY: as above.
        assert_eq!(unsafe { std::slice::from_raw_parts(shared as *const u8, PAGE) }, content);
        let executable = std::env::current_exe().unwrap();
        assert_eq!(mapped_from(program.first_page()), executable.to_str().unwrap());
        for own in [shared - PAGE, shared + PAGE, code.start, code.end - PAGE] {
            assert_eq!(mapped_from(own), "/memfd:perfunit (deleted)");
        }
        assert_eq!(program.loaded().count(), Program::find().unwrap().loaded().count());
    }
}
