//! Serves one test in lockstep with the process of the other version, then ends the process.

mod forked;
mod untimed;

use crate::cage::{self, Time};
use crate::calibrate::{self, calibrate, Plan};
use crate::clock::Clock;
use crate::left_out::LeftOut;
use crate::page::{
    state, Page, SideArea, ANY_CORE, COLD, FEW_BATCHES, FIRST, FORK, GROWTH, MAGIC, MAX_BATCHES, MAX_READINGS,
    MESSAGE_LEN, METER, NOTHING, PILOT, SETTLING_CALLS,
};
use crate::probe::Tree;
use crate::readings::Gauges;
use crate::{gauges, growth, maps, memory, probe, request, sys};
use std::hint::black_box;
use std::panic::{catch_unwind, set_hook, AssertUnwindSafe};
use std::process::{ExitCode, Termination};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::OnceLock;
use std::time::Instant;

pub use untimed::{timed_by_itself, untimed};

/// From this factor on head settles the shape of a pilot.
const MUCH_SLOWER: f64 = 20.0;
/// A first call as long as this need not be repeated to see how long the body takes.
const FIRST_CALL_TELLS_NS: f64 = 50e6;

/// True once a body has been taken over: a test that calls another test must not serve twice.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// True if the body is a generated call.
static CAGED: AtomicBool = AtomicBool::new(false);
/// The seat of the armed process, for `take_over`; null when the runner is not there.
static SEAT: AtomicUsize = AtomicUsize::new(0);

/// This process's place at the page.
pub struct Seat {
    page: &'static Page,
    side: usize,
    should_panic: bool,
    /// Where a preloaded library counts.
    counters: Option<usize>,
    /// Where a preloaded library's random numbers come from.
    streams: Option<usize>,
    /// Set in a process that counts, before the first call.
    gauges: OnceLock<Gauges>,
    /// Where the probes of an instrumented program leave their figures.
    tree: Option<&'static Tree>,
}

impl Seat {
    fn area(&self) -> &'static SideArea {
        &self.page.sides[self.side]
    }

    /// Sleeps until it is this side's turn; false when all turns are over.
    fn wait_turn(&self) -> bool {
        loop {
            let turn = self.page.turn.load(Acquire);
            let turns = self.page.turns.load(Relaxed);
            if turn >= turns {
                return false;
            }
            if usize::from(self.page.schedule[turn as usize].load(Relaxed)) == self.side {
                return true;
            }
            sys::futex_wait(&self.page.turn, turn);
        }
    }

    /// Hands over; a wake-up only if the next turn is somebody else's.
    fn end_turn(&self) {
        let next = self.page.turn.load(Relaxed) + 1;
        self.page.turn.store(next, Release);
        let mine = next < self.page.turns.load(Relaxed)
            && usize::from(self.page.schedule[next as usize].load(Relaxed)) == self.side;
        if !mine {
            sys::futex_wake(&self.page.turn);
        }
    }
}

/// Called by the macro's code: serves `body` and ends the process if the tool asked for it, else returns at once.
pub fn take_over<T: Termination>(body: fn() -> T) {
    // Opaque, so that the body is neither inlined into the loop nor hoisted out of it.
    let body = black_box(body);
    take_over_body(&move |runs| (0..runs).fold(true, |passed, _| passed & is_success(body().report())));
}

/// As [`take_over`], of a benchmark's body, which runs so many times.
pub fn take_over_body(body: Body<'_>) {
    let Some(seat) = taken_seat() else { return };
    if TAKEN.swap(true, AcqRel) {
        return;
    }
    if forked::is_asked(seat, false) {
        forked::serve(seat, body);
    }
    serve(seat, body, None)
}

/// As [`take_over_body`], of a generated call, which is made in the cage only.
pub fn take_over_caged(body: Body<'_>) {
    CAGED.store(true, Relaxed);
    take_over_body(body);
}

/// Before the body's first call: locks it in, if it belongs into the cage. Not where calls are counted, for which files of
/// the kernel are read around each.
fn lock_in(seat: &Seat) {
    if !CAGED.load(Relaxed) || seat.page.flags.load(Relaxed) & METER != 0 {
        return;
    }
    sys::keep_files_open();
    if !cage::enter(Time::Open) {
        keep_message(seat.area(), "the kernel refuses to restrict the process");
        leave(seat, state::FAILED_FIRST);
    }
}

