//! Activations: a thread enters a function with a probe and leaves it.
//!
//! This is the timed path. It touches the thread's own memory, cache lines of the tree that only this thread writes,
//! and the batch's beginning, which nothing writes meanwhile. Atomics are loaded and stored but never modified in
//! place, because a locked instruction would cost as much as the clock.

use super::arena::bump;
use super::cost::{self, Costs};
use super::home::{add, settle};
use super::lookup::{self, Recent};
use super::place::{end, end_all, Thread, THREAD};
use super::process::{tree, NotYet};
use super::site::Site;
use super::ticks;
use crate::tree::{mode, Node, MOST_NODES, NO_BATCH};
use std::hint::black_box;
use std::marker::PhantomData;
use std::sync::atomic::Ordering::Relaxed;

/// Flag in [`Guard::node`]: the node was not active before.
const OUTERMOST: u32 = 1 << 31;
/// Flag in [`Guard::node`]: the probe only counts.
const COUNTED: u32 = 1 << 30;
/// Mask of [`Guard::node`] for the index.
const INDEX: u32 = MOST_NODES - 1;

thread_local! {
    /// Separate from [`THREAD`], because it consists of zeros and is large.
    static RECENT: Recent = const { Recent::new() };
}

/// An activation of a function. Dropping it leaves the function, also during unwinding.
///
/// It has two halves of a register and stays in the thread that created it.
pub struct Guard {
    /// Index of the node that was entered, with flags in its highest bits; 0 if none was entered.
    pub(super) node: u32,
    /// Index of the node to return to.
    back: u32,
    stays: PhantomData<*const ()>,
}

impl Guard {
    /// Guard without an entered node.
    const NONE: Self = Self { node: 0, back: 0, stays: PhantomData };
}

impl Drop for Guard {
    #[inline(always)]
    fn drop(&mut self) {
        if self.node != 0 {
            leave(self.node, self.back);
        }
    }
}

impl Site {
    /// Enters the function until the guard is dropped.
    // An inactive probe adds only a load, a comparison and two skipped calls to the function, so that the function
    // stays small enough to be inlined as before.
    #[inline(always)]
    pub fn enter(&'static self) -> Guard {
        if self.mode() == mode::INACTIVE {
            Guard::NONE
        } else {
            enter(self, 1)
        }
    }

    /// Enters the function again for a call that is already counted.
    #[inline(always)]
    pub(super) fn resume(&'static self) -> Guard {
        if self.mode() == mode::INACTIVE {
            Guard::NONE
        } else {
            enter(self, 0)
        }
    }
}

/// Enters a site and adds `calls` (1 or 0) to its calls.
#[inline(never)]
fn enter(site: &'static Site, calls: u64) -> Guard {
    // `with` is inlined only if it contains little; the tail call in it becomes a jump.
    THREAD.with(|thread| enter_from(thread, site, calls))
}

#[inline(never)]
fn enter_from(thread: &Thread, site: &'static Site, calls: u64) -> Guard {
    let mode = site.mode();
    let nodes = thread.nodes.get();
    let from = thread.current.get();
    // Done before the clock is read: lookup counts as the caller's time, because it is slow only for callers with many
    // callees.
    if let Some(caller) = nodes.get(from as usize) {
        if caller.key.load(Relaxed) == site.key && mode != mode::UNRESOLVED {
            return repeat(thread, caller, calls);
        }
        let hot = caller.hot.load(Relaxed);
        if let Some(node) = nodes.get(hot as usize) {
            if node.key.load(Relaxed) == site.key && mode != mode::UNRESOLVED {
                return step(thread, mode, (from, caller), (hot, node), calls);
            }
        }
    }
    enter_recent(thread, site, calls)
}

/// Counts a function's direct call of itself.
///
/// The time belongs to the same node before, during and after the call, so the clock is not read. In deep recursion,
/// readings would take ten times as long as the calls, and no constant could be subtracted for them, because processors
/// overlap them with the calls.
#[inline(always)]
fn repeat(thread: &Thread, node: &Node, calls: u64) -> Guard {
    if thread.begun() != NO_BATCH {
        bump(&node.repeats, calls);
    }
    // There is no node to leave.
    Guard::NONE
}

