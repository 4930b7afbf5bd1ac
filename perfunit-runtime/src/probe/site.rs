//! A function with a probe: its key, and the requested mode of its probe.

use crate::tree::mode;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// A function with a probe; each has one static.
pub struct Site {
    /// Key of the function in both versions; a site with key 0 is never active.
    pub(super) key: u64,
    /// A value of [`mode`].
    pub(super) mode: AtomicU32,
}

impl Site {
    /// Creates a site that looks up its mode at its first call.
    pub const fn new(key: u64) -> Self {
        Self::with_mode(key, mode::UNRESOLVED)
    }

    /// Creates a site with a known mode.
    pub(super) const fn with_mode(key: u64, mode: u32) -> Self {
        Self { key, mode: AtomicU32::new(mode) }
    }

    /// Returns a value of [`mode`].
    #[inline(always)]
    pub(super) fn mode(&self) -> u32 {
        self.mode.load(Relaxed)
    }
}