/// The seat of the armed process. Without the runner somebody else's main called us: then we look for ourselves.
pub fn taken_seat() -> Option<&'static Seat> {
    if let Some(seat) = armed_seat() {
        return Some(seat);
    }
    let seat: &'static Seat = Box::leak(Box::new(open_seat(false)?));
    SEAT.store(std::ptr::from_ref(seat) as usize, Release);
    Some(seat)
}

fn armed_seat() -> Option<&'static Seat> {
    let armed = SEAT.load(Acquire) as *const Seat;
    // SAFETY: null, or a leaked box, which lives as long as the process.
    unsafe { armed.as_ref() }
}

/// Exit codes cannot be compared before Rust 1.84.
fn is_success(code: ExitCode) -> bool {
    // SAFETY: an exit code is one byte here, as for the kernel; of a larger type only its first byte would be read.
    let byte = |code: &ExitCode| unsafe { std::mem::transmute_copy::<ExitCode, u8>(code) };
    byte(&code) == byte(&ExitCode::SUCCESS)
}

/// Called by the runner: serves the test function `function`, in a thread named like libtest's.
///
/// If the macro captured the test, its first call ends in [`take_over`] and never returns; otherwise the whole function
/// is the body.
pub fn serve_function<E: 'static>(name: &str, should_panic: bool, function: fn() -> Result<(), E>) -> ! {
    let Some(seat) = open_seat(should_panic) else { sys::exit_now(2) };
    let seat: &'static Seat = Box::leak(Box::new(seat));
    SEAT.store(std::ptr::from_ref(seat) as usize, Release);
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        with_stack_pad(seat.page.stack_pad.load(Relaxed), &mut || whole_function(seat, function));
    });
    match thread {
        Ok(thread) => {
            let _unreachable = thread.join();
            sys::exit_now(3)
        }
        Err(_) => sys::exit_now(2),
    }
}

fn whole_function<E: 'static>(seat: &'static Seat, function: fn() -> Result<(), E>) {
    begin(seat);
    let function = black_box(function);
    let body = move |runs| (0..runs).fold(true, |passed, _| passed & function().is_ok());
    if forked::is_asked(seat, true) {
        TAKEN.store(true, Release);
        seat.area().whole_function.store(1, Relaxed);
        forked::serve(seat, &body);
    }
    let first = first_call(seat, &body);
    TAKEN.store(true, Release);
    seat.area().whole_function.store(1, Relaxed);
    if forked::is_asked(seat, false) {
        // The macro was to take it over, and did not.
        leave(seat, state::NO_FORK);
    }
    serve(seat, &body, Some(first))
}

fn open_seat(should_panic: bool) -> Option<Seat> {
    let (side, descriptor) = request::page_descriptor()?;
    let page = sys::map_page(descriptor)?;
    if page.magic.load(Relaxed) != MAGIC {
        page.sides[side].state.store(state::WRONG_VERSION, Relaxed);
        sys::exit_now(2);
    }
    let core = page.core.load(Relaxed);
    if core != ANY_CORE {
        // Before anything is counted. A container may refuse: then we run where the tool let us start.
        sys::stay_on(core as usize);
    }
    let (counters, streams) = (request::counters(), request::streams());
    // Programs that the test starts are not part of the protocol.
    request::forget();
    let common = page.common.load(Relaxed);
    if common != 0 && memory::settle_program(common) {
        page.sides[side].settled.store(1, Relaxed);
    }
    let tree = probe::open(tree_descriptor(page, &page.sides[side]));
    Some(Seat { page, side, should_panic, counters, streams, gauges: OnceLock::new(), tree })
}

/// Of the file for the calling-context tree, if probes are wanted. What is not timed in batches has none; where the growth of
/// work is counted, the file is a table, which is opened here.
fn tree_descriptor(page: &Page, area: &SideArea) -> Option<i32> {
    let descriptor = area.tree.load(Relaxed);
    if descriptor != 0 && page.flags.load(Relaxed) & GROWTH != 0 {
        growth::open(descriptor);
        return None;
    }
    if descriptor != 0 && page.flags.load(Relaxed) & (COLD | METER | FORK) != 0 {
        sys::close_file(descriptor);
        return None;
    }
    (descriptor != 0).then_some(descriptor)
}

