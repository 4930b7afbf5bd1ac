//! Probes at the entry and exit of instrumented functions.
//!
//! Each function has a [`Site`], which is switched on or off by the request in the shared [`tree`](crate::tree) at its
//! first call. An active site moves its thread through a calling-context tree, counts the call and, if it is timed,
//! reads the clock once on entry and once on exit. The ticks since the thread's last reading go to the node that was
//! current. A function that calls itself stays in its node and is only counted. Self times are therefore exact under
//! any recursion, and those of a thread's tree add up to the thread's time.
//!
//! Invariants: the path of a call neither allocates nor locks nor writes memory that another thread writes; without a
//! tree every site is inactive and stays inactive; the first call of a site may allocate, even if the allocator has
//! probes; a guard that is dropped late, early or never leaves a consistent tree.

// An additional call would be a large part of a probe's cost. (Lints accept reasons since Rust 1.81.)
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
