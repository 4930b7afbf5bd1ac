//! System calls that std does not offer, declared by hand because this crate has no dependencies.

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
    fn sysconf(name: c_int) -> c_long;
    fn prctl(option: c_int, ...) -> c_int;
    fn waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn waitid(kind: c_int, process: c_uint, end: *mut SignalInfo, options: c_int) -> c_int;
    fn _exit(status: c_int) -> !;
}

/// `struct timespec` on the supported 64-bit platforms.
#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

/// `siginfo_t` of a child's end on the supported 64-bit platforms.
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
/// Waits for children of any kind.
const WALL: c_int = 0x4000_0000;
const CLD_EXITED: c_int = 1;
const CLD_DUMPED: c_int = 3;
const CORE_DUMPED: c_int = 0x80;

/// Name of the size of a memory page for `sysconf`.
const SC_PAGESIZE: c_int = 30;
/// Number of cores in a `cpu_set_t`.
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
    // SAFETY: the tool created the file with `PAGE_BYTES` and never shrinks it; the mapping is never unmapped; `Page`
    // consists of atomics, which are valid for every bit pattern.
    Some(unsafe { &*address.cast::<Page>() })
}

/// Maps the beginning of a file that other processes map too, until this process ends.
pub fn map_file(descriptor: i32, length: usize) -> Option<*mut c_void> {
    // SAFETY: a new mapping at a free address.
    let address = unsafe { mmap(std::ptr::null_mut(), length, PROT_READ_WRITE, MAP_SHARED, descriptor, 0) };
    (address as isize != -1).then_some(address)
}

/// Allocates memory that forked processes share with this one.
pub fn map_shared(length: usize) -> Option<*mut c_void> {
    let flags = MAP_SHARED | MAP_ANONYMOUS;
    // SAFETY: a new mapping at a free address.
    let address = unsafe { mmap(std::ptr::null_mut(), length, PROT_READ_WRITE, flags, -1, 0) };
    (address as isize != -1).then_some(address)
}

/// Returns the size of a memory page in bytes; aarch64 kernels have pages of 4, 16 or 64 KiB.
pub fn page_size() -> usize {
    // SAFETY: the call takes no pointers.
    usize::try_from(unsafe { sysconf(SC_PAGESIZE) }).unwrap_or(PAGE)
}

/// Opens the kernel's map of this process's pages.
pub fn open_page_map() -> Option<OpenFile> {
    PAGE_MAP.open()
}

/// Reads entries of the page map, starting at a page, and returns their number.
pub fn read_page_map(map: &OpenFile, page: usize, entries: &mut [u64]) -> usize {
    let (length, size) = (std::mem::size_of_val(entries), std::mem::size_of::<u64>());
    let offset = c_long::try_from(page * size).unwrap_or(c_long::MAX);
    // SAFETY: the buffer has this length, and any bits are numbers.
    let read = unsafe { pread(map.descriptor, entries.as_mut_ptr().cast(), length, offset) };
    usize::try_from(read).unwrap_or(0) / size
}

/// Closes a descriptor of this crate, inherited from the tool or opened here.
pub fn close_file(descriptor: i32) {
    // SAFETY: nothing else uses the descriptor.
    unsafe { close(descriptor) };
}

/// Keeps this thread, and threads that it starts, on one core.
pub fn stay_on(core: usize) {
    let mut cores = [0_u64; MOST_CORES / 64];
    if let Some(word) = cores.get_mut(core / 64) {
        *word = 1 << (core % 64);
        // SAFETY: a set of cores of this length, which is only read. libc's function is avoided, because a preloaded
        // library records its calls as the test's choice.
        unsafe { syscall(SYS_SCHED_SETAFFINITY, 0, std::mem::size_of_val(&cores), cores.as_ptr()) };
    }
}

/// Sleeps while `word` is `value`. May return early, so the caller must check again.
pub fn futex_wait(word: &AtomicU32, value: u32) {
    // SAFETY: the word is a live, aligned u32, and the call only reads it.
    unsafe {
        syscall(SYS_FUTEX, word.as_ptr(), FUTEX_WAIT, value, std::ptr::null::<c_void>());
    }
}

/// Wakes all threads that sleep on `word`, in any process.
pub fn futex_wake(word: &AtomicU32) {
    // SAFETY: the word is a live, aligned u32; waking accesses no memory.
    unsafe {
        syscall(SYS_FUTEX, word.as_ptr(), FUTEX_WAKE, c_int::MAX);
    }
}

/// libc's `clock_gettime` if a library replaces the clock; otherwise null.
static TRUE_CLOCK: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Type of libc's `clock_gettime`.
///
/// # Safety
///
/// `time` points to a writable `Timespec`.
type ClockGettime = unsafe extern "C" fn(c_int, *mut Timespec) -> c_int;

/// Makes this crate read the clock by this function, libc's `clock_gettime`.
pub fn read_true_clock_by(function: *mut c_void) {
    TRUE_CLOCK.store(function, Relaxed);
}

/// A moment of true time, like `std::time::Instant`, also where a library replaces the test's clock.
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

    /// Returns the time since this moment.
    #[inline]
    pub fn elapsed(self) -> Duration {
        Duration::from_nanos(Self::now().ns - self.ns)
    }
}

/// Returns the processor time of all threads of this process, in ns.
pub fn threads_cpu_ns() -> u64 {
    clock_ns(CLOCK_PROCESS_CPUTIME_ID)
}

/// Returns the processor time of this thread, in ns.
pub fn thread_cpu_ns() -> u64 {
    clock_ns(CLOCK_THREAD_CPUTIME_ID)
}

