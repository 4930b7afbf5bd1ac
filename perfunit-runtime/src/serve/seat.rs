//! This process's place at the page: which side it is, whose turn it is, and how it leaves.

use crate::memory::Settled;
use crate::page::{state, Page, SideArea, ANY_CORE, COLD, FORK, GROWTH, MAGIC, MESSAGE_LEN, METER};
use crate::probe::Tree;
use crate::readings::Gauges;
use crate::{clock, growth, memory, probe, request, sys};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::OnceLock;

/// The seat of the armed process, for `take_over`; null when the runner is not there.
static SEAT: AtomicUsize = AtomicUsize::new(0);

/// The seat of the fork server that this process was forked from; null in all other processes.
static PARENT: AtomicUsize = AtomicUsize::new(0);

/// This process's place at the page.
pub struct Seat {
    pub page: &'static Page,
    pub side: usize,
    pub should_panic: bool,
    /// Where a preloaded library counts.
    pub counters: Option<usize>,
    /// Where a preloaded library's random numbers come from.
    pub streams: Option<usize>,
    /// Set in a process that counts, before the first call.
    pub gauges: OnceLock<Gauges>,
    /// Where the probes of an instrumented program leave their figures.
    pub tree: Option<&'static Tree>,
}

impl Seat {
    pub fn area(&self) -> &'static SideArea {
        &self.page.sides[self.side]
    }

    /// Sleeps until it is this side's turn; false when all turns are over.
    pub fn wait_turn(&self) -> bool {
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
    pub fn end_turn(&self) {
        let next = self.page.turn.load(Relaxed) + 1;
        self.page.turn.store(next, Release);
        let mine = next < self.page.turns.load(Relaxed)
            && usize::from(self.page.schedule[next as usize].load(Relaxed)) == self.side;
        if !mine {
            sys::futex_wake(&self.page.turn);
        }
    }
}

/// The seat of the armed process. Without the runner somebody else's main called us: then we look for ourselves.
pub fn taken_seat() -> Option<&'static Seat> {
    armed_seat().or_else(|| take_seat(false))
}

/// Arms this process, if it has a page.
pub fn take_seat(should_panic: bool) -> Option<&'static Seat> {
    let seat: &'static Seat = Box::leak(Box::new(open_seat(should_panic)?));
    SEAT.store(std::ptr::from_ref(seat) as usize, Release);
    Some(seat)
}

/// In a child of a fork server: has it take its parent's place.
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
        let Seat { page, side, streams, .. } = *parent;
        return Some(Seat { page, side, should_panic, counters: None, streams, gauges: OnceLock::new(), tree: None });
    }
    let (seat, settled) = open(should_panic)?;
    if settled.is_some_and(|settled| settled.is_complete()) {
        seat.area().settled.store(1, Relaxed);
    }
    let tree = probe::open(tree_descriptor(seat.page, seat.area()));
    Some(Seat { tree, ..seat })
}

/// Takes the place that the environment names, and moves the program.
pub fn open(should_panic: bool) -> Option<(Seat, Option<Settled>)> {
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
    if let Some(clock) = request::clock() {
        clock::stand_aside(clock);
    }
    // Programs that the test starts are not part of the protocol.
    request::forget();
    let common = page.common.load(Relaxed);
    let settled = if common == 0 { None } else { memory::settle_program(common) };
    Some((Seat { page, side, should_panic, counters, streams, gauges: OnceLock::new(), tree: None }, settled))
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

/// Reports the end and ends the process. The turn is not handed over after a failure: the tool ends the other side.
pub fn leave(seat: &Seat, end: u32) -> ! {
    seat.area().state.store(end, Release);
    sys::exit_now(0)
}

/// For the tool, which shows it.
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
