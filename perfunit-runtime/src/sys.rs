//! The system calls that std does not offer, declared by hand: this crate has no dependency.

use crate::page::{Page, PAGE_BYTES};

pub use crate::page::PAGE;

use std::ffi::{c_char, c_int, c_long, c_uint, c_void, CStr};
use std::ptr::null_mut;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32};
use std::time::Duration;

extern "C" {
    fn mmap(
        address: *mut c_void,
        length: usize,
        protection: c_int,
        flags: c_int,
        fd: c_int,
        offset: c_long,
    ) -> *mut c_void;
    fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn pread(fd: c_int, buffer: *mut c_void, length: usize, offset: c_long) -> isize;
    fn close(fd: c_int) -> c_int;
    fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
    fn fork() -> c_int;
    fn getpid() -> c_int;
    fn prctl(option: c_int, ...) -> c_int;
    fn waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn waitid(kind: c_int, process: c_uint, end: *mut SignalInfo, options: c_int) -> c_int;
    fn _exit(status: c_int) -> !;
}

/// `struct timespec` on the 64-bit platforms that we serve.
#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

/// `siginfo_t` of a child's end on the 64-bit platforms that we serve.
#[derive(Default)]
#[repr(C)]
struct SignalInfo {
    signal: c_int,
    error: c_int,
    code: c_int,
    reserved: c_int,
    process: c_int,
    user: c_uint,
    status: c_int,
    padding: c_int,
    rest: [u64; 12],
}

const P_ALL: c_int = 0;
const P_PID: c_int = 1;
const WNOHANG: c_int = 1;
const WEXITED: c_int = 4;
const WNOWAIT: c_int = 0x0100_0000;
/// Children of any kind.
const WALL: c_int = 0x4000_0000;
const CLD_EXITED: c_int = 1;
const CLD_DUMPED: c_int = 3;
const CORE_DUMPED: c_int = 0x80;

/// As many as a `cpu_set_t` holds.
const MOST_CORES: usize = 1024;
const O_CLOEXEC: c_int = 0o2_000_000;
const CLOCK_MONOTONIC: c_int = 1;
const CLOCK_PROCESS_CPUTIME_ID: c_int = 2;
const CLOCK_THREAD_CPUTIME_ID: c_int = 3;
const PROT_READ_WRITE: c_int = 3;
const MAP_SHARED: c_int = 1;
const MAP_ANONYMOUS: c_int = 0x20;
const MADV_POPULATE_READ: c_int = 22;
const MADV_POPULATE_WRITE: c_int = 23;
const PR_SET_PDEATHSIG: c_int = 1;
const SIGKILL: c_long = 9;
const FUTEX_WAIT: c_int = 0;
const FUTEX_WAKE: c_int = 1;
#[cfg(target_arch = "x86_64")]
const SYS_FUTEX: c_long = 202;
#[cfg(not(target_arch = "x86_64"))]
const SYS_FUTEX: c_long = 98;
#[cfg(target_arch = "x86_64")]
const SYS_SCHED_SETAFFINITY: c_long = 203;
#[cfg(not(target_arch = "x86_64"))]
const SYS_SCHED_SETAFFINITY: c_long = 122;
#[cfg(target_arch = "x86_64")]
const SYS_GETTID: c_long = 186;
#[cfg(not(target_arch = "x86_64"))]
const SYS_GETTID: c_long = 178;

/// Maps the page that the tool shares and closes its descriptor, so that the test does not see it.
pub fn map_page(descriptor: i32) -> Option<&'static Page> {
    let address = map_file(descriptor, PAGE_BYTES)?;
    close_file(descriptor);
    // SAFETY: the tool made the file `PAGE_BYTES` long and never shrinks it; the mapping is never unmapped, and `Page`
    // consists of atomics, valid for every bit pattern.
    Some(unsafe { &*address.cast::<Page>() })
}

/// Maps the beginning of a file that other processes map, too, for as long as this one lives.
pub fn map_file(descriptor: i32, length: usize) -> Option<*mut c_void> {
    // SAFETY: a fresh mapping, where nothing else is.
    let address = unsafe { mmap(std::ptr::null_mut(), length, PROT_READ_WRITE, MAP_SHARED, descriptor, 0) };
    (address as isize != -1).then_some(address)
}

/// Fresh memory that processes forked from this one share with it.
pub fn map_shared(length: usize) -> Option<*mut c_void> {
    let flags = MAP_SHARED | MAP_ANONYMOUS;
    // SAFETY: a fresh mapping, where nothing else is.
    let address = unsafe { mmap(std::ptr::null_mut(), length, PROT_READ_WRITE, flags, -1, 0) };
    (address as isize != -1).then_some(address)
}

/// The kernel's map of this process's pages.
pub fn open_page_map() -> Option<OpenFile> {
    PAGE_MAP.open()
}

