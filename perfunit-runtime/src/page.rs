//! The page that the tool and the two processes of a pair share. It is the whole protocol.
//!
//! The tool writes the request, starts both processes and sleeps. The processes take turns in the order of
//! [`Page::schedule`]. They hand over to each other by a futex on [`Page::turn`], even when the tool is not running. With
//! [`AT_ONCE`] both begin each step together, and the core switches between them.
//!
//! Every field is an atomic, because three processes access it. Only `turn` orders them (release on hand-over, acquire
//! on waking); all other accesses are `Relaxed`.

use crate::preload_interface;
use std::ffi::CStr;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, AtomicU8};

/// Environment variable with the path of the file to which the list of tests is written.
pub const LIST_VARIABLE: &str = "PERFUNIT_LIST";
/// Environment variable of all processes that the tool starts from a test executable; its value is `1`.
pub const INSIDE_VARIABLE: &str = "PERFUNIT";
/// Marker in test executables that use the harness feature. When started by the tool, they have no tests.
pub const HARNESS_MARKER: &str = "perfunit-harness=1;";
/// Marker in executables with benchmarks that are served by our stand-in for their harness.
pub const BENCH_MARKER: &str = "perfunit-bench=1;";
/// Environment variable: `<side digit>:<file descriptor of the page>`.
pub const SERVE_VARIABLE: &str = "PERFUNIT_SERVE";
/// Environment variable with the name of the test to serve, as libtest prints it.
pub const TEST_VARIABLE: &str = "PERFUNIT_TEST";
/// Environment variable that requests the trial of a generated workload: `<size of its inputs>:<number of its
/// function>`.
pub const TRIAL_VARIABLE: &str = "PERFUNIT_TRIAL";
/// Environment variable with the number of calls of a body where libtest runs the test; absent for one call.
pub const CALLS_VARIABLE: &str = "PERFUNIT_CALLS";
/// Prefix of the line with a trial's report.
pub const TRIAL_REPORT: &str = "perfunit-trial: ";
/// Environment variable with the seed of the library in `seeds`, 16 hexadecimal digits. This library is then the first
/// in [`PRELOAD_VARIABLE`].
pub const SEED_VARIABLE: &str = text(preload_interface::SEED);
/// Environment variable of 16 hexadecimal digits, which the library in `seeds` overwrites with the address of its
/// streams.
pub const STREAM_VARIABLE: &str = text(preload_interface::STREAM);
/// Environment variable with the set of cores that the library in `seeds` reports to tests.
pub const CORES_VARIABLE: &str = text(preload_interface::CORES);
/// Environment variable of 16 hexadecimal digits, which the library in `meter` overwrites with the address of its
/// counters. This library is then in [`PRELOAD_VARIABLE`], before the one in `seeds`.
pub const METER_VARIABLE: &str = text(preload_interface::METER);
/// Environment variable with the time in ns by which each reading advances the clock, 16 hexadecimal digits (0: the
/// true clock). The library with the clock then replaces the one in `seeds`, and overwrites the digits with the address
/// of its state.
pub const CLOCK_VARIABLE: &str = text(preload_interface::CLOCK);
/// Environment variable of the dynamic linker: libraries to load before all others.
pub const PRELOAD_VARIABLE: &str = "LD_PRELOAD";

const fn text(name: &CStr) -> &str {
    match name.to_str() {
        Ok(text) => text,
        Err(_) => panic!("names are ASCII"),
    }
}

/// First word of the page, by which a runtime refuses a tool of another version. Change it with the layout.
pub const MAGIC: u64 = 0x7065_7266_756e_000d;
/// Largest number of batches per side.
pub const MAX_BATCHES: usize = 64;
/// Number of batches below which the tool takes their median instead of a low quantile, so that each batch counts.
pub const FEW_BATCHES: u32 = 20;
/// Two preparation turns and all batches.
pub const MAX_TURNS: usize = 2 + 2 * MAX_BATCHES;
/// Longest test name, in bytes.
pub const NAME_LEN: usize = 512;
/// Longest stored panic message, in bytes.
pub const MESSAGE_LEN: usize = 240;

