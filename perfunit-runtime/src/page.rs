//! The page that the tool and the two processes of a pair share: the whole protocol.
//!
//! The tool fills in the request, starts both processes and sleeps. The processes take turns as [`Page::schedule`]
//! says: even without the tool on the CPU they hand over to each other by a futex on [`Page::turn`].
//!
//! Every field is an atomic: three processes look at it. Only `turn` orders them (release on hand-over, acquire on
//! waking); everything else is `Relaxed` between two turns.

use crate::preloaded;
use std::ffi::CStr;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, AtomicU8};

/// Environment variable: path of the file that receives the list of tests.
pub const LIST_VARIABLE: &str = "PERFUNIT_LIST";
/// In the environment of everything that the tool starts of a test executable: `1`.
pub const INSIDE_VARIABLE: &str = "PERFUNIT";
/// In test executables whose tests the tool's own answers are (`harness`): inside of the tool they have none.
pub const HARNESS_MARKER: &str = "perfunit-harness=1;";
/// In executables whose benchmarks our stand-in of their harness serves.
pub const BENCH_MARKER: &str = "perfunit-bench=1;";
/// Environment variable: `<side digit>:<file descriptor of the page>`.
pub const SERVE_VARIABLE: &str = "PERFUNIT_SERVE";
/// Environment variable: name of the test to serve, as libtest prints it.
pub const TEST_VARIABLE: &str = "PERFUNIT_TEST";
/// Environment variable: how a generated call is tried, `<size of its inputs>:<number of its function>`.
pub const TRIAL_VARIABLE: &str = "PERFUNIT_TRIAL";
/// How often a body is called where libtest runs the test: once if it is absent.
pub const CALLS_VARIABLE: &str = "PERFUNIT_CALLS";
/// What stands before the report of such a trial, at the beginning of a line.
pub const TRIAL_REPORT: &str = "perfunit-trial: ";
/// Environment variable: what the library in `seeds` draws from, 16 hexadecimal digits. That library then stands first
/// in [`PRELOAD_VARIABLE`].
pub const SEED_VARIABLE: &str = text(preloaded::SEED);
/// Environment variable: 16 hexadecimal digits, over which the library in `seeds` writes where its streams come from.
pub const STREAM_VARIABLE: &str = text(preloaded::STREAM);
/// Environment variable: the cores that tests are told of by the library in `seeds`.
pub const CORES_VARIABLE: &str = text(preloaded::CORES);
/// Environment variable: 16 hexadecimal digits, over which the library in `meter` writes where its counters are. That
/// library then stands in [`PRELOAD_VARIABLE`], before the one in `seeds`.
pub const METER_VARIABLE: &str = text(preloaded::METER);
/// Environment variable: 16 hexadecimal digits, by how many ns each reading of the clock advances it (0: the true clock). The
/// library with the clock then stands in the place of the one in `seeds`, and writes over them where its state is.
pub const CLOCK_VARIABLE: &str = text(preloaded::CLOCK);
/// Environment variable of the dynamic linker: libraries to load before all others.
pub const PRELOAD_VARIABLE: &str = "LD_PRELOAD";

const fn text(name: &CStr) -> &str {
    match name.to_str() {
        Ok(text) => text,
        Err(_) => panic!("names are ASCII"),
    }
}

/// First word of the page: refuses a runtime of another version. Change it with the layout.
pub const MAGIC: u64 = 0x7065_7266_756e_000b;
/// Batches per side that fit the page.
pub const MAX_BATCHES: usize = 64;
/// With fewer batches than this the tool takes their median instead of a low quantile, and each of them counts.
pub const FEW_BATCHES: u32 = 20;
/// Two preparation turns and all batches.
pub const MAX_TURNS: usize = 2 + 2 * MAX_BATCHES;
/// Bytes of a test's name that fit the page.
pub const NAME_LEN: usize = 512;
/// Bytes kept of a panic message.
pub const MESSAGE_LEN: usize = 240;