/// Reads entries of the map from a page on: how many.
pub fn read_page_map(map: &OpenFile, page: usize, entries: &mut [u64]) -> usize {
    let (length, size) = (std::mem::size_of_val(entries), std::mem::size_of::<u64>());
    let offset = c_long::try_from(page * size).unwrap_or(c_long::MAX);
    // SAFETY: the buffer is as long as we say, and any bits are numbers.
    let read = unsafe { pread(map.descriptor, entries.as_mut_ptr().cast(), length, offset) };
    usize::try_from(read).unwrap_or(0) / size
}

/// Closes a descriptor that the tool handed down, or that is ours.
pub fn close_file(descriptor: i32) {
    // SAFETY: nobody else knows of the descriptor.
    unsafe { close(descriptor) };
}

/// Keeps this thread, and those that it starts, on one core.
pub fn stay_on(core: usize) {
    let mut cores = [0_u64; MOST_CORES / 64];
    if let Some(word) = cores.get_mut(core / 64) {
        *word = 1 << (core % 64);
        // SAFETY: a set of cores as long as we say, which is only read.
        // Not by libc's function, behind which a preloaded library takes note of what the test chooses itself.
        unsafe { syscall(SYS_SCHED_SETAFFINITY, 0, std::mem::size_of_val(&cores), cores.as_ptr()) };
    }
}

/// Sleeps until `word` is no longer `value` (or for no reason: the caller looks again).
pub fn futex_wait(word: &AtomicU32, value: u32) {
    // SAFETY: the word is a live, aligned u32 and the call only reads it.
    unsafe {
        syscall(SYS_FUTEX, word.as_ptr(), FUTEX_WAIT, value, std::ptr::null::<c_void>());
    }
}

/// Wakes whoever sleeps on `word`, in any process.
pub fn futex_wake(word: &AtomicU32) {
    // SAFETY: the word is a live, aligned u32; waking touches no memory.
    unsafe {
        syscall(SYS_FUTEX, word.as_ptr(), FUTEX_WAKE, c_int::MAX);
    }
}

/// libc's `clock_gettime`, where a library that shows the test another time stands in front of it.
static TRUE_CLOCK: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// libc's `clock_gettime`.
///
/// # Safety
///
/// A `Timespec` can be written there.
type ClockGettime = unsafe extern "C" fn(c_int, *mut Timespec) -> c_int;

/// Has all readings of ours go to this function, libc's `clock_gettime`.
pub fn read_true_clock_by(function: *mut c_void) {
    TRUE_CLOCK.store(function, Relaxed);
}

/// The true time at a moment: as `std::time::Instant`, also where the test is shown another time.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    ns: u64,
}

impl Moment {
    /// Reads the clock.
    #[inline]
    pub fn now() -> Self {
        Self { ns: clock_ns(CLOCK_MONOTONIC) }
    }

    /// Returns the time that has passed since this moment.
    #[inline]
    pub fn elapsed(self) -> Duration {
        Duration::from_nanos(Self::now().ns - self.ns)
    }
}

/// Returns for how long the threads of this process ran, ns.
pub fn threads_cpu_ns() -> u64 {
    clock_ns(CLOCK_PROCESS_CPUTIME_ID)
}

/// For how long this thread ran, ns.
pub fn thread_cpu_ns() -> u64 {
    clock_ns(CLOCK_THREAD_CPUTIME_ID)
}

#[inline]
fn clock_ns(clock: c_int) -> u64 {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    let true_clock = TRUE_CLOCK.load(Relaxed);
    // SAFETY: the kernel fills in the structure that it is given; an address that is not null is that of this function.
    unsafe {
        if true_clock.is_null() {
            clock_gettime(clock, &mut time);
        } else {
            std::mem::transmute::<*mut c_void, ClockGettime>(true_clock)(clock, &mut time);
        }
    }
    (time.seconds * 1_000_000_000 + time.nanoseconds) as u64
}

/// A file of the kernel that is opened for each reading, so that the descriptors of the test stay as they are; but stays
/// open where nothing can be opened any more.
pub struct KernelFile {
    path: &'static CStr,
    kept: AtomicI32,
}

/// What others did to this thread.
static DELAY: KernelFile = KernelFile { path: c"/proc/thread-self/schedstat", kept: AtomicI32::new(-1) };
/// What this process uses.
pub static STATUS: KernelFile = KernelFile { path: c"/proc/self/status", kept: AtomicI32::new(-1) };
/// What this process reads and writes.
pub static IO: KernelFile = KernelFile { path: c"/proc/self/io", kept: AtomicI32::new(-1) };
/// Where pages are.
static PAGE_MAP: KernelFile = KernelFile { path: c"/proc/self/pagemap", kept: AtomicI32::new(-1) };

