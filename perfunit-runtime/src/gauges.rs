//! Metrics of a process other than time: figures of the kernel, the processor, the allocator and callgrind.
//!
//! Reading uses direct system calls and does not allocate, so that it does not show in the figures.

use crate::page::MARK;
use crate::preload_interface::Counters;
use crate::sys::{self, IO, STATUS};
use std::arch::asm;
use std::ffi::{c_int, c_long, c_ulong, c_void};
use std::io::Error;

extern "C" {
    fn read(fd: c_int, buffer: *mut c_void, length: usize) -> isize;
    fn ioctl(fd: c_int, request: c_ulong, ...) -> c_int;
    fn getrusage(who: c_int, usage: *mut [c_long; USAGE]) -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
    fn prctl(option: c_int, ...) -> c_int;
}

const RUSAGE_SELF: c_int = 0;
/// Children that have ended and been waited for.
const RUSAGE_CHILDREN: c_int = -1;
/// Length of `struct rusage` in words, on the supported 64-bit platforms.
const USAGE: usize = 18;
/// Index of the time in user mode and of that in the kernel; each is followed by its microseconds.
const PROCESSOR_TIMES: [usize; 2] = [0, 2];
const LARGEST_RSS: usize = 4;
const MINOR_FAULTS: usize = 8;
const MAJOR_FAULTS: usize = 9;
const VOLUNTARY_SWITCHES: usize = 16;

/// Returns the counters at an address from our environment, where the preloaded meter put it.
pub fn counters_at(address: usize) -> &'static Counters {
    // SAFETY: a static of the preloaded library, which is never unloaded and consists of atomics.
    unsafe { &*(address as *const Counters) }
}

fn resource_usage(of: c_int) -> [c_long; USAGE] {
    let mut usage = [0; USAGE];
    // SAFETY: the kernel writes into an array of the expected length.
    unsafe { getrusage(of, &mut usage) };
    usage
}

/// Returns page faults and voluntary context switches so far, of all threads and of children that were waited for.
pub fn usage() -> (u64, u64) {
    let (own, children) = (resource_usage(RUSAGE_SELF), resource_usage(RUSAGE_CHILDREN));
    let sum = |index: usize| (own[index] + children[index]) as u64;
    (sum(MINOR_FAULTS) + sum(MAJOR_FAULTS), sum(VOLUNTARY_SWITCHES))
}

/// Returns the processor time of all threads of this process and of children that it waited for, in ns.
pub fn process_cpu_ns() -> u64 {
    sys::threads_cpu_ns() + children_cpu_ns()
}

/// Returns the processor time of the other threads of this process, in ns.
pub fn other_threads_cpu_ns() -> u64 {
    sys::threads_cpu_ns().saturating_sub(sys::thread_cpu_ns())
}

/// Returns the processor time of children that this process waited for, in ns.
fn children_cpu_ns() -> u64 {
    let usage = resource_usage(RUSAGE_CHILDREN);
    PROCESSOR_TIMES.iter().map(|at| usage[*at] as u64 * 1_000_000_000 + usage[at + 1] as u64 * 1000).sum()
}

/// Returns whether this process has waited for a child. Even the shortest child causes a page fault.
pub fn has_waited_for_processes() -> bool {
    let usage = resource_usage(RUSAGE_CHILDREN);
    usage[MINOR_FAULTS] + usage[MAJOR_FAULTS] > 0
}

/// Bytes read and written so far by all threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Io {
    /// Bytes read before this reading.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
    /// Bytes read by this reading.
    pub own: u64,
}

/// Returns the kernel's count of bytes, or `None` where it does not count them.
pub fn io() -> Option<Io> {
    let mut text = [0; 256];
    io_in(IO.read(&mut text)?)
}

fn io_in(text: &[u8]) -> Option<Io> {
    Some(Io { read: field(text, "rchar:")?, written: field(text, "wchar:")?, own: text.len() as u64 })
}

/// Returns the peak resident memory of this process or of a child that it waited for, in bytes. (`ru_maxrss` of the
/// process itself would include the program before `exec`.)
pub fn peak_rss() -> Option<u64> {
    let own = field(STATUS.read(&mut [0; 4096])?, "VmHWM:")?;
    let of_children = resource_usage(RUSAGE_CHILDREN)[LARGEST_RSS] as u64;
    Some(own.max(of_children) * 1024)
}

/// Returns the number that follows a name at the beginning of a line.
fn field(text: &[u8], name: &str) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    value.split_ascii_whitespace().next()?.parse().ok()
}

/// Counter of user-mode instructions of this thread and of threads that it starts.
pub struct Instructions {
    descriptor: c_int,
}

#[cfg(target_arch = "x86_64")]
const SYS_PERF_EVENT_OPEN: c_long = 298;
#[cfg(not(target_arch = "x86_64"))]
const SYS_PERF_EVENT_OPEN: c_long = 241;
const FD_CLOEXEC: c_ulong = 8;
/// Length of the first published version of `struct perf_event_attr`, in words (64 bytes).
const WORDS: usize = 8;
/// Type `PERF_TYPE_HARDWARE` (0) in the low half, and the structure's size in the high half.
const HARDWARE: u64 = (WORDS as u64 * 8) << 32;
/// Event `PERF_COUNT_HW_INSTRUCTIONS`.
const EVENT: u64 = 1;
/// Flags `disabled`, `inherit`, `exclude_kernel` and `exclude_hv`.
const FLAGS: u64 = 1 | 1 << 1 | 1 << 5 | 1 << 6;
const ENABLE: c_ulong = 0x2400;
const DISABLE: c_ulong = 0x2401;

