//! divan's allocation profiler, which only forwards its calls.

use std::alloc::{GlobalAlloc, Layout, System};

#[derive(Debug, Default)]
pub struct AllocProfiler<Alloc = System>(Alloc);

impl AllocProfiler {
    pub const fn system() -> Self {
        Self(System)
    }
}

impl<A> AllocProfiler<A> {
    pub const fn new(alloc: A) -> Self {
        Self(alloc)
    }
}

// SAFETY: each call is forwarded unchanged.
unsafe impl<A: GlobalAlloc> GlobalAlloc for AllocProfiler<A> {
    // SAFETY: the caller's guarantees hold for the inner allocator.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.0.alloc(layout)
    }

    // SAFETY: the caller's guarantees hold for the inner allocator.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.0.alloc_zeroed(layout)
    }

    // SAFETY: the caller's guarantees hold for the inner allocator.
    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        self.0.realloc(ptr, layout, new_size)
    }

    // SAFETY: the caller's guarantees hold for the inner allocator.
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        self.0.dealloc(ptr, layout)
    }
}
