//! The file in which processes of a test note the workspace programs that they start.
//!
//! It uses only `core`. The dispatcher, which notes starts, and `perfunit-seeds`, which notes how programs end, share
//! this file through symbolic links.

use core::ffi::CStr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicU8};

/// Environment variable with the path of the file.
pub const PROGRAMS: &CStr = c"PERFUNIT_PROGRAMS";
/// Number of starts that fit into the file.
pub const MOST_STARTS: usize = 4096;
/// Longest program name that an entry holds, in bytes.
pub const NAME_LEN: usize = 64;

/// Values of [`Start::state`].
pub mod progress {
    /// The entry is not in use.
    pub const NONE: u32 = 0;
    /// The program has started.
    pub const STARTED: u32 = 1;
    /// The program has ended, and a process waited for it.
    pub const ENDED: u32 = 2;
}

/// One start of a program.
#[repr(C)]
pub struct Start {
    /// A value of [`progress`].
    pub state: AtomicU32,
    /// Process ID.
    pub process: AtomicU32,
    /// Time of the start, ns by the monotonic clock.
    pub started_ns: AtomicU64,
    /// CPU time of the process before the start, ns.
    pub cpu_before_ns: AtomicU64,
    /// Time at which the parent's wait returned, ns by the monotonic clock.
    pub ended_ns: AtomicU64,
    /// CPU time of the process at its end, including children that it waited for, ns.
    pub cpu_ns: AtomicU64,
    /// Number of times that the process gave up its core to wait for something (voluntary context switches).
    pub waits: AtomicU64,
    /// Number of bytes of `name` in use.
    pub name_len: AtomicU32,
    /// Unused; keeps the layout free of padding.
    pub reserved: u32,
    /// Name of the program, cut to [`NAME_LEN`] bytes.
    pub name: [AtomicU8; NAME_LEN],
}

/// Content of the file.
#[repr(C)]
pub struct Starts {
    /// Number of starts; those after [`MOST_STARTS`] have no entry.
    pub count: AtomicU32,
    /// Unused; keeps the layout free of padding.
    pub reserved: u32,
    /// Entries in the order of the starts.
    pub entries: [Start; MOST_STARTS],
}

/// Length of the file in bytes, a multiple of the page size.
pub const FILE_LEN: usize = core::mem::size_of::<Starts>().div_ceil(4096) * 4096;

/// End of a process, as reported to its parent by the kernel.
#[derive(Debug, Clone, Copy)]
pub struct End {
    /// Time at which the parent's wait returned, ns by the monotonic clock.
    pub ns: u64,
    /// CPU time of the process, including children that it waited for, ns.
    pub cpu_ns: u64,
    /// Number of times that the process gave up its core to wait for something (voluntary context switches).
    pub waits: u64,
}

impl Starts {
    /// Records that this process becomes a program.
    pub fn note_start(&self, process: u32, name: &[u8], ns: u64, cpu_ns: u64) {
        let Some(entry) = self.entries.get(self.count.fetch_add(1, Relaxed) as usize) else { return };
        entry.process.store(process, Relaxed);
        entry.started_ns.store(ns, Relaxed);
        entry.cpu_before_ns.store(cpu_ns, Relaxed);
        entry.name.iter().zip(name).for_each(|(slot, byte)| slot.store(*byte, Relaxed));
        entry.name_len.store(name.len().min(NAME_LEN) as u32, Relaxed);
        entry.state.store(progress::STARTED, Release);
    }

    /// Records the end of a process, if it is one of the noted programs.
    pub fn note_end(&self, process: u32, end: End) {
        let in_use = (self.count.load(Relaxed) as usize).min(MOST_STARTS);
        let is_running =
            |entry: &&Start| entry.state.load(Acquire) == progress::STARTED && entry.process.load(Relaxed) == process;
        if let Some(entry) = self.entries[..in_use].iter().rev().find(is_running) {
            entry.ended_ns.store(end.ns, Relaxed);
            entry.cpu_ns.store(end.cpu_ns, Relaxed);
            entry.waits.store(end.waits, Relaxed);
            entry.state.store(progress::ENDED, Release);
        }
    }

    /// Frees all entries.
    pub fn clear(&self) {
        let in_use = (self.count.load(Relaxed) as usize).min(MOST_STARTS);
        self.entries[..in_use].iter().for_each(|entry| entry.state.store(progress::NONE, Relaxed));
        self.count.store(0, Relaxed);
    }
}