/// Everything before the first call: pads, hook, page faults, turn.
fn begin(seat: &'static Seat) {
    let area = seat.area();
    if area.state.load(Relaxed) != state::STARTING {
        return;
    }
    install_hook(seat);
    // In the thread that runs the test, whose malloc arena it shifts.
    std::mem::forget(black_box(Vec::<u8>::with_capacity(seat.page.heap_pad.load(Relaxed) as usize)));
    for time in &area.times {
        time.store(0, Relaxed);
    }
    if seat.page.flags.load(Relaxed) & COLD != 0 {
        maps::populate_files();
    }
    if seat.page.flags.load(Relaxed) & METER == 0 {
        seat.wait_turn();
    } else {
        // Nobody times it: if both sides count, they do so side by side.
        let gauges = seat.gauges.get_or_init(|| Gauges::open(seat.page, area, seat.counters));
        // Twice, because the first time touches what is never touched again.
        for _ in 0..2 {
            gauges.read(area, NOTHING, &mut || call(seat, &|_| true));
        }
    }
    area.state.store(state::FIRST_CALL, Release);
}

/// Runs a body so many times; true if every run passed. A panic is the caller's to catch.
pub type Body<'a> = &'a dyn Fn(u64) -> bool;

/// The whole service; `first` is given if the first call already happened.
fn serve(seat: &'static Seat, body: Body<'_>, first: Option<(bool, u64)>) -> ! {
    let (page, area) = (seat.page, seat.area());
    begin(seat);
    lock_in(seat);
    let (passed, first_ns) = first.unwrap_or_else(|| first_call(seat, body));
    area.first_ns.store(first_ns, Relaxed);
    if !passed {
        leave(seat, state::FAILED_FIRST);
    }
    area.state.store(state::REPEATING, Release);
    if let Some(gauges) = seat.gauges.get() {
        read_later_calls(seat, gauges, body);
    }
    if page.flags.load(Relaxed) & COLD == 0 && prepare(seat, body, first_ns).is_none() {
        leave(seat, state::FAILED_LATER);
    }
    if let Some(tree) = seat.tree {
        tree.measure_costs();
    }
    seat.end_turn();
    let repetitions = page.repetitions.load(Relaxed);
    let mut done = 0;
    while seat.wait_turn() {
        let warm = u64::from(page.warm.load(Relaxed));
        if done == 0 && is_one_call(page) && !seat.tree.is_some_and(Tree::is_empty) {
            // The first call was the measurement.
            area.times[0].store(first_ns, Relaxed);
            area.cpu_times[0].store(area.first_cpu_ns.load(Relaxed), Relaxed);
        } else {
            let at = done.min(MAX_BATCHES - 1);
            let times = match seat.tree {
                None => warm_batch(seat, body, warm, repetitions),
                Some(tree) => recorded_batch(seat, body, warm, repetitions, &Row { tree, at }),
            };
            let Some((ns, cpu_ns)) = times else { leave(seat, state::FAILED_LATER) };
            area.times[at].store(ns, Relaxed);
            area.cpu_times[at].store(cpu_ns, Relaxed);
        }
        done += 1;
        seat.end_turn();
    }
    area.peak_rss.store(gauges::peak_rss().unwrap_or(0), Relaxed);
    leave(seat, state::DONE)
}

/// Whether the first call is all that is measured: it is so long that a process has time for no other.
fn is_one_call(page: &Page) -> bool {
    page.batches.load(Relaxed) == 1
        && page.flags.load(Relaxed) & COLD == 0
        && page.repetitions.load(Relaxed) == 1
        && page.warm.load(Relaxed) == 0
}

/// The first call, in which much happens that no later one does: whether it passed, and its time, ns.
fn first_call(seat: &Seat, body: Body<'_>) -> (bool, u64) {
    if let Some(gauges) = seat.gauges.get() {
        return (gauges.read(seat.area(), FIRST, &mut || call(seat, body)), 0);
    }
    let row = seat.tree.filter(|_| is_one_call(seat.page)).map(|tree| Row { tree, at: 0 });
    let timed = || {
        let clock = Clock::start();
        let passed = call(seat, body);
        (passed, clock.stop())
    };
    let (passed, (first_ns, cpu_ns)) = match row {
        None => timed(),
        Some(row) => row.record(timed),
    };
    seat.area().first_cpu_ns.store(cpu_ns, Relaxed);
    (passed, first_ns)
}

