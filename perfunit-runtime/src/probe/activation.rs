//! Activations: a thread enters a function with a probe and leaves it again.
//!
//! This is the timed path. It touches the thread's own memory, lines of the tree that only this thread writes, and when the
//! batch began, which nobody writes meanwhile. Atomics are loaded and stored and never modified in place: a locked
//! instruction would cost as much as the clock.

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

/// In [`Guard::node`]: the node was not active before.
const OUTERMOST: u32 = 1 << 31;
/// In [`Guard::node`]: the probe only counts.
const COUNTED: u32 = 1 << 30;
/// In [`Guard::node`]: the index itself.
const INDEX: u32 = MOST_NODES - 1;

thread_local! {
    /// By itself, because it is zeros and large.
    static RECENT: Recent = const { Recent::new() };
}

/// An activation of a function. Dropping it leaves the function, also when a panic unwinds it.
///
/// Two halves of a register; it stays in the thread that made it.
pub struct Guard {
    /// Index of the node that was entered, with marks in its highest bits; 0 if none was.
    pub(super) node: u32,
    /// Index of the node to go back to.
    back: u32,
    stays: PhantomData<*const ()>,
}

impl Guard {
    /// Nothing was entered.
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
    // In the function itself stand only a load, a comparison and two calls that an inactive probe jumps over: it shall still
    // be small enough to be inlined where it was without a probe.
    #[inline(always)]
    pub fn enter(&'static self) -> Guard {
        if self.mode() == mode::INACTIVE {
            Guard::NONE
        } else {
            enter(self, 1)
        }
    }

    /// Enters it once more for a call that has been counted.
    #[inline(always)]
    pub(super) fn resume(&'static self) -> Guard {
        if self.mode() == mode::INACTIVE {
            Guard::NONE
        } else {
            enter(self, 0)
        }
    }
}

/// Enters a site, whose `calls` go up by 1 or 0.
#[inline(never)]
fn enter(site: &'static Site, calls: u64) -> Guard {
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

/// Counts a call that a function makes of itself.
///
/// The time is the same node's before, during and after the call, so no clock is read: in a deep recursion readings would
/// take ten times as long as the calls, and no constant can be subtracted for them, as processors overlap them with the calls.
#[inline(always)]
fn repeat(thread: &Thread, node: &Node, calls: u64) -> Guard {
    if thread.begun() != NO_BATCH {
        bump(&node.repeats, calls);
    }
    // Nothing to leave.
    Guard::NONE
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

/// Leaves a node and goes back to another one; both are of a [`Guard`].
#[inline(never)]
fn leave(node: u32, back: u32) {
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

/// The node that is left is not the current one: ends what was entered below it and never left.
#[cold]
#[inline(never)]
fn leave_out_of_order(thread: &Thread, nodes: &[Node], left: u32, now: u64) {
    let path = || lookup::path(nodes, thread.current.get());
    if path().any(|index| index == left) {
        end_all(thread, nodes, path().take_while(|index| *index != left), now);
    }
}

/// Looks up in the request what a site is to do, and returns it; [`mode::UNRESOLVED`] before there is a request.
#[cold]
#[inline(never)]
fn resolve(site: &Site) -> u32 {
    // Looking up allocates, and the allocator may have this very probe.
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

/// Measures what probes cost here.
pub(super) fn measure() -> Costs {
    cost::measure(&cost::Probed { timed, counted, recursion })
}