/// Enters a node that the caller entered recently, but not last.
#[inline(never)]
fn enter_recent(thread: &Thread, site: &'static Site, calls: u64) -> Guard {
    let mode = site.mode();
    let nodes = thread.nodes.get();
    let from = thread.current.get();
    if let (Some(caller), true) = (nodes.get(from as usize), mode != mode::UNRESOLVED) {
        let index = RECENT.with(|recent| recent.last_child(from, site.key));
        if let Some(node) = nodes.get(index as usize) {
            if node.key.load(Relaxed) == site.key {
                caller.hot.store(index, Relaxed);
                return step(thread, mode, (from, caller), (index, node), calls);
            }
        }
    }
    enter_slowly(thread, site, calls)
}

/// Moves from one node to another.
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
    // Read last, so that the function's self time contains little of the probe's own work.
    let now = ticks::now();
    if outermost {
        node.started.store(now, Relaxed);
    }
    thread.pass(caller, now);
    Guard { node: if outermost { index | OUTERMOST } else { index }, back, stays: PhantomData }
}

/// Enters a node that the caller has not entered recently, or enters the site for the first time.
#[inline(never)]
fn enter_slowly(thread: &Thread, site: &'static Site, calls: u64) -> Guard {
    let mode = match site.mode() {
        mode::UNRESOLVED => resolve(site),
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

/// Leaves a node and returns to another one; both come from a [`Guard`].
#[inline(never)]
fn leave(node: u32, back: u32) {
    if node & COUNTED != 0 {
        THREAD.with(|thread| thread.current.set(back));
    } else {
        // Read first, as the reading on entry is last.
        let now = ticks::now();
        THREAD.with(|thread| leave_at(thread, node, back, now));
    }
}

#[inline(never)]
fn leave_at(thread: &Thread, node: u32, back: u32, now: u64) {
    let nodes = thread.nodes.get();
    let index = node & INDEX;
    let (Some(left), Some(current)) = (nodes.get(index as usize), nodes.get(thread.current.get() as usize)) else {
        // The thread has already returned its root.
        return;
    };
    thread.pass(current, now);
    if thread.current.get() != index {
        leave_out_of_order(thread, nodes, index, now);
        if left.started.load(Relaxed) == 0 {
            // The node was already left together with one of its callers.
            return;
        }
    }
    if node & OUTERMOST != 0 {
        end(left, thread.begun(), now);
    }
    thread.current.set(back);
}

/// Ends activations below the node `left` that were never left, because `left` is not the current node.
#[cold]
#[inline(never)]
fn leave_out_of_order(thread: &Thread, nodes: &[Node], left: u32, now: u64) {
    let path = || lookup::path(nodes, thread.current.get());
    if path().any(|index| index == left) {
        end_all(thread, nodes, path().take_while(|index| *index != left), now);
    }
}

/// Looks up the mode of a site in the request. Returns [`mode::UNRESOLVED`] before there is a request.
#[cold]
#[inline(never)]
fn resolve(site: &Site) -> u32 {
    // The lookup allocates, and the allocator may have this probe.
    site.mode.store(mode::INACTIVE, Relaxed);
    let mode = match tree() {
        Err(NotYet) => mode::UNRESOLVED,
        Ok(Some(tree)) if site.key != 0 => {
            cost::set(measure);
            tree.mode_of(site.key)
        }
        Ok(_) => mode::INACTIVE,
    };
    site.mode.store(mode, Relaxed);
    mode
}

static TIMED: Site = Site::with_mode(1, mode::TIMING);
static COUNTED_ONLY: Site = Site::with_mode(1, mode::COUNTING);

#[inline(never)]
fn timed() {
    let _guard = TIMED.enter();
    black_box(());
}

#[inline(never)]
fn counted() {
    let _guard = COUNTED_ONLY.enter();
    black_box(());
}

#[inline(never)]
fn recursion(depth: u64) {
    let _guard = TIMED.enter();
    if black_box(depth) > 0 {
        recursion(depth - 1);
    }
    black_box(());
}

/// Measures the cost of probes in this process.
pub(super) fn measure() -> Costs {
    cost::measure(&cost::Probed { timed, counted, recursion })
}
