//! Random numbers for the children that we fork: each its own, the n-th child of base and the n-th of head the same.
//!
//! The library in `seeds` stops replacing what the kernel answers in a forked process. It says where its streams come
//! from, and so a child of ours can start them anew.

use crate::preloaded::Source;
use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null;
use std::sync::atomic::Ordering::Relaxed;

extern "C" {
    fn pthread_setspecific(key: c_uint, value: *const c_void) -> c_int;
}

/// The library's streams as they are before the fork.
pub struct Streams {
    source: &'static Source,
    seed: u64,
    key: u64,
}

impl Streams {
    /// Those of the library that wrote this address into our environment.
    pub fn find(address: Option<usize>) -> Option<Self> {
        // SAFETY: a page of that library, which is never unmapped and consists of atomics.
        let source = unsafe { &*(address? as *const Source) };
        Some(Self { source, seed: source.seed.load(Relaxed), key: source.key.load(Relaxed) })
    }

    /// Starts the streams of the child with this number, for the calling thread of a forked child.
    pub fn restart(&self, number: u64) {
        // Any bijection of the number does: the library mixes the bits of what it is given.
        self.start((self.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).max(1));
    }

    /// Starts the streams of this seed, for the calling thread of a forked child; 0 leaves the kernel's random numbers.
    pub fn start(&self, seed: u64) {
        self.source.seed.store(seed, Relaxed);
        self.source.threads.store(0, Relaxed);
        self.source.key.store(self.key, Relaxed);
        // SAFETY: the library's own key; its values are numbers, and none means "no stream yet".
        unsafe { pthread_setspecific(self.key as c_uint, null()) };
    }
}