/// In [`Page::flags`]: calibrate on base before measuring.
pub const PILOT: u32 = 1;
/// In [`Page::flags`]: measure the first call only.
pub const COLD: u32 = 2;

/// In [`Page::flags`]: no batches and no times, but [`reading`]s of single calls: the first one and, unless it is
/// [`COLD`], [`Page::repetitions`] later ones.
pub const METER: u32 = 4;
/// In [`Page::flags`], with [`METER`]: have the processor count instructions.
pub const INSTRUCTIONS: u32 = 8;
/// In [`Page::flags`], with [`METER`]: the process runs in callgrind; have it write its counts after each reading.
pub const CALLGRIND: u32 = 16;

/// In [`Page::flags`], with [`METER`]: tell the tool, which traces the process, where each reading begins and ends.
pub const SYSTEM_CALLS: u32 = 256;
/// The option of `prctl` that tells it; the kernel knows none of this number. The second argument is the index of the reading
/// and 1, or 0 where no call counts; the third is 1 if the reading begins.
pub const MARK: i32 = 0x7065_7266;

/// In [`Page::flags`]: each repetition is a first call, in a child forked from the process just before the test's body.
pub const FORK: u32 = 32;
/// In [`Page::flags`], with [`FORK`]: the whole test function is the body, for the macro did not capture it.
pub const WHOLE: u32 = 64;

/// In [`Page::flags`], with [`COLD`]: functions leave how much work they did on which lengths, in the file of
/// [`SideArea::tree`], laid out as [`growth`](crate::growth) says.
pub const GROWTH: u32 = 128;

/// In [`Page::core`]: wherever the scheduler likes.
pub const ANY_CORE: u32 = u32::MAX;

/// In [`Page::copy`]: the child of a fork server copies its pages itself.
pub const NO_COPY: u32 = u32::MAX;

/// Readings of a process that fit the page.
pub const MAX_READINGS: usize = 8;
/// Index of the reading of a call of nothing: what reading itself adds to all others.
pub const NOTHING: usize = 0;
/// Index of the reading of the first call; those of later calls follow.
pub const FIRST: usize = 1;
/// Calls between the first one and those that are read next: what a body only does once or twice is over then.
pub const SETTLING_CALLS: u64 = 2;

/// What is read of a call: indices of a reading's figures.
pub mod reading {
    /// Calls of `malloc` and the like, of all threads.
    pub const ALLOCATIONS: usize = 0;
    /// Bytes that they asked for.
    pub const ALLOCATED_BYTES: usize = 1;
    /// Most bytes alive at a time beyond those that were alive before the call.
    pub const PEAK_HEAP: usize = 2;
    /// Page faults, of all threads.
    pub const PAGE_FAULTS: usize = 3;
    /// Times that a thread gave up the core to wait for something.
    pub const CONTEXT_SWITCHES: usize = 4;
    /// Bytes that went through `read` and the like, from wherever.
    pub const READ_BYTES: usize = 5;
    /// Bytes that went through `write` and the like, to wherever.
    pub const WRITTEN_BYTES: usize = 6;
    /// Instructions of this thread and of the threads and processes that it started, outside of the kernel.
    pub const INSTRUCTIONS: usize = 7;
    /// System calls of all threads and of the processes that they started; the tool counts them.
    pub const SYSTEM_CALLS: usize = 8;
    /// Figures of a reading.
    pub const COUNT: usize = 9;
}

/// Whether the allocator's figures of a reading count; [`SideArea::heap`].
pub mod heap {
    /// The library in `meter` is not there.
    pub const NOT_LOADED: u32 = 0;
    /// They do.
    pub const COUNTED: u32 = 1;
    /// Rust allocates by an allocator that the library does not see.
    pub const OWN_ALLOCATOR: u32 = 2;
}

/// How a forked child ended; [`SideArea::child_status`]. Anything else is what `waitpid` says of one that did not come to
/// its end.
pub mod child {
    /// It has not ended, or was never started.
    pub const RUNNING: u32 = 0;
    /// Its call passed.
    pub const PASSED: u32 = u32::MAX;
    /// Its call failed.
    pub const FAILED: u32 = u32::MAX - 1;
}