/// Flag in [`Page::flags`]: calibrate on base before measuring.
pub const PILOT: u32 = 1;
/// Flag in [`Page::flags`]: measure only the first call.
pub const COLD: u32 = 2;

/// Flag in [`Page::flags`]: take [`reading`]s of single calls, without batches and times: of the first call and, unless
/// [`COLD`] is set, of [`Page::repetitions`] later ones.
pub const METER: u32 = 4;
/// Flag in [`Page::flags`], with [`METER`]: count instructions with the processor's counter.
pub const INSTRUCTIONS: u32 = 8;
/// Flag in [`Page::flags`], with [`METER`]: the process runs under callgrind; write its counts after each reading.
pub const CALLGRIND: u32 = 16;

/// Flag in [`Page::flags`], with [`METER`]: mark the beginning and end of each reading for the tool, which traces the
/// process.
pub const SYSTEM_CALLS: u32 = 256;
/// Option of `prctl` for these marks, unknown to the kernel. The second argument is the index of the reading plus 1, or
/// 0 where calls do not count; the third is 1 at the beginning of a reading.
pub const MARK: i32 = 0x7065_7266;

/// Flag in [`Page::flags`]: each repetition is a first call, in a child forked just before the test's body.
pub const FORK: u32 = 32;
/// Flag in [`Page::flags`], with [`FORK`]: the body is the whole test function, because the macro did not capture it.
pub const WHOLE: u32 = 64;

/// Flag in [`Page::flags`], with [`COLD`]: functions record their work by length of input in the file of
/// [`SideArea::tree`], which has the layout of [`growth`](crate::growth).
pub const GROWTH: u32 = 128;

/// Flag in [`Page::flags`]: both sides do each step at the same time, on the same core. The clock excludes the time for which the
/// other side has the core. A step is the preparation or a batch; [`Page::turn`] counts the arrivals of both sides at the
/// steps.
pub const AT_ONCE: u32 = 512;

/// Value of [`Page::core`]: the scheduler chooses the core.
pub const ANY_CORE: u32 = u32::MAX;

/// Value of [`Page::idle_clock`]: no process uses the core's idle time.
pub const NO_CLOCK: i32 = 0;

/// Value of [`SideArea::idle_times`]: the core's idle time is not known.
pub const UNKNOWN_NS: u64 = u64::MAX;

/// Value of [`Page::copy`]: the child of a fork server copies its pages itself.
pub const NO_COPY: u32 = u32::MAX;

/// Largest number of readings of a process.
pub const MAX_READINGS: usize = 8;
/// Index of the reading of an empty call: the overhead that is part of all other readings.
pub const NOTHING: usize = 0;
/// Index of the reading of the first call; the next indices are those of later calls.
pub const FIRST: usize = 1;

/// Indices of the figures of a reading.
pub mod reading {
    /// Allocations, of all threads.
    pub const ALLOCATIONS: usize = 0;
    /// Bytes requested from the allocator.
    pub const ALLOCATED_BYTES: usize = 1;
    /// Peak of live bytes above those that were live before the call.
    pub const PEAK_HEAP: usize = 2;
    /// Page faults of all threads.
    pub const PAGE_FAULTS: usize = 3;
    /// Times that a thread gave up its core to wait for something (voluntary context switches).
    pub const CONTEXT_SWITCHES: usize = 4;
    /// Bytes read by `read` and similar calls, from any source.
    pub const READ_BYTES: usize = 5;
    /// Bytes written by `write` and similar calls, to any destination.
    pub const WRITTEN_BYTES: usize = 6;
    /// User-mode instructions of this thread and of the threads and processes that it started.
    pub const INSTRUCTIONS: usize = 7;
    /// System calls of all threads and of the processes that they started; the tool counts them.
    pub const SYSTEM_CALLS: usize = 8;
    /// Number of figures in a reading.
    pub const COUNT: usize = 9;
}