/// Returns the time of a clock of another process, in ns; `None` if the process is gone.
pub fn clock_of_another_ns(clock: i32) -> Option<u64> {
    // The clock of a process that runs is never at 0, which stays where the call fails.
    Some(clock_ns(clock)).filter(|ns| *ns > 0)
}

#[inline]
fn clock_ns(clock: c_int) -> u64 {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    let true_clock = TRUE_CLOCK.load(Relaxed);
    // SAFETY: the kernel writes the time into the structure; a non-null address is a function of this type.
    unsafe {
        if true_clock.is_null() {
            clock_gettime(clock, &mut time);
        } else {
            std::mem::transmute::<*mut c_void, ClockGettime>(true_clock)(clock, &mut time);
        }
    }
    (time.seconds * 1_000_000_000 + time.nanoseconds) as u64
}

/// A file of the kernel. It is opened for each reading, so that the test's descriptors stay the same, but stays open
/// where the cage forbids opening files.
pub struct KernelFile {
    path: &'static CStr,
    kept: AtomicI32,
}

/// Delay of this thread by others.
static DELAY: KernelFile = KernelFile { path: c"/proc/thread-self/schedstat", kept: AtomicI32::new(-1) };
/// Memory of this process.
pub static STATUS: KernelFile = KernelFile { path: c"/proc/self/status", kept: AtomicI32::new(-1) };
/// Bytes that this process reads and writes.
pub static IO: KernelFile = KernelFile { path: c"/proc/self/io", kept: AtomicI32::new(-1) };
/// Page map of this process.
static PAGE_MAP: KernelFile = KernelFile { path: c"/proc/self/pagemap", kept: AtomicI32::new(-1) };

/// Opens the files that are read during a measurement, for this thread and for good.
pub fn keep_files_open() {
    for file in [&DELAY, &STATUS, &IO, &PAGE_MAP] {
        file.kept.store(file.open_anew(), Relaxed);
    }
}

/// An open [`KernelFile`], closed when dropped unless it is kept.
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

    /// Reads the beginning of the file by a single system call, without allocating.
    pub fn read<'a>(&self, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
        let file = self.open()?;
        // SAFETY: the buffer has this length.
        let length = unsafe { pread(file.descriptor, buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        buffer.get(..usize::try_from(length).ok()?)
    }
}

/// Returns the time for which this thread was ready but others had the core, in ns; `None` where the kernel does not
/// report it.
pub fn run_delay_ns() -> Option<u64> {
    delay_in(DELAY.read(&mut [0; 80])?)
}

/// Parses the second number of `/proc/<id>/schedstat`.
pub fn delay_in(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Ends the process at once, so that no exit handler of the test can block it.
pub fn exit_now(status: i32) -> ! {
    // SAFETY: ends the process.
    unsafe { _exit(status) }
}

/// Result of [`fork_process`].
pub enum Forked {
    /// This is the new process.
    Child,
    /// This is the old process, with the ID of the new one.
    Parent(i32),
    /// The system refused; there is no new process.
    Refused,
}

/// Forks this process with libc's function, which runs the registered fork handlers.
pub fn fork_process() -> Forked {
    // SAFETY: the caller ensures that no other thread holds a resource that the child needs.
    match unsafe { fork() } {
        0 => Forked::Child,
        id if id > 0 => Forked::Parent(id),
        _ => Forked::Refused,
    }
}

/// Waits for a child and returns its `waitpid` status; 0 where the program has its children reaped automatically.
pub fn wait_for(id: i32) -> u32 {
    let mut status = 0;
    // SAFETY: `status` outlives the call.
    while unsafe { waitpid(id, &mut status, 0) } < 0 {
        if std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            return 0;
        }
    }
    status as u32
}

/// Waits for the end of a child and returns its `waitpid` status without reaping it; 0 where the program has its
/// children reaped automatically.
///
/// The kernel wakes us before the child's last thread is gone. Reaping the child at that time would wait for the thread
/// in a busy loop in the kernel, on the core where the thread is to run.
pub fn see_end_of(id: i32) -> u32 {
    let mut end = SignalInfo::default();
    // SAFETY: `end` outlives the call.
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

/// Returns whether this process has children, running or ended.
pub fn has_children() -> bool {
    // SAFETY: the structure outlives the call.
    unsafe { waitid(P_ALL, 0, &mut SignalInfo::default(), WEXITED | WNOHANG | WNOWAIT | WALL) == 0 }
}

/// Makes the kernel end this process when the thread that forked it ends.
pub fn die_with_parent() {
    // SAFETY: the call takes no pointers.
    unsafe { prctl(PR_SET_PDEATHSIG, SIGKILL) };
}

/// Returns whether this is the main thread.
pub fn is_main_thread() -> bool {
    // SAFETY: the calls take no arguments.
    unsafe { syscall(SYS_GETTID) == c_long::from(getpid()) }
}

/// Access for which a mapping is populated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// Reading: the pages are mapped in.
    Read,
    /// Writing: this process gets its own copy of each page.
    Write,
}

/// Takes the page faults of a mapping in advance. An old kernel refuses, and the faults happen on demand.
pub fn populate(start: usize, length: usize, advice: Advice) {
    let advice = match advice {
        Advice::Read => MADV_POPULATE_READ,
        Advice::Write => MADV_POPULATE_WRITE,
    };
    // SAFETY: neither advice changes the memory's content; if a range cannot be populated, the error is harmless.
    unsafe { madvise(start as *mut c_void, length, advice) };
}
