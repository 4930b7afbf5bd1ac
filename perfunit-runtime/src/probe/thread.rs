//! Where a thread is in its tree: entering and leaving nodes.
//!
//! This is the timed path. It touches the thread's own memory, lines of the tree that only this thread writes, and when the
//! batch began, which nobody writes meanwhile. Atomics are loaded and stored and never modified in place: a locked
//! instruction would cost as much as the clock.

use super::arena::bump;
use super::home::{add, settle};
use super::lookup::{self, Recent};
use super::site::{Guard, Site};
use super::ticks;
use crate::tree::{mode, Node, MOST_NODES, NO_BATCH};
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// In [`Guard::node`]: the node was not active before.
const OUTERMOST: u32 = 1 << 31;
/// In [`Guard::node`]: the probe only counts.
const COUNTED: u32 = 1 << 30;
/// In [`Guard::node`]: the index itself.
const INDEX: u32 = MOST_NODES - 1;

/// A thread's place in a tree.
pub struct Thread {
    /// When the running batch began, ticks, or [`NO_BATCH`].
    pub begun: Cell<Option<&'static AtomicU64>>,
    /// None before the thread's first active probe and after its end.
    pub nodes: Cell<&'static [Node]>,
    /// Index of the node whose time is running.
    pub current: Cell<u32>,
    /// The last clock reading, ticks.
    pub last: Cell<u64>,
    /// True while a root is being fetched, which allocates: the allocator may have a probe.
    pub settling: Cell<bool>,
}

thread_local! {
    // Constant and without a destructor, so that reaching it takes an addition and no question.
    pub static THREAD: Thread = const {
        Thread {
            begun: Cell::new(None),
            nodes: Cell::new(&[]),
            current: Cell::new(0),
            last: Cell::new(0),
            settling: Cell::new(false),
        }
    };
    /// By itself, because it is zeros and large.
    static RECENT: Recent = const { Recent::new() };
}

impl Thread {
    /// When the batch began, ticks; [`NO_BATCH`] between batches and without a tree.
    #[inline(always)]
    fn begun(&self) -> u64 {
        self.begun.get().map_or(NO_BATCH, |begun| begun.load(Relaxed))
    }

    /// Gives the ticks since the last clock reading, as far as they are in the batch, to the node that is current.
    #[inline(always)]
    pub fn pass(&self, current: &Node, now: u64) {
        let since = self.last.get().max(self.begun());
        // Between batches nothing is later than the beginning; nor is another core's clock, if it is a little behind.
        bump(&current.self_ticks, now.saturating_sub(since));
        self.last.set(now);
    }
}

/// Enters a site, whose `calls` go up by 1 or 0.
#[inline(never)]
pub fn enter(site: &'static Site, calls: u64) -> Guard {
    // `with` is inlined only if little is in it: what it calls is called last, which is a jump.
    THREAD.with(|thread| enter_from(thread, site, calls))
}

#[inline(never)]
fn enter_from(thread: &Thread, site: &'static Site, calls: u64) -> Guard {
    let mode = site.mode();
    let nodes = thread.nodes.get();
    let from = thread.current.get();
    // Before the clock is read: looking up is the caller's time, for it is the caller's many callees that take long.
    if let Some(caller) = nodes.get(from as usize) {
        let hot = caller.hot.load(Relaxed);
        if let Some(node) = nodes.get(hot as usize) {
            if node.key.load(Relaxed) == site.key && mode != mode::UNRESOLVED {
                return step(thread, mode, (from, caller), (hot, node), calls);
            }
        }
    }
    enter_recent(thread, site, calls)
}

/// Enters where the caller went lately, if not last.
#[inline(never)]
fn enter_recent(thread: &Thread, site: &'static Site, calls: u64) -> Guard {
    let mode = site.mode();
    let nodes = thread.nodes.get();
    let from = thread.current.get();
    if let (Some(caller), true) = (nodes.get(from as usize), mode != mode::UNRESOLVED) {
        let index = RECENT.with(|recent| recent.led(from, site.key));
        if let Some(node) = nodes.get(index as usize) {
            if node.key.load(Relaxed) == site.key {
                caller.hot.store(index, Relaxed);
                return step(thread, mode, (from, caller), (index, node), calls);
            }
        }
    }
    enter_slowly(thread, site, calls)
}