/// Values of [`SideArea::heap`]: whether the allocator's figures are valid.
pub mod heap {
    /// The library in `meter` is not loaded.
    pub const NOT_LOADED: u32 = 0;
    /// The figures are valid.
    pub const COUNTED: u32 = 1;
    /// Rust uses an allocator that the library does not see.
    pub const OWN_ALLOCATOR: u32 = 2;
}

/// Values of [`SideArea::child_status`]: how a forked child ended. Any other value is the `waitpid` status of a child
/// that ended early.
pub mod child {
    /// The child has not ended, or was never started.
    pub const RUNNING: u32 = 0;
    /// The child's call passed.
    pub const PASSED: u32 = u32::MAX;
    /// The child's call failed.
    pub const FAILED: u32 = u32::MAX - 1;
}

/// Values of [`SideArea::unit`]: the unit of a benchmark's throughput.
pub mod unit {
    /// The benchmark declares no throughput.
    pub const NONE: u32 = 0;
    /// Bytes.
    pub const BYTES: u32 = 1;
    /// Elements or items.
    pub const ELEMENTS: u32 = 2;
    /// Characters.
    pub const CHARS: u32 = 3;
    /// Bits.
    pub const BITS: u32 = 4;
    /// Cycles.
    pub const CYCLES: u32 = 5;
}

/// Values of [`SideArea::state`]: the progress of a process. The tool reads it after the process has ended.
pub mod state {
    /// The test has not started.
    pub const STARTING: u32 = 0;
    /// The first call is running.
    pub const FIRST_CALL: u32 = 1;
    /// The first call passed, and calls are repeated.
    pub const REPEATING: u32 = 2;
    /// All batches are done.
    pub const DONE: u32 = 3;
    /// The first call failed: it panicked, or did not panic although it should.
    pub const FAILED_FIRST: u32 = 4;
    /// The first call passed, but a later one failed.
    pub const FAILED_LATER: u32 = 5;
    /// The page has another version than this runtime.
    pub const WRONG_VERSION: u32 = 6;
    /// The process has threads that a forked child would lack; no call was made.
    pub const THREADS: u32 = 7;
    /// The system does not let the process fork; no call was made.
    pub const NO_FORK: u32 = 8;
}

/// Times of a call or a batch, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunTime {
    /// Wall time, without times in which other programs kept the calling thread from running.
    pub ns: u64,
    /// Processor time of all threads and of children that were waited for.
    pub cpu_ns: u64,
    /// Time that the core was idle, or [`UNKNOWN_NS`].
    pub idle_ns: u64,
}