impl Instructions {
    /// Opens a counter for this thread. Fails with the system's error number.
    pub fn open() -> Result<Self, u32> {
        let mut attributes = [0_u64; WORDS];
        attributes[..2].copy_from_slice(&[HARDWARE, EVENT]);
        attributes[5] = FLAGS;
        // SAFETY: the structure has the given size and is only read; 0 is this thread, -1 any core, -1 no group.
        let opened = unsafe {
            syscall(SYS_PERF_EVENT_OPEN, attributes.as_ptr(), 0 as c_int, -1 as c_int, -1 as c_int, FD_CLOEXEC)
        };
        match c_int::try_from(opened) {
            Ok(descriptor) if descriptor >= 0 => Ok(Self { descriptor }),
            _ => Err(Error::last_os_error().raw_os_error().map_or(1, |number| number as u32)),
        }
    }

    /// Continues counting and returns the count so far. (A reset would not clear the counts of threads that have
    /// ended.)
    pub fn start(&self) -> u64 {
        let before = self.count();
        self.resume();
        before
    }

    pub fn pause(&self) {
        self.ask(DISABLE);
    }

    pub fn resume(&self) {
        self.ask(ENABLE);
    }

    /// Stops counting and returns the instructions since `before`.
    pub fn stop(&self, before: u64) -> u64 {
        self.pause();
        self.count() - before
    }

    fn count(&self) -> u64 {
        let mut count = 0_u64;
        // SAFETY: our descriptor, from which a read returns one number of eight bytes.
        unsafe { read(self.descriptor, std::ptr::from_mut(&mut count).cast(), 8) };
        count
    }

    fn ask(&self, request: c_ulong) {
        // SAFETY: our descriptor; no request takes a pointer.
        unsafe { ioctl(self.descriptor, request, 0 as c_int) };
    }
}

/// Tells the tool, which traces this process, to which reading calls count from now on (`None`: to no reading).
/// `begins` is true if nothing has counted for this reading yet.
pub fn mark(reading: Option<usize>, begins: bool) {
    let section = reading.map_or(0, |at| at as c_ulong + 1);
    // SAFETY: the kernel refuses an unknown option without reading its arguments.
    unsafe { prctl(MARK, section, c_ulong::from(begins), 0 as c_ulong, 0 as c_ulong) };
}

/// Requests to callgrind: 'C' and 'T' in the high bytes, then the request's number.
const DUMP_STATS: usize = 0x4354_0000;
const ZERO_STATS: usize = 0x4354_0001;
const TOGGLE_COLLECT: usize = 0x4354_0002;

/// Resets callgrind's counts.
pub fn callgrind_forget() {
    callgrind(ZERO_STATS);
}

/// Makes callgrind write the counts since the last reset into its next file.
pub fn callgrind_write() {
    callgrind(DUMP_STATS);
}

/// Makes callgrind stop or continue counting.
pub fn callgrind_toggle() {
    callgrind(TOGGLE_COLLECT);
}

/// Sends a request to valgrind: a sequence of instructions without effect that no compiler emits. Valgrind recognizes
/// it; without valgrind it does nothing.
#[inline]
fn callgrind(request: usize) {
    let arguments = [request, 0, 0, 0, 0, 0];
    let mut result = 0_usize;
    // SAFETY: the rotations cancel out; valgrind reads the arguments and writes the result.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!("rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
            inout("rdx") result, in("rax") arguments.as_ptr(), options(nostack));
    }
    // SAFETY: see above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!("ror x12, x12, #3", "ror x12, x12, #13", "ror x12, x12, #51", "ror x12, x12, #61", "orr x10, x10, x10",
            inout("x3") result, in("x4") arguments.as_ptr(), options(nostack));
    }
    std::hint::black_box(&mut result);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_figures_are_read_by_their_names() {
        let text = b"rchar: 6976\nwchar: 17\nsyscr: 10\n";
        assert_eq!(io_in(text), Some(Io { read: 6976, written: 17, own: text.len() as u64 }));
        assert_eq!(io_in(b"rchar: 6976\n"), None);
        assert_eq!(field(b"Name:\tx\nVmHWM:\t    2048 kB\n", "VmHWM:"), Some(2048));
    }

    #[test]
    fn this_process_has_memory_and_page_faults() {
        assert!(peak_rss().is_some_and(|bytes| bytes > 100_000));
        let before = usage().0;
        let pages = std::hint::black_box(vec![1_u8; 4 << 20]);
        let count = pages.len() / crate::sys::page_size();
        assert!(usage().0 >= before + count as u64 / 2, "{count} pages");
    }

    #[test]
    fn asking_for_bytes_reads_as_many_as_it_says() {
        let (Some(one), Some(two)) = (io(), io()) else { return };
        // Other tests of this process may read in between, which only raises the count.
        assert!(two.read >= one.read + one.own);
    }

    #[test]
    fn a_process_that_was_started_is_seen_until_and_after_it_is_waited_for() {
        let before = (usage().0, children_cpu_ns());
        let spins = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
        let mut child = std::process::Command::new("sh").args(["-c", spins]).spawn().unwrap();
        assert!(crate::sys::has_children());
        assert!(child.wait().unwrap().success());
        assert!(has_waited_for_processes());
        assert!(usage().0 > before.0 && children_cpu_ns() > before.1);
    }

    #[test]
    fn requests_to_callgrind_do_nothing_without_it() {
        callgrind_forget();
        callgrind_write();
    }
}
