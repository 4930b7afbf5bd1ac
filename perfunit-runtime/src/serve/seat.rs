//! The place of this process at the shared page: its side, its turns, and its end.

use crate::memory::Settled;
use crate::page::{state, Page, SideArea, ANY_CORE, AT_ONCE, COLD, FORK, GROWTH, MAGIC, MESSAGE_LEN, METER};
use crate::probe::Tree;
use crate::readings::Gauges;
use crate::{clock, growth, memory, probe, request, sys};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicUsize};
use std::sync::OnceLock;

/// The seat of this process, for `take_over`; 0 without the runner.
static SEAT: AtomicUsize = AtomicUsize::new(0);

/// The seat of the fork server that this process was forked from; 0 in all other processes.
static PARENT: AtomicUsize = AtomicUsize::new(0);

/// The place of this process at the shared page.
pub struct Seat {
    pub page: &'static Page,
    pub side: usize,
    pub should_panic: bool,
    /// Address of a preloaded library's counters.
    pub counters: Option<usize>,
    /// Address of a preloaded library's streams.
    pub streams: Option<usize>,
    /// Counters; set before the first call in a process that takes readings.
    pub gauges: OnceLock<Gauges>,
    /// Tree for the probes of an instrumented program.
    pub tree: Option<&'static Tree>,
    /// Number of steps of this side so far, where both do them at once.
    steps: AtomicU32,
}

impl Seat {
    fn new(
        page: &'static Page,
        side: usize,
        should_panic: bool,
        counters: Option<usize>,
        streams: Option<usize>,
    ) -> Self {
        let (gauges, steps) = (OnceLock::new(), AtomicU32::new(0));
        Self { page, side, should_panic, counters, streams, gauges, tree: None, steps }
    }

    pub fn area(&self) -> &'static SideArea {
        &self.page.sides[self.side]
    }

    /// Sleeps until it is this side's turn. Returns false when all turns are over.
    pub fn wait_turn(&self) -> bool {
        if self.page.flags.load(Relaxed) & AT_ONCE != 0 {
            return self.meet();
        }
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

    /// Sleeps until the other side is at the same step. Returns false when all steps are over.
    fn meet(&self) -> bool {
        let step = self.steps.fetch_add(1, Relaxed);
        if step > self.page.batches.load(Relaxed) {
            return false;
        }
        let both = 2 * (step + 1);
        self.page.turn.fetch_add(1, AcqRel);
        sys::futex_wake(&self.page.turn);
        loop {
            let arrived = self.page.turn.load(Acquire);
            if arrived >= both {
                return true;
            }
            sys::futex_wait(&self.page.turn, arrived);
        }
    }

    /// Ends this turn and wakes the other side if the next turn belongs to it.
    pub fn end_turn(&self) {
        if self.page.flags.load(Relaxed) & AT_ONCE != 0 {
            return;
        }
        let next = self.page.turn.load(Relaxed) + 1;
        self.page.turn.store(next, Release);
        let mine = next < self.page.turns.load(Relaxed)
            && usize::from(self.page.schedule[next as usize].load(Relaxed)) == self.side;
        if !mine {
            sys::futex_wake(&self.page.turn);
        }
    }
}

/// Returns the seat of this process, or takes it if the program has its own main function and no runner.
pub fn taken_seat() -> Option<&'static Seat> {
    armed_seat().or_else(|| take_seat(false))
}

/// Takes the seat of this process, if it has a page.
pub fn take_seat(should_panic: bool) -> Option<&'static Seat> {
    let seat: &'static Seat = Box::leak(Box::new(open_seat(should_panic)?));
    SEAT.store(std::ptr::from_ref(seat) as usize, Release);
    Some(seat)
}

/// Makes a child of a fork server take over its parent's place.
pub fn take_after(parent: &'static Seat) {
    PARENT.store(std::ptr::from_ref(parent) as usize, Release);
}

