//! A function with a probe, and an activation of it.

use super::{cost, thread, tree, NotYet};
use crate::tree::mode;
use std::marker::PhantomData;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// A function with a probe: a static of its own.
pub struct Site {
    /// Names the function in both versions; 0 is never active.
    pub(super) key: u64,
    /// One of [`mode`].
    mode: AtomicU32,
}

impl Site {
    /// A probe that looks up what it shall do when it is met first.
    pub const fn new(key: u64) -> Self {
        Self::with_mode(key, mode::UNRESOLVED)
    }

    /// A probe that need not look up what it shall do.
    pub(super) const fn with_mode(key: u64, mode: u32) -> Self {
        Self { key, mode: AtomicU32::new(mode) }
    }

    /// One of [`mode`].
    #[inline(always)]
    pub(super) fn mode(&self) -> u32 {
        self.mode.load(Relaxed)
    }

    /// Enters the function until the guard is dropped.
    // In the function itself stand only a load, a comparison and two calls that an inactive probe jumps over: it shall still
    // be small enough to be inlined where it was without a probe.
    #[inline(always)]
    pub fn enter(&'static self) -> Guard {
        if self.mode() == mode::INACTIVE {
            Guard::NONE
        } else {
            thread::enter(self, 1)
        }
    }

    /// Enters it once more for a call that has been counted.
    #[inline(always)]
    pub(super) fn resume(&'static self) -> Guard {
        if self.mode() == mode::INACTIVE {
            Guard::NONE
        } else {
            thread::enter(self, 0)
        }
    }

    /// Looks up in the request what to do, and returns it; [`mode::UNRESOLVED`] before there is a request.
    #[cold]
    #[inline(never)]
    pub(super) fn resolve(&self) -> u32 {
        // Looking up allocates, and the allocator may have this very probe.
        self.mode.store(mode::INACTIVE, Relaxed);
        let mode = match tree() {
            Err(NotYet) => mode::UNRESOLVED,
            Ok(Some(tree)) if self.key != 0 => {
                tree.measure.get_or_init(|| cost::measure);
                tree.mode_of(self.key)
            }
            Ok(_) => mode::INACTIVE,
        };
        self.mode.store(mode, Relaxed);
        mode
    }
}

/// An activation of a function. Dropping it leaves the function, also when a panic unwinds it.
///
/// Two halves of a register; it stays in the thread that made it.
pub struct Guard {
    /// Index of the node that was entered, with marks in its highest bits; 0 if none was.
    pub(super) node: u32,
    /// Index of the node to go back to.
    pub(super) back: u32,
    pub(super) stays: PhantomData<*const ()>,
}

impl Guard {
    /// Nothing was entered.
    pub(super) const NONE: Self = Self { node: 0, back: 0, stays: PhantomData };
}

impl Drop for Guard {
    #[inline(always)]
    fn drop(&mut self) {
        if self.node != 0 {
            thread::leave(self.node, self.back);
        }
    }
}
