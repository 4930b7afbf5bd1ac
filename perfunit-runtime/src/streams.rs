//! Random numbers for forked children: each child gets its own, and the n-th children of base and head get the same.
//!
//! The library in `seeds` stops replacing the kernel's random numbers in a forked process. It publishes the address of
//! its streams, so that a child can restart them.

use crate::preload_interface::Source;
use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null;
use std::sync::atomic::Ordering::Relaxed;

extern "C" {
    fn pthread_setspecific(key: c_uint, value: *const c_void) -> c_int;
}

/// State of the library's streams before the fork.
pub struct Streams {
    source: &'static Source,
    seed: u64,
    key: u64,
}

impl Streams {
    /// Returns the streams of the library that published this address in our environment.
    pub fn find(address: Option<usize>) -> Option<Self> {
        // SAFETY: a page of the library, which is never unmapped and consists of atomics.
        let source = unsafe { &*(address? as *const Source) };
        Some(Self { source, seed: source.seed.load(Relaxed), key: source.key.load(Relaxed) })
    }

    /// Starts the streams of the child with this number, for the calling thread of a forked child.
    pub fn restart(&self, number: u64) {
        // Any bijection of the number suffices, because the library mixes the bits.
        self.start((self.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).max(1));
    }

    /// Starts the streams of this seed, for the calling thread of a forked child; 0 for the kernel's random numbers.
    pub fn start(&self, seed: u64) {
        self.source.seed.store(seed, Relaxed);
        self.source.threads.store(0, Relaxed);
        self.source.key.store(self.key, Relaxed);
        // SAFETY: the library's own key; its values are numbers, and null means "no stream yet".
        unsafe { pthread_setspecific(self.key as c_uint, null()) };
    }
}
