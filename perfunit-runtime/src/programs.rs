//! The file in which the processes of a test note which programs of the workspace they start. Core only: the dispatcher, which
//! notes when a program starts, and `perfunit-seeds`, which notes how it ended, have this very file by a symbolic link.

use core::ffi::CStr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicU8};

/// Environment variable: the path of the file.
pub const PROGRAMS: &CStr = c"PERFUNIT_PROGRAMS";
/// Starts that fit the file.
pub const MOST_STARTS: usize = 4096;
/// Bytes of a program's name that fit an entry.
pub const NAME_LEN: usize = 64;

/// How far a started program has come; [`Start::state`].
pub mod progress {
    /// The entry is not in use.
    pub const NONE: u32 = 0;
    /// The program has started.
    pub const STARTED: u32 = 1;
    /// The program has ended, and a process waited for it.
    pub const ENDED: u32 = 2;
}

/// The start of a program.
#[repr(C)]
pub struct Start {
    /// One of [`progress`].
    pub state: AtomicU32,
    /// The process.
    pub process: AtomicU32,
    /// Time of the start, ns by the monotonic clock.
    pub started_ns: AtomicU64,
    /// CPU time that the process had used before, ns.
    pub cpu_before_ns: AtomicU64,
    /// Time at which the process had been waited for, ns by the monotonic clock.
    pub ended_ns: AtomicU64,
    /// CPU time that the process had used at its end, with the processes that it waited for, ns.
    pub cpu_ns: AtomicU64,
    /// How often the process gave up its core to wait for something.
    pub waits: AtomicU64,
    /// Bytes of `name` in use.
    pub name_len: AtomicU32,
    /// Unused; keeps the layout free of padding.
    pub reserved: u32,
    /// Name of the program, cut.
    pub name: [AtomicU8; NAME_LEN],
}

/// The content of the file.
#[repr(C)]
pub struct Starts {
    /// Starts so far; those beyond [`MOST_STARTS`] have no entry.
    pub count: AtomicU32,
    /// Unused; keeps the layout free of padding.
    pub reserved: u32,
    /// In the order of the starts.
    pub entries: [Start; MOST_STARTS],
}

/// Bytes of the file, a whole number of pages.
pub const FILE_LEN: usize = core::mem::size_of::<Starts>().div_ceil(4096) * 4096;

/// The end of a process, as the kernel tells it to the process that waits for it.
#[derive(Debug, Clone, Copy)]
pub struct End {
    /// Time at which the process had been waited for, ns by the monotonic clock.
    pub ns: u64,
    /// CPU time that the process had used, with the processes that it waited for, ns.
    pub cpu_ns: u64,
    /// How often the process gave up its core to wait for something.
    pub waits: u64,
}

impl Starts {
    /// Notes that this process becomes a program.
    pub fn note_start(&self, process: u32, name: &[u8], ns: u64, cpu_ns: u64) {
        let Some(entry) = self.entries.get(self.count.fetch_add(1, Relaxed) as usize) else { return };
        entry.process.store(process, Relaxed);
        entry.started_ns.store(ns, Relaxed);
        entry.cpu_before_ns.store(cpu_ns, Relaxed);
        entry.name.iter().zip(name).for_each(|(slot, byte)| slot.store(*byte, Relaxed));
        entry.name_len.store(name.len().min(NAME_LEN) as u32, Relaxed);
        entry.state.store(progress::STARTED, Release);
    }

    /// Notes the end of a process, if it is one of the programs.
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

    /// Makes the entries free again.
    pub fn clear(&self) {
        let in_use = (self.count.load(Relaxed) as usize).min(MOST_STARTS);
        self.entries[..in_use].iter().for_each(|entry| entry.state.store(progress::NONE, Relaxed));
        self.count.store(0, Relaxed);
    }
}
