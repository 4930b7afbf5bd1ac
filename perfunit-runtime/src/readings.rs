//! Readings of single calls, which are counted and not timed.
//!
//! A process that takes readings has all turns to itself. Its readings are nested, with the kernel's figures outermost
//! and instructions innermost, so that no figure includes the cost of another.

use crate::gauges::{self, Instructions, Io};
use crate::page::{heap, reading, Page, SideArea, CALLGRIND, INSTRUCTIONS, MAX_READINGS, SYSTEM_CALLS};
use crate::preload_interface::Counters;
use std::hint::black_box;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::atomic::{AtomicU64, AtomicUsize};

/// Sizes by which Rust's allocator is tested for calls of libc: an allocator that keeps small or large blocks itself is
/// not counted.
const TRIED: [usize; 2] = [24, 200_000];

/// Counters of a process.
pub struct Gauges {
    heap: Option<&'static Counters>,
    instructions: Option<Instructions>,
    callgrind: bool,
    /// True if the tool counts system calls.
    system_calls: bool,
    /// Index of the current reading.
    at: AtomicUsize,
    /// Allocations and bytes of excluded work, and its change of live memory (wrapping).
    left_out: [AtomicU64; 3],
}

/// The kernel's figures at a moment.
struct Moment {
    io: Option<Io>,
    faults: u64,
    switches: u64,
}

impl Moment {
    /// Reads the figures before a call. Bytes are read first, so that the difference contains only this reading's own
    /// bytes.
    fn before() -> Self {
        let io = gauges::io();
        let (faults, switches) = gauges::usage();
        Self { io, faults, switches }
    }

    fn after() -> Self {
        let (faults, switches) = gauges::usage();
        Self { io: gauges::io(), faults, switches }
    }
}

impl Gauges {
    /// Opens the counters that the page requests, and records on the page which are missing. To be called in the thread
    /// that calls the test, because its instructions count. `counters` is the address of a preloaded library's
    /// counters.
    pub fn open(page: &Page, area: &SideArea, counters: Option<usize>) -> Self {
        let flags = page.flags.load(Relaxed);
        let mut instructions = None;
        if flags & INSTRUCTIONS != 0 {
            match Instructions::open() {
                Ok(counter) => instructions = Some(counter),
                Err(number) => area.no_instructions.store(number, Relaxed),
            }
        }
        area.io_is_counted.store(u32::from(gauges::io().is_some()), Relaxed);
        let counters = counters.map(gauges::counters_at);
        let state = match counters {
            None => heap::NOT_LOADED,
            Some(counters) if sees_rust(counters) => heap::COUNTED,
            Some(_) => heap::OWN_ALLOCATOR,
        };
        area.heap.store(state, Relaxed);
        Self {
            heap: counters,
            instructions,
            callgrind: flags & CALLGRIND != 0,
            system_calls: flags & SYSTEM_CALLS != 0,
            at: AtomicUsize::new(0),
            left_out: Default::default(),
        }
    }

    /// Calls `run`, stores its figures on the page as reading number `at`, and returns its result.
    pub fn read(&self, area: &SideArea, at: usize, run: &mut dyn FnMut() -> bool) -> bool {
        self.left_out.iter().for_each(|count| count.store(0, Relaxed));
        self.at.store(at, Relaxed);
        let before = Moment::before();
        let heap = self.heap.map(|heap| (heap, Heap::before(heap)));
        let counted = self.count_instructions(run);
        let heap = heap.map(|(heap, before)| before.until_now(heap)).unwrap_or_default();
        let after = Moment::after();
        let [allocations, bytes, live] = &self.left_out;
        let (read, written) = match (before.io, after.io) {
            (Some(before), Some(after)) => (after.read - before.read - before.own, after.written - before.written),
            _ => (0, 0),
        };
        let Some(figures) = area.figures.get(at.min(MAX_READINGS - 1)) else { return counted.0 };
        for (index, value) in [
            (reading::ALLOCATIONS, heap.allocations - allocations.load(Relaxed)),
            (reading::ALLOCATED_BYTES, heap.bytes - bytes.load(Relaxed)),
            (reading::PEAK_HEAP, heap.peak.wrapping_sub(live.load(Relaxed))),
            (reading::PAGE_FAULTS, after.faults - before.faults),
            (reading::CONTEXT_SWITCHES, after.switches - before.switches),
            (reading::READ_BYTES, read),
            (reading::WRITTEN_BYTES, written),
            (reading::INSTRUCTIONS, counted.1),
        ] {
            figures[index].store(value, Relaxed);
        }
        area.readings.store(at as u32 + 1, Release);
        counted.0
    }