/// Moves from a node to another one.
#[inline(always)]
fn step(thread: &Thread, mode: u32, from: (u32, &Node), to: (u32, &Node), calls: u64) -> Guard {
    let (back, caller) = from;
    let (index, node) = to;
    let begun = thread.begun();
    let calls = if begun == NO_BATCH { 0 } else { calls };
    bump(&node.calls, calls);
    if node.parent.load(Relaxed) != back {
        bump(&node.recursions, calls);
    }
    thread.current.set(index);
    if mode == mode::COUNTING {
        return Guard { node: index | COUNTED, back, stays: PhantomData };
    }
    let outermost = node.started.load(Relaxed) == 0;
    // Last of all, so that the function's self time holds little of what we do.
    let now = ticks::now();
    if outermost {
        node.started.store(now, Relaxed);
    }
    thread.pass(caller, now);
    Guard { node: if outermost { index | OUTERMOST } else { index }, back, stays: PhantomData }
}

/// Enters where the caller has not been for long, or what is met for the first time.
#[inline(never)]
fn enter_slowly(thread: &Thread, site: &'static Site, calls: u64) -> Guard {
    let mode = match site.mode() {
        mode::UNRESOLVED => site.resolve(),
        known => known,
    };
    if !matches!(mode, mode::COUNTING | mode::TIMING) || (thread.nodes.get().is_empty() && !settle()) {
        return Guard::NONE;
    }
    let nodes = thread.nodes.get();
    let from = thread.current.get();
    let Some(index) = lookup::find(nodes, from, site.key).or_else(|| add(from, site.key)) else { return Guard::NONE };
    RECENT.with(|recent| recent.remember(from, site.key, index));
    let (caller, node) = (&nodes[from as usize], &nodes[index as usize]);
    caller.hot.store(index, Relaxed);
    step(thread, mode, (from, caller), (index, node), calls)
}

/// Leaves a node and goes back to another one; both are of a [`Guard`].
#[inline(never)]
pub fn leave(node: u32, back: u32) {
    if node & COUNTED != 0 {
        THREAD.with(|thread| thread.current.set(back));
    } else {
        // First of all, as on entering it was the last.
        let now = ticks::now();
        THREAD.with(|thread| leave_at(thread, node, back, now));
    }
}

#[inline(never)]
fn leave_at(thread: &Thread, node: u32, back: u32, now: u64) {
    let nodes = thread.nodes.get();
    let index = node & INDEX;
    let (Some(left), Some(current)) = (nodes.get(index as usize), nodes.get(thread.current.get() as usize)) else {
        // The thread has given its tree back.
        return;
    };
    thread.pass(current, now);
    if thread.current.get() != index {
        leave_out_of_order(thread, nodes, index, now);
        if left.started.load(Relaxed) == 0 {
            // It was left with one of its callers.
            return;
        }
    }
    if node & OUTERMOST != 0 {
        end(left, thread.begun(), now);
    }
    thread.current.set(back);
}

/// Ends the outermost activation of a node.
#[inline(always)]
fn end(node: &Node, begun: u64, now: u64) {
    let started = node.started.load(Relaxed).max(begun);
    node.started.store(0, Relaxed);
    if begun == NO_BATCH {
        return;
    }
    let ticks = now.saturating_sub(started);
    bump(&node.total_ticks, ticks);
    if ticks < node.shortest.load(Relaxed) {
        node.shortest.store(ticks, Relaxed);
    }
    let squares = f64::from_bits(node.squares.load(Relaxed));
    let ticks = ticks as f64;
    node.squares.store((squares + ticks * ticks).to_bits(), Relaxed);
}

/// The node that is left is not the current one: ends what was entered below it and never left.
#[cold]
#[inline(never)]
fn leave_out_of_order(thread: &Thread, nodes: &[Node], left: u32, now: u64) {
    let path = || lookup::path(nodes, thread.current.get());
    if path().any(|index| index == left) {
        end_all(thread, nodes, path().take_while(|index| *index != left), now);
    }
}

/// Ends the activations of these nodes.
pub fn end_all(thread: &Thread, nodes: &[Node], indices: impl Iterator<Item = u32>, now: u64) {
    for node in indices.map(|index| &nodes[index as usize]).filter(|node| node.started.load(Relaxed) != 0) {
        end(node, thread.begun(), now);
    }
}
