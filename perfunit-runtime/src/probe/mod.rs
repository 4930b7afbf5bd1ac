//! Probes: what an instrumented function does when it is entered and left.
//!
//! Each function has a [`Site`], switched on or off by the request in the shared [`tree`](crate::tree) when it is called for
//! the first time. An active one moves its thread through a calling-context tree, counts the call and, if it is to be timed,
//! reads the clock once on entering and once on leaving: the ticks since the thread's last reading go to the node that was
//! current. Self times are thus right under any recursion, and those of a thread's tree sum to its time.
//!
//! Invariants: nothing in the way of a call allocates, locks or writes what another thread writes; without a tree every
//! site is inactive and stays so; what is met for the first time may allocate, even if the allocator has probes; a guard that is dropped late, early or never leaves a sound tree behind.

// A call more would be much of what a probe costs. (Lints have reasons from Rust 1.81 on.)
#![allow(clippy::inline_always, clippy::allow_attributes_without_reason)]

mod arena;
mod cost;
mod future;
mod home;
mod lookup;
mod site;
mod thread;
mod ticks;

#[cfg(test)]
mod tests;

pub use arena::Tree;
pub use future::probed;
pub use site::{Guard, Site};

use crate::page::SERVE_VARIABLE;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::OnceLock;

/// The tree of this process; empty until it is known whether there is one.
static TREE: OnceLock<Option<Tree>> = OnceLock::new();
/// True once it is known that the process will serve.
static WILL_SERVE: AtomicBool = AtomicBool::new(false);

/// Maps the tree that the tool shares, or, without a descriptor, switches all probes off. The first call counts.
pub fn open(descriptor: Option<i32>) -> Option<&'static Tree> {
    TREE.get_or_init(|| descriptor.and_then(Tree::open)).as_ref()
}

/// The tree; `Err` as long as the process may yet get one: the test's own probe is met before the page is mapped.
fn tree() -> Result<Option<&'static Tree>, NotYet> {
    if let Some(tree) = TREE.get() {
        return Ok(tree.as_ref());
    }
    if WILL_SERVE.load(Relaxed) || std::env::var_os(SERVE_VARIABLE).is_some() {
        WILL_SERVE.store(true, Relaxed);
        return Err(NotYet);
    }
    Ok(open(None))
}

/// The request has not been read yet.
struct NotYet;