/// Results that one process writes.
#[repr(C)]
pub struct SideArea {
    /// Descriptor of the file for the calling-context tree, with the layout of [`tree`](crate::tree); 0 if no probe is
    /// to be active. With [`GROWTH`] it is the table's file; otherwise not used with [`COLD`] and [`METER`]. Written by
    /// the tool.
    pub tree: AtomicI32,
    /// A value of [`state`].
    pub state: AtomicU32,
    /// 1 if the runner calls the whole test function, 0 if the macro calls the body.
    pub whole_function: AtomicU32,
    /// Time of the first call, ns.
    pub first_ns: AtomicU64,
    /// Shortest time of one repetition during the preparation, ns as the bits of an f64.
    pub prepared_ns: AtomicU64,
    /// Number of bytes of `message` in use.
    pub message_len: AtomicU32,
    /// 1 if all pages of the program were moved.
    pub settled: AtomicU32,
    /// A value of [`heap`].
    pub heap: AtomicU32,
    /// Processor time of the first call, all threads, ns.
    pub first_cpu_ns: AtomicU64,
    /// Time that the core was idle during the first call, ns, or [`UNKNOWN_NS`].
    pub first_idle_ns: AtomicU64,
    /// Number of runs of the body, including those before the first batch.
    pub runs: AtomicU64,
    /// Number of clock readings by the first call; 0 where they are not counted.
    pub clock_readings: AtomicU64,
    /// True time during the first call, including time that other programs had the core, ns.
    pub passed_ns: AtomicU64,
    /// Peak memory of a process with [`METER`], bytes; 0 where the kernel does not report it.
    pub peak_rss: AtomicU64,
    /// Number of readings, including the one of an empty call.
    pub readings: AtomicU32,
    /// 0 if the processor counts instructions, otherwise the system's error number.
    pub no_instructions: AtomicU32,
    /// 1 if the kernel counts bytes read and written.
    pub io_is_counted: AtomicU32,
    /// 1 if the process has started other processes. Set in pilots and by a process that counts.
    pub starts_processes: AtomicU32,
    /// Processor time of other threads of the process during the first call, ns. Set in pilots.
    pub threads_ns: AtomicU64,
    /// 1 if a fork server cannot fork: it has threads that its children would lack, or the system refuses.
    pub cannot_fork: AtomicU32,
    /// Last request of [`Page::asked`] that a fork server has answered: the child has ended.
    pub answered: AtomicU32,
    /// `waitpid` status of this child.
    pub status: AtomicU32,
    /// A value of [`child`] for the last forked child.
    pub child_status: AtomicU32,
    /// A value of [`unit`].
    pub unit: AtomicU32,
    /// Number of units that one run processes.
    pub amount: AtomicU64,
    /// Panic message in UTF-8, cut to [`MESSAGE_LEN`] bytes.
    pub message: [AtomicU8; MESSAGE_LEN],
    /// Time of each batch, ns.
    pub times: [AtomicU64; MAX_BATCHES],
    /// Processor time of each batch, all threads, ns. With [`FEW_BATCHES`] or more batches, it includes the untimed
    /// repetitions.
    pub cpu_times: [AtomicU64; MAX_BATCHES],
    /// Time that the core was idle during each batch, ns, or [`UNKNOWN_NS`].
    pub idle_times: [AtomicU64; MAX_BATCHES],
    /// Figures of each reading, with [`METER`].
    pub figures: [[AtomicU64; reading::COUNT]; MAX_READINGS],
}

/// The shared page.
#[repr(C)]
pub struct Page {
    /// [`MAGIC`].
    pub magic: AtomicU64,
    /// Flags such as [`PILOT`], [`COLD`] and [`METER`].
    pub flags: AtomicU32,
    /// Index of the current turn, or with [`AT_ONCE`] the number of arrivals; a futex.
    pub turn: AtomicU32,
    /// Number of turns in `schedule`; set by base during turn 0 of a pilot.
    pub turns: AtomicU32,
    /// Batches per side.
    pub batches: AtomicU32,
    /// Repetitions of the body in a batch, equal on both sides; with [`METER`], the number of later calls to read.
    pub repetitions: AtomicU64,
    /// Target time of a batch, ns.
    pub batch_ns: AtomicU64,
    /// Untimed repetitions before each batch (0 or 1); with [`METER`], calls between the first call and the readings of
    /// later calls.
    pub warm: AtomicU32,
    /// Random shift of the stack, in frames of at least 16 bytes; equal on both sides.
    pub stack_pad: AtomicU32,
    /// Random shift of the heap, in bytes; equal on both sides.
    pub heap_pad: AtomicU32,
    /// Descriptor of the file that begins with [`CommonPages`]; 0 if the program stays where it was loaded.
    pub common: AtomicI32,
    /// Core to run on, or [`ANY_CORE`].
    pub core: AtomicU32,
    /// Clock of the processor time of the process that uses this core's idle time, or [`NO_CLOCK`].
    pub idle_clock: AtomicI32,
    /// Number of the last pair that the tool requested from fork servers, from 1; a futex.
    pub asked: AtomicU32,
    /// Number of children of fork servers that have ended; a futex for the tool.
    pub ended: AtomicU32,
    /// Index of the copy of a fork server's pages that its child gets. An index one past the last copy creates another
    /// copy. [`NO_COPY`] for pages of the child's own.
    pub copy: AtomicU32,
    /// Seed of the random numbers of a fork server's child; 0 for the kernel's random numbers.
    pub seed: AtomicU64,
    /// Number of bytes of `name` in use.
    pub name_len: AtomicU32,
    /// Name of the test for a fork server's child, in UTF-8.
    pub name: [AtomicU8; NAME_LEN],
    /// Side of each turn: 0 base, 1 head.
    pub schedule: [AtomicU8; MAX_TURNS],
    /// Results of each side.
    pub sides: [SideArea; 2],
}

