//! The page that the tool and the two processes of a pair share: the whole protocol.
//!
//! The tool fills in the request, starts both processes and sleeps. The processes take turns as [`Page::schedule`]
//! says: even without the tool on the CPU they hand over to each other by a futex on [`Page::turn`].
//!
//! Every field is an atomic: three processes look at it. Only `turn` orders them (release on hand-over, acquire on
//! waking); everything else is `Relaxed` between two turns.

use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, AtomicU8};

/// Environment variable: path of the file that receives the list of tests.
pub const LIST_VARIABLE: &str = "PERFUNIT_LIST";
/// Environment variable: `<side digit>:<file descriptor of the page>`.
pub const SERVE_VARIABLE: &str = "PERFUNIT_SERVE";
/// Environment variable: name of the test to serve, as libtest prints it.
pub const TEST_VARIABLE: &str = "PERFUNIT_TEST";
/// Environment variable: what the library in `seeds` draws from, 16 hexadecimal digits. That library then stands first
/// in [`PRELOAD_VARIABLE`].
pub const SEED_VARIABLE: &str = "PERFUNIT_SEED";
/// Environment variable of the dynamic linker: libraries to load before all others.
pub const PRELOAD_VARIABLE: &str = "LD_PRELOAD";

/// First word of the page: refuses a runtime of another version. Change it with the layout.
pub const MAGIC: u64 = 0x7065_7266_756e_0002;
/// Batches per side that fit the page.
pub const MAX_BATCHES: usize = 64;
/// With fewer batches than this the tool takes their median instead of a low quantile, and each of them counts.
pub const FEW_BATCHES: u32 = 20;
/// Two preparation turns and all batches.
pub const MAX_TURNS: usize = 2 + 2 * MAX_BATCHES;
/// Bytes kept of a panic message.
pub const MESSAGE_LEN: usize = 240;

/// In [`Page::flags`]: calibrate on base before measuring.
pub const PILOT: u32 = 1;
/// In [`Page::flags`]: measure the first call only.
pub const COLD: u32 = 2;

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
}

/// What one process writes.
#[repr(C)]
pub struct SideArea {
    /// One of [`state`].
    pub state: AtomicU32,
    /// 1 if the whole test function is called (door 2), 0 if the macro's body is.
    pub whole_function: AtomicU32,
    /// Time of the first call, ns.
    pub first_ns: AtomicU64,
    /// Shortest time of one repetition seen in the preparation, ns as the bits of an f64.
    pub prepared_ns: AtomicU64,
    /// Bytes of `message` in use.
    pub message_len: AtomicU32,
    /// 1 if the program lies in the pages that it should lie in.
    pub settled: AtomicU32,
    /// Panic message, UTF-8, cut.
    pub message: [AtomicU8; MESSAGE_LEN],
    /// Time of each batch, ns.
    pub times: [AtomicU64; MAX_BATCHES],
}

/// The shared page.
#[repr(C)]
pub struct Page {
    /// [`MAGIC`].
    pub magic: AtomicU64,
    /// [`PILOT`], [`COLD`].
    pub flags: AtomicU32,
    /// Index of the turn now running; the futex.
    pub turn: AtomicU32,
    /// Number of turns in `schedule`; set by base during the pilot's turn 0.
    pub turns: AtomicU32,
    /// Batches per side.
    pub batches: AtomicU32,
    /// Repetitions of the body in a batch, equal on both sides.
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
}
