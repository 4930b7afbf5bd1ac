//! A thread's position in its tree: the node that gets the time, and since when.

use super::arena::bump;
use super::ticks;
use crate::tree::{Node, NO_BATCH};
use std::cell::Cell;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// A thread's position in a tree.
pub struct Thread {
    /// Time at which the running batch began, ticks, or [`NO_BATCH`].
    pub begun: Cell<Option<&'static AtomicU64>>,
    /// Nodes of the tree; empty before the thread's first active probe and after its end.
    pub nodes: Cell<&'static [Node]>,
    /// Index of the node that gets the time.
    pub current: Cell<u32>,
    /// Last clock reading, ticks.
    pub last: Cell<u64>,
    /// True while the thread requests a root, which allocates: the allocator may have a probe.
    pub settling: Cell<bool>,
}

thread_local! {
    // `const` and without a destructor, so that access is a single addition.
    pub static THREAD: Thread = const {
        Thread {
            begun: Cell::new(None),
            nodes: Cell::new(&[]),
            current: Cell::new(0),
            last: Cell::new(0),
            settling: Cell::new(false),
        }
    };
}

impl Thread {
    /// Returns the time at which the batch began, in ticks; [`NO_BATCH`] between batches and without a tree.
    #[inline(always)]
    pub fn begun(&self) -> u64 {
        self.begun.get().map_or(NO_BATCH, |begun| begun.load(Relaxed))
    }

    /// Adds the ticks since the last clock reading, as far as they are in the batch, to the current node.
    #[inline(always)]
    pub fn pass(&self, current: &Node, now: u64) {
        let since = self.last.get().max(self.begun());
        // Saturates to 0 between batches, and if another core's clock is slightly behind.
        bump(&current.self_ticks, now.saturating_sub(since));
        self.last.set(now);
    }
}

/// Ends the outermost activation of a node.
#[inline(always)]
pub fn end(node: &Node, begun: u64, now: u64) {
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

/// Ends the activations of these nodes.
pub fn end_all(thread: &Thread, nodes: &[Node], indices: impl Iterator<Item = u32>, now: u64) {
    for node in indices.map(|index| &nodes[index as usize]).filter(|node| node.started.load(Relaxed) != 0) {
        end(node, thread.begun(), now);
    }
}

/// Adds this thread's ticks up to `now` to its current node.
pub fn pass_until(now: u64) {
    THREAD.with(|thread| {
        if let Some(current) = thread.nodes.get().get(thread.current.get() as usize) {
            thread.pass(current, now);
        }
    });
}

/// Runs a closure with this thread at the first of these nodes, in a batch that began at `begun`.
pub fn elsewhere(nodes: &'static [Node], begun: &'static AtomicU64, run: impl FnOnce()) {
    THREAD.with(|thread| {
        let place = (thread.nodes.replace(nodes), thread.begun.replace(Some(begun)), thread.current.replace(0));
        let last = thread.last.replace(ticks::now());
        run();
        pass_until(ticks::now());
        thread.nodes.set(place.0);
        thread.begun.set(place.1);
        thread.current.set(place.2);
        thread.last.set(last);
    });
}