pub fn armed_seat() -> Option<&'static Seat> {
    let armed = SEAT.load(Acquire) as *const Seat;
    // SAFETY: null, or a leaked box, which lives as long as the process.
    unsafe { armed.as_ref() }
}

fn open_seat(should_panic: bool) -> Option<Seat> {
    // SAFETY: null, or a reference that lives as long as the process.
    if let Some(parent) = unsafe { (PARENT.load(Acquire) as *const Seat).as_ref() } {
        let Seat { page, side, counters, streams, .. } = *parent;
        return Some(Seat::new(page, side, should_panic, counters, streams));
    }
    let (seat, settled) = open(should_panic)?;
    if settled.is_some_and(|settled| settled.is_complete()) {
        seat.area().settled.store(1, Relaxed);
    }
    let tree = probe::open(tree_descriptor(seat.page, seat.area()));
    Some(Seat { tree, ..seat })
}

/// Takes the place named by the environment and moves the program's pages.
pub fn open(should_panic: bool) -> Option<(Seat, Option<Settled>)> {
    let (side, descriptor) = request::page_descriptor()?;
    let page = sys::map_page(descriptor)?;
    if page.magic.load(Relaxed) != MAGIC {
        page.sides[side].state.store(state::WRONG_VERSION, Relaxed);
        sys::exit_now(2);
    }
    let core = page.core.load(Relaxed);
    if core != ANY_CORE {
        // Done before anything is counted. A container may refuse; then the process stays on the core where it was
        // started.
        sys::stay_on(core as usize);
    }
    let (counters, streams) = (request::counters(), request::streams());
    if let Some(clock) = request::clock() {
        clock::stand_aside(clock);
    }
    // Programs that the test starts are not part of the protocol.
    request::forget();
    let common = page.common.load(Relaxed);
    let settled = if common == 0 { None } else { memory::settle_program(common) };
    Some((Seat::new(page, side, should_panic, counters, streams), settled))
}

/// Returns the descriptor of the calling-context tree, if probes are wanted. Calls that are not timed in batches have
/// no tree. With [`GROWTH`] the file is a table, which is opened here.
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

/// Records the state and ends the process. After a failure the turn is not handed over; the tool ends the other side.
pub fn leave(seat: &Seat, end: u32) -> ! {
    seat.area().state.store(end, Release);
    sys::exit_now(0)
}

/// Stores a message for the tool to show.
pub fn keep_message(area: &SideArea, message: &str) {
    let mut length = message.len().min(MESSAGE_LEN);
    while !message.is_char_boundary(length) {
        length -= 1;
    }
    for (slot, byte) in area.message.iter().zip(message[..length].bytes()) {
        slot.store(byte, Relaxed);
    }
    area.message_len.store(length as u32, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_meet_before_each_step() {
        const BATCHES: u32 = 3;
        // SAFETY: a page consists of atomics, which are valid for every bit pattern.
        let page: &'static Page = Box::leak(Box::new(unsafe { std::mem::zeroed() }));
        page.flags.store(AT_ONCE, Relaxed);
        page.plan(BATCHES, 0);
        let seats = [0, 1].map(|side| Seat::new(page, side, false, None, None));
        let steps = [AtomicU32::new(0), AtomicU32::new(0)];
        std::thread::scope(|scope| {
            for seat in &seats {
                let steps = &steps;
                scope.spawn(move || {
                    while seat.wait_turn() {
                        steps[seat.side].fetch_add(1, AcqRel);
                        let [mine, other] = [seat.side, 1 - seat.side].map(|side| steps[side].load(Acquire));
                        assert!(other + 1 >= mine && mine + 1 >= other, "{mine} {other}");
                        seat.end_turn();
                    }
                });
            }
        });
        // The preparation is a step, too.
        assert_eq!(steps.map(AtomicU32::into_inner), [1 + BATCHES; 2]);
        assert_eq!(page.turn.load(Relaxed), page.turns.load(Relaxed));
    }
}