/// Where the tree keeps the figures of a batch.
struct Row {
    tree: &'static Tree,
    at: usize,
}

impl Row {
    /// Runs a batch, whose clock readings are in `run`: what the tree does before and after is not in its time.
    fn record<T>(&self, run: impl FnOnce() -> T) -> T {
        self.tree.begin_batch();
        let result = run();
        self.tree.end_batch(self.at);
        result
    }
}

/// What is asked of a process that counts besides the first call; ends it.
fn read_later_calls(seat: &Seat, gauges: &Gauges, body: Body<'_>) -> ! {
    let wanted = (seat.page.repetitions.load(Relaxed) as usize).min(MAX_READINGS - 1 - FIRST);
    if seat.page.flags.load(Relaxed) & COLD == 0 {
        let settled = (0..SETTLING_CALLS).all(|_| call(seat, body));
        let mut later = FIRST + 1..=FIRST + wanted;
        if !settled || !later.all(|at| gauges.read(seat.area(), at, &mut || call(seat, body))) {
            leave(seat, state::FAILED_LATER);
        }
    }
    leave(seat, state::DONE)
}

/// The turn before the batches: base calibrates in a pilot; everyone warms up.
fn prepare(seat: &Seat, body: Body<'_>, first_ns: u64) -> Option<()> {
    let page = seat.page;
    let pilot = page.flags.load(Relaxed) & PILOT != 0;
    if pilot && (seat.side == 0 || much_slower(seat, body, first_ns)?) {
        let plan = plan(seat, body, first_ns)?;
        page.repetitions.store(plan.repetitions, Relaxed);
        page.warm.store(plan.warm, Relaxed);
        page.plan(plan.batches, 0);
        seat.area().prepared_ns.store(plan.shortest_ns.to_bits(), Relaxed);
    } else if page.warm.load(Relaxed) != 0 {
        let ns = batch(seat, body, 1)?;
        seat.area().prepared_ns.store((ns as f64).to_bits(), Relaxed);
    } else if pilot && page.batches.load(Relaxed) > 1 {
        // Repeatability must show on this side too.
        batch(seat, body, 1)?;
    }
    Some(())
}

/// Base's shape of a pair. Where most of a run is not timed, it is as if a tenth of that were: else pairs would take too long.
fn plan(seat: &Seat, body: Body<'_>, first_ns: u64) -> Option<Plan> {
    let goal_ns = seat.page.batch_ns.load(Relaxed);
    let mut untimed_ns = 0.0;
    let plan = calibrate(first_ns, goal_ns, |n| {
        let before = LeftOut::so_far();
        let ns = batch(seat, body, n)?;
        untimed_ns = before.since().wall.max(0) as f64 / n as f64;
        Some(ns)
    })?;
    let weight_ns = plan.shortest_ns.max((plan.shortest_ns + untimed_ns) / 10.0);
    Some(Plan { shortest_ns: plan.shortest_ns, ..calibrate::shape(weight_ns, goal_ns) })
}

/// Whether base's repetitions would make this side's batches so long that the pilot might not end in time: then this
/// side, head, settles the shape for both.
fn much_slower(seat: &Seat, body: Body<'_>, first_ns: u64) -> Option<bool> {
    let repetitions = seat.page.repetitions.load(Relaxed);
    let one_ns = if first_ns as f64 > FIRST_CALL_TELLS_NS { first_ns } else { batch(seat, body, 1)? };
    let base_ns = f64::from_bits(seat.page.sides[0].prepared_ns.load(Relaxed));
    let batch_ns = one_ns as f64 * repetitions as f64;
    Some(one_ns as f64 > MUCH_SLOWER * base_ns && batch_ns > MUCH_SLOWER * seat.page.batch_ns.load(Relaxed) as f64)
}

/// The untimed runs, then a batch: its time and the processor's, ns. The latter includes the untimed runs where batches are
/// short: the processor's clock is a system call, and must not stand between them and the batch.
fn warm_batch(seat: &Seat, body: Body<'_>, warm: u64, repetitions: u64) -> Option<(u64, u64)> {
    if has_few_batches(seat) {
        batch(seat, body, warm)?;
        return long_batch(seat, body, repetitions);
    }
    let (cpu_ns, before) = (sys::process_cpu_ns(), LeftOut::so_far());
    let ns = batch(seat, body, warm).and_then(|_| batch(seat, body, repetitions))?;
    Some((ns, before.since().of_cpu(sys::process_cpu_ns() - cpu_ns)))
}