    /// Returns whether a reading needs system calls that the cage forbids.
    pub fn leave_the_cage(&self) -> bool {
        self.instructions.is_some() || self.callgrind || self.system_calls
    }

    /// Runs work that does not count, during a reading. The kernel's figures still include this work.
    pub fn leave_out<T>(&self, work: impl FnOnce() -> T) -> T {
        let counts = || {
            self.heap
                .map_or([0; 3], |heap| [&heap.allocations, &heap.bytes, &heap.live].map(|count| count.load(Relaxed)))
        };
        let peak = self.heap.map_or(0, |heap| heap.peak.load(Relaxed));
        if self.callgrind {
            gauges::callgrind_toggle();
        }
        if let Some(counter) = &self.instructions {
            counter.pause();
        }
        if self.system_calls {
            gauges::mark(None, false);
        }
        let before = counts();
        let result = work();
        let after = counts();
        if self.system_calls {
            gauges::mark(Some(self.at.load(Relaxed)), false);
        }
        if let Some(counter) = &self.instructions {
            counter.resume();
        }
        if self.callgrind {
            gauges::callgrind_toggle();
        }
        for (count, (before, after)) in self.left_out.iter().zip(before.into_iter().zip(after)) {
            count.fetch_add(after.wrapping_sub(before), Relaxed);
        }
        if let Some(heap) = self.heap {
            // Shifts the peak, as if the memory now in use had always been in use.
            heap.peak.store(peak.wrapping_add(after[2].wrapping_sub(before[2])), Relaxed);
        }
        result
    }

    fn count_instructions(&self, run: &mut dyn FnMut() -> bool) -> (bool, u64) {
        if self.system_calls {
            gauges::mark(Some(self.at.load(Relaxed)), true);
            let passed = run();
            gauges::mark(None, false);
            return (passed, 0);
        }
        if self.callgrind {
            gauges::callgrind_forget();
            let passed = run();
            gauges::callgrind_write();
            return (passed, 0);
        }
        let Some(counter) = &self.instructions else { return (run(), 0) };
        let before = counter.start();
        let passed = run();
        (passed, counter.stop(before))
    }
}

/// The allocator's figures, so far or during a call.
#[derive(Default)]
struct Heap {
    allocations: u64,
    bytes: u64,
    peak: u64,
}

impl Heap {
    fn before(counters: &Counters) -> Self {
        let live = counters.live.load(Relaxed);
        counters.peak.store(live, Relaxed);
        Self { allocations: counters.allocations.load(Relaxed), bytes: counters.bytes.load(Relaxed), peak: live }
    }

    fn until_now(&self, counters: &Counters) -> Self {
        Self {
            allocations: counters.allocations.load(Relaxed) - self.allocations,
            bytes: counters.bytes.load(Relaxed) - self.bytes,
            peak: counters.peak.load(Relaxed) - self.peak,
        }
    }
}

/// Returns whether the counters see Rust's allocations.
fn sees_rust(counters: &Counters) -> bool {
    TRIED.iter().all(|size| {
        let before = counters.allocations.load(Relaxed);
        drop(black_box(Vec::<u8>::with_capacity(*size)));
        counters.allocations.load(Relaxed) > before
    })
}