/// What a benchmark says that it works through; [`SideArea::unit`].
pub mod unit {
    /// It says nothing.
    pub const NONE: u32 = 0;
    /// Bytes.
    pub const BYTES: u32 = 1;
    /// Elements, or items.
    pub const ELEMENTS: u32 = 2;
    /// Characters.
    pub const CHARS: u32 = 3;
    /// Bits.
    pub const BITS: u32 = 4;
    /// Cycles.
    pub const CYCLES: u32 = 5;
}

/// How far a process got. The tool reads it after the process has ended.
pub mod state {
    /// Not yet in the test.
    pub const STARTING: u32 = 0;
    /// In the first call.
    pub const FIRST_CALL: u32 = 1;
    /// The first call passed; repeating.
    pub const REPEATING: u32 = 2;
    /// All batches are done.
    pub const DONE: u32 = 3;
    /// The first call failed (panicked, or did not when it should have).
    pub const FAILED_FIRST: u32 = 4;
    /// The first call passed and a later one failed.
    pub const FAILED_LATER: u32 = 5;
    /// The page is not of this runtime's version.
    pub const WRONG_VERSION: u32 = 6;
    /// The process has threads that a forked child would lack: no call was made.
    pub const THREADS: u32 = 7;
    /// The system does not let the process fork: no call was made.
    pub const NO_FORK: u32 = 8;
}

/// What one process writes.
#[repr(C)]
pub struct SideArea {
    /// Descriptor of the file for the calling-context tree, laid out as [`tree`](crate::tree) says; 0 if no probe is to be
    /// active. Not used with [`COLD`] and [`METER`], but for [`GROWTH`]. Written by the tool.
    pub tree: AtomicI32,
    /// One of [`state`].
    pub state: AtomicU32,
    /// 1 if the whole test function is called (by the runner), 0 if the macro's body is.
    pub whole_function: AtomicU32,
    /// Time of the first call, ns.
    pub first_ns: AtomicU64,
    /// Shortest time of one repetition seen in the preparation, ns as the bits of an f64.
    pub prepared_ns: AtomicU64,
    /// Bytes of `message` in use.
    pub message_len: AtomicU32,
    /// 1 if the program lies in the pages that it should lie in.
    pub settled: AtomicU32,
    /// One of [`heap`].
    pub heap: AtomicU32,
    /// Processor time of the first call, all threads, ns.
    pub first_cpu_ns: AtomicU64,
    /// Runs of the body, those before the first batch included.
    pub runs: AtomicU64,
    /// How often the first call read the clock; 0 where that is not counted.
    pub clock_readings: AtomicU64,
    /// The true time that passed during the first call, ns: also that in which others had the core.
    pub passed_ns: AtomicU64,
    /// Most memory that the process had in use, bytes, of one that counts; 0 where the kernel does not tell.
    pub peak_rss: AtomicU64,
    /// Readings taken, the one of nothing included.
    pub readings: AtomicU32,
    /// 0 if the processor counts instructions, or the system's error number.
    pub no_instructions: AtomicU32,
    /// 1 if the kernel counts bytes read and written.
    pub io_is_counted: AtomicU32,
    /// 1 if the process has started other processes; written in pilots and by a process that counts.
    pub starts_processes: AtomicU32,
    /// 1 if a fork server cannot fork for us: it has threads that its children would lack, or the system refuses.
    pub cannot_fork: AtomicU32,
    /// The last request of [`Page::asked`] that a fork server has answered: its child has ended.
    pub answered: AtomicU32,
    /// How that child ended, as `waitpid` says.
    pub status: AtomicU32,
    /// How the last forked child ended: one of [`child`].
    pub child_status: AtomicU32,
    /// One of [`unit`].
    pub unit: AtomicU32,
    /// How many of these a run works through.
    pub amount: AtomicU64,
    /// Panic message, UTF-8, cut.
    pub message: [AtomicU8; MESSAGE_LEN],
    /// Time of each batch, ns.
    pub times: [AtomicU64; MAX_BATCHES],
    /// Processor time of each batch, all threads, ns; from [`FEW_BATCHES`] on with the untimed repetitions before it.
    pub cpu_times: [AtomicU64; MAX_BATCHES],
    /// What [`METER`] asks for.
    pub figures: [[AtomicU64; reading::COUNT]; MAX_READINGS],
}

