//! Probes: what an instrumented function does when it is entered and left.
//!
//! Each function has a [`Site`], switched on or off by the request in the shared [`tree`](crate::tree) when it is called for
//! the first time. An active one moves its thread through a calling-context tree, counts the call and, if it is to be timed,
//! reads the clock once on entering and once on leaving: the ticks since the thread's last reading go to the node that was
//! current. A function that calls itself stays in its node and is only counted. Self times are thus right under any recursion, and those of a thread's tree sum to its time.
//!
//! Invariants: nothing in the way of a call allocates, locks or writes what another thread writes; without a tree every
//! site is inactive and stays so; what is met for the first time may allocate, even if the allocator has probes; a guard that is dropped late, early or never leaves a sound tree behind.

// A call more would be much of what a probe costs. (Lints have reasons from Rust 1.81 on.)
#![allow(clippy::inline_always, clippy::allow_attributes_without_reason)]

mod activation;
mod arena;
mod batch;
mod cost;
mod future;
mod home;
mod lookup;
mod place;
mod process;
mod site;
mod ticks;

#[cfg(test)]
mod tests;

pub use activation::Guard;
pub use arena::Tree;
pub use future::probed;
pub use process::open;
pub use site::Site;