/// Opens the files that are read while a test is measured, for this thread and for good.
pub fn keep_files_open() {
    for file in [&DELAY, &STATUS, &IO, &PAGE_MAP] {
        file.kept.store(file.open_anew(), Relaxed);
    }
}

/// A [`KernelFile`], until it is dropped or for good.
pub struct OpenFile {
    descriptor: c_int,
    is_kept: bool,
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        if !self.is_kept {
            close_file(self.descriptor);
        }
    }
}

impl KernelFile {
    fn open_anew(&self) -> c_int {
        // SAFETY: the path ends in a zero byte.
        unsafe { open(self.path.as_ptr(), O_CLOEXEC) }
    }

    fn open(&self) -> Option<OpenFile> {
        let kept = self.kept.load(Relaxed);
        let is_kept = kept >= 0;
        let descriptor = if is_kept { kept } else { self.open_anew() };
        (descriptor >= 0).then_some(OpenFile { descriptor, is_kept })
    }

    /// Its beginning, as much as one reading gives, by system calls of our own: without the heap.
    pub fn read<'a>(&self, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
        let file = self.open()?;
        // SAFETY: the buffer is as long as we say.
        let length = unsafe { pread(file.descriptor, buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        buffer.get(..usize::try_from(length).ok()?)
    }
}

/// For how long this thread was ready to run while others had the core, ns; `None` where the kernel does not tell.
pub fn run_delay_ns() -> Option<u64> {
    delay_in(DELAY.read(&mut [0; 80])?)
}

/// The second number of `/proc/<id>/schedstat`.
pub fn delay_in(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Ends the process at once: no exit handler of the test can hang us.
pub fn exit_now(status: i32) -> ! {
    // SAFETY: ends the process.
    unsafe { _exit(status) }
}

/// Who returns from [`fork`].
pub enum Forked {
    /// The new process.
    Child,
    /// The old one, with the id of the new one.
    Parent(i32),
    /// The old one; there is no new one.
    Refused,
}

/// Forks this process as libc does, with the handlers of whoever asked to be told.
pub fn fork_process() -> Forked {
    // SAFETY: our caller sees to it that no other thread holds what the child needs.
    match unsafe { fork() } {
        0 => Forked::Child,
        id if id > 0 => Forked::Parent(id),
        _ => Forked::Refused,
    }
}

/// Waits for a child and returns its status, as `waitpid` has it; 0 where the program has its children reaped unseen.
pub fn wait_for(id: i32) -> u32 {
    let mut status = 0;
    // SAFETY: the place lives through the call.
    while unsafe { waitpid(id, &mut status, 0) } < 0 {
        if std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            return 0;
        }
    }
    status as u32
}

/// Waits until a child has ended and returns its status, as `waitpid` has it, but leaves it to be reaped; 0 where the program
/// has its children reaped unseen.
///
/// The kernel wakes us before the last thread of the child is gone. To reap the child then would have us wait for that thread
/// in a busy loop in the kernel, on the core where the thread is to run.
pub fn see_end_of(id: i32) -> u32 {
    let mut end = SignalInfo::default();
    // SAFETY: the place lives through the call.
    while unsafe { waitid(P_PID, id as c_uint, &mut end, WEXITED | WNOWAIT) } < 0 {
        if std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            return 0;
        }
    }
    let status = match end.code {
        CLD_EXITED => (end.status & 0xff) << 8,
        CLD_DUMPED => end.status | CORE_DUMPED,
        _ => end.status,
    };
    status as u32
}

/// Returns whether this process has children now, running or ended.
pub fn has_children() -> bool {
    // SAFETY: the place lives through the call.
    unsafe { waitid(P_ALL, 0, &mut SignalInfo::default(), WEXITED | WNOHANG | WNOWAIT | WALL) == 0 }
}

/// Has the kernel end this process when the thread that forked it ends.
pub fn die_with_parent() {
    // SAFETY: takes no pointers.
    unsafe { prctl(PR_SET_PDEATHSIG, SIGKILL) };
}

/// Whether this is the thread that the process began with.
pub fn is_main_thread() -> bool {
    // SAFETY: take no arguments.
    unsafe { syscall(SYS_GETTID) == c_long::from(getpid()) }
}

/// What a mapping is to be ready for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// Reading: its pages are mapped in.
    Read,
    /// Writing: this process has its own copy of each page.
    Write,
}

/// Takes the page faults of a mapping now. An old kernel refuses, and they come when they come.
pub fn populate(start: usize, length: usize, advice: Advice) {
    let advice = match advice {
        Advice::Read => MADV_POPULATE_READ,
        Advice::Write => MADV_POPULATE_WRITE,
    };
    // SAFETY: neither changes what the memory holds; a range that cannot be populated gives an error, which is harmless.
    unsafe { madvise(start as *mut c_void, length, advice) };
}