/// The shared page.
#[repr(C)]
pub struct Page {
    /// [`MAGIC`].
    pub magic: AtomicU64,
    /// [`PILOT`], [`COLD`], [`METER`] and what belongs to it.
    pub flags: AtomicU32,
    /// Index of the turn now running; the futex.
    pub turn: AtomicU32,
    /// Number of turns in `schedule`; set by base during the pilot's turn 0.
    pub turns: AtomicU32,
    /// Batches per side.
    pub batches: AtomicU32,
    /// Repetitions of the body in a batch, equal on both sides; with [`METER`] the later calls to read.
    pub repetitions: AtomicU64,
    /// Goal for the length of a batch, ns.
    pub batch_ns: AtomicU64,
    /// Untimed repetitions before each batch (0 or 1).
    pub warm: AtomicU32,
    /// Random shift of the stack, in frames of at least 16 bytes, equal on both sides.
    pub stack_pad: AtomicU32,
    /// Random shift of the heap, bytes, equal on both sides.
    pub heap_pad: AtomicU32,
    /// Descriptor of the file that begins with [`CommonPages`]; 0 if the program stays where it was loaded.
    pub common: AtomicI32,
    /// The core to run on; [`ANY_CORE`] leaves that to the system.
    pub core: AtomicU32,
    /// Number of the last pair that the tool asked fork servers for, from 1 on; a futex.
    pub asked: AtomicU32,
    /// Counts the children of fork servers that have ended; the futex of the tool.
    pub ended: AtomicU32,
    /// Number of the copy of a fork server's pages, from 0 on, that its child gets; one more than the last one makes another.
    /// [`NO_COPY`] for pages that no other child has.
    pub copy: AtomicU32,
    /// Seed of the random numbers of a fork server's child; 0 leaves it those of the kernel.
    pub seed: AtomicU64,
    /// Bytes of `name` in use.
    pub name_len: AtomicU32,
    /// Name of the test that a fork server's child serves, UTF-8.
    pub name: [AtomicU8; NAME_LEN],
    /// Who runs in each turn: 0 base, 1 head.
    pub schedule: [AtomicU8; MAX_TURNS],
    /// What each side writes.
    pub sides: [SideArea; 2],
}

/// Bytes to map: a whole number of pages.
pub const PAGE_BYTES: usize = std::mem::size_of::<Page>().div_ceil(PAGE) * PAGE;

/// Bytes of a page of memory.
pub const PAGE: usize = 4096;
/// Runs of common pages that fit the list.
pub const MOST_RUNS: usize = 170;

/// Begins the file with the pages that are equal in both programs of a pair, and is as long as a page.
#[repr(C)]
pub struct CommonPages {
    /// Entries of `runs` in use.
    pub count: u64,
    /// Unused; keeps the layout free of padding.
    pub reserved: u64,
    /// By address.
    pub runs: [Run; MOST_RUNS],
}

/// Pages in a row, of one segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Run {
    /// Of the first byte, from where the program is loaded.
    pub address: u64,
    /// Bytes, a multiple of [`PAGE`].
    pub length: u64,
    /// Where they are in the file.
    pub offset: i64,
}

const _: () = assert!(std::mem::size_of::<CommonPages>() == PAGE);

impl Page {
    /// Writes the turns: both prepare, `starter` (0 base, 1 head) first; then batches in the order A B B A, so that
    /// each side follows itself and the other equally often. Strict alternation is bimodal by 5 % on branchy code.
    ///
    /// In a pilot base must start, because it calibrates for both.
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

    /// Writes the name of the test to serve, of at most [`NAME_LEN`] bytes.
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