/// Length of the mapping in bytes.
pub const PAGE_BYTES: usize = std::mem::size_of::<Page>().div_ceil(PAGE) * PAGE;

/// Unit of the parts of shared files in bytes, on every system. A memory page of the system can be larger.
pub const PAGE: usize = 4096;
/// Largest number of runs of common pages.
pub const MOST_RUNS: usize = 170;

/// Header of the file with the pages that are equal in both programs of a pair. It has the file's first memory page for
/// itself.
#[repr(C)]
pub struct CommonPages {
    /// Number of entries of `runs` in use.
    pub count: u64,
    /// Unused; keeps the layout free of padding.
    pub reserved: u64,
    /// Runs, sorted by address.
    pub runs: [Run; MOST_RUNS],
}

/// Consecutive pages of one segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Run {
    /// Offset of the first byte from the program's load address.
    pub address: u64,
    /// Length in bytes, whole memory pages.
    pub length: u64,
    /// Offset in the file, a multiple of the size of a memory page.
    pub offset: i64,
}

const _: () = assert!(std::mem::size_of::<CommonPages>() == PAGE);

impl SideArea {
    /// Stores the times of the first call.
    pub fn store_first(&self, time: RunTime) {
        use std::sync::atomic::Ordering::Relaxed;
        self.first_ns.store(time.ns, Relaxed);
        self.first_cpu_ns.store(time.cpu_ns, Relaxed);
        self.first_idle_ns.store(time.idle_ns, Relaxed);
    }

    /// Returns the times of the first call.
    pub fn first(&self) -> RunTime {
        use std::sync::atomic::Ordering::Relaxed;
        RunTime {
            ns: self.first_ns.load(Relaxed),
            cpu_ns: self.first_cpu_ns.load(Relaxed),
            idle_ns: self.first_idle_ns.load(Relaxed),
        }
    }

    /// Stores the times of a batch; those beyond the last place replace it.
    pub fn store_batch(&self, at: usize, time: RunTime) {
        use std::sync::atomic::Ordering::Relaxed;
        let at = at.min(MAX_BATCHES - 1);
        self.times[at].store(time.ns, Relaxed);
        self.cpu_times[at].store(time.cpu_ns, Relaxed);
        self.idle_times[at].store(time.idle_ns, Relaxed);
    }
}

impl Page {
    /// Writes the turns. Both sides prepare, `starter` (0 base, 1 head) first. Batches follow in the order A B B A, so
    /// that each side follows itself and the other equally often; with strict alternation, branchy code is bimodal by 5
    /// %.
    ///
    /// In a pilot, base must start because it calibrates for both sides.
    pub fn plan(&self, batches: u32, starter: u32) {
        use std::sync::atomic::Ordering::Relaxed;
        let batches = batches.min(MAX_BATCHES as u32);
        self.batches.store(batches, Relaxed);
        self.schedule[0].store(starter as u8, Relaxed);
        self.schedule[1].store(1 - starter as u8, Relaxed);
        for i in 0..2 * batches {
            let abba = u32::from(matches!(i % 4, 1 | 2));
            self.schedule[2 + i as usize].store((abba ^ starter) as u8, Relaxed);
        }
        self.turns.store(2 + 2 * batches, Relaxed);
    }

    /// Sets the name of the test to serve, of at most [`NAME_LEN`] bytes.
    pub fn set_name(&self, name: &str) {
        use std::sync::atomic::Ordering::Relaxed;
        self.name.iter().zip(name.bytes()).for_each(|(slot, byte)| slot.store(byte, Relaxed));
        self.name_len.store(name.len().min(NAME_LEN) as u32, Relaxed);
    }

    /// Returns the name of the test to serve.
    pub fn name(&self) -> String {
        use std::sync::atomic::Ordering::Relaxed;
        let length = (self.name_len.load(Relaxed) as usize).min(NAME_LEN);
        let bytes: Vec<u8> = self.name[..length].iter().map(|byte| byte.load(Relaxed)).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