/// As [`warm_batch`], in an instrumented program: the untimed runs are not in the tree.
fn recorded_batch(seat: &Seat, body: Body<'_>, warm: u64, repetitions: u64, row: &Row) -> Option<(u64, u64)> {
    if has_few_batches(seat) {
        batch(seat, body, warm)?;
        return row.record(|| long_batch(seat, body, repetitions));
    }
    let (cpu_ns, before) = (sys::process_cpu_ns(), LeftOut::so_far());
    batch(seat, body, warm)?;
    let ns = row.record(|| batch(seat, body, repetitions))?;
    Some((ns, before.since().of_cpu(sys::process_cpu_ns() - cpu_ns)))
}

/// Whether each batch counts; none are planned yet while base calibrates.
fn has_few_batches(seat: &Seat) -> bool {
    (1..FEW_BATCHES).contains(&seat.page.batches.load(Relaxed))
}

/// A batch of which what others did to it is told apart: its time and the processor's, ns.
fn long_batch(seat: &Seat, body: Body<'_>, repetitions: u64) -> Option<(u64, u64)> {
    let clock = Clock::start();
    let passed = (0..repetitions).all(|_| call(seat, body));
    let times = clock.stop();
    passed.then_some(times)
}

/// Runs the body `repetitions` times between two clock readings; ns, or `None` if a run failed.
fn batch(seat: &Seat, body: Body<'_>, repetitions: u64) -> Option<u64> {
    if has_few_batches(seat) {
        return long_batch(seat, body, repetitions).map(|(ns, _)| ns);
    }
    if seat.should_panic {
        // Each run ends in a panic, so each needs its own landing.
        let started = Instant::now();
        for _ in 0..repetitions {
            if !call(seat, body) {
                return None;
            }
        }
        return Some(started.elapsed().as_nanos() as u64);
    }
    catch_unwind(AssertUnwindSafe(|| {
        let before = LeftOut::so_far();
        let started = Instant::now();
        let passed = body(repetitions);
        let ns = started.elapsed().as_nanos() as u64;
        passed.then_some(before.since().of_wall(ns))
    }))
    .unwrap_or(None)
}

/// One run: true if it ended as the test demands.
fn call(seat: &Seat, body: Body<'_>) -> bool {
    match catch_unwind(AssertUnwindSafe(|| body(1))) {
        Ok(passed) => passed && !seat.should_panic,
        Err(payload) => {
            // A payload's Drop may panic again: leave it.
            std::mem::forget(payload);
            seat.should_panic
        }
    }
}

/// Reports the end and ends the process. The turn is not handed over after a failure: the tool ends the other side.
fn leave(seat: &Seat, end: u32) -> ! {
    seat.area().state.store(end, Release);
    sys::exit_now(0)
}

/// Replaces the default hook, whose printing would be most of a panicking test's time, by one that keeps the message.
fn install_hook(seat: &'static Seat) {
    let expected = seat.should_panic;
    let area = seat.area();
    set_hook(Box::new(move |info| {
        if expected || area.message_len.load(Relaxed) != 0 {
            return;
        }
        let payload = info.payload();
        let message = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("panicked with a value that is no text");
        let place = info.location().map_or(String::new(), |l| format!(" ({}:{})", l.file(), l.line()));
        keep_message(area, &format!("{message}{place}"));
    }));
}

fn keep_message(area: &SideArea, message: &str) {
    let mut length = message.len().min(MESSAGE_LEN);
    while !message.is_char_boundary(length) {
        length -= 1;
    }
    for (slot, byte) in area.message.iter().zip(message[..length].bytes()) {
        slot.store(byte, Relaxed);
    }
    area.message_len.store(length as u32, Relaxed);
}

/// Calls `then` below `frames` frames of at least 16 bytes: shifts the stack of a thread by less than a page.
#[inline(never)]
fn with_stack_pad(frames: u32, then: &mut dyn FnMut()) {
    if frames == 0 {
        return then();
    }
    let filler = black_box([0u8; 16]);
    with_stack_pad(frames - 1, then);
    black_box(&filler);
}
