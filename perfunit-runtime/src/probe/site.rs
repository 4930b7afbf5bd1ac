//! A function with a probe: its name, and what its probe was asked to do.

use crate::tree::mode;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// A function with a probe: a static of its own.
pub struct Site {
    /// Names the function in both versions; 0 is never active.
    pub(super) key: u64,
    /// One of [`mode`].
    pub(super) mode: AtomicU32,
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
}
