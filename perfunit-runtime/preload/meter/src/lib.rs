//! Counts what a process asks of libc's allocator: a library that the dynamic linker loads before libc.
//!
//! Rust's own allocator goes through `malloc`, `calloc`, `realloc`, `posix_memalign` and `free`, and so does what C code
//! in the process allocates. Each block is asked of libc 16 bytes longer, and its size kept in front of it: so it is known
//! how many of the bytes that were asked for are alive, without what libc rounds them up to. This changes where
//! blocks lie and how long it takes; the library is loaded to count, never while time is measured.
//!
//! Invariants: blocks that are not ours (a cookie tells) go to libc as they are; nothing here allocates or locks; a forked
//! process counts for itself. The counters are found by the address that is written over the digits of an environment
//! variable, for the runtime has nothing to link against.

#![cfg(target_os = "linux")]
#![no_std]

pub mod preloaded;

use core::ffi::{c_char, c_int, c_void};
use core::ptr::{copy_nonoverlapping, null_mut};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;
use preloaded::{mix, publish, Counters, METER};

const EINVAL: c_int = 22;
const ENOMEM: c_int = 12;
/// Every block of `malloc` is aligned so, and so long is what stands in front of it.
const ALIGNED: usize = 16;
/// More than anybody asks for; keeps the sums below from overflowing.
const LARGEST: usize = isize::MAX as usize / 2;

static COUNTERS: Counters = Counters {
    allocations: AtomicU64::new(0),
    bytes: AtomicU64::new(0),
    live: AtomicU64::new(0),
    peak: AtomicU64::new(0),
};

#[link(name = "c")]
extern "C" {
    fn __errno_location() -> *mut c_int;
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, size: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
    fn getenv(name: *const c_char) -> *mut c_char;
}

#[used]
#[link_section = ".init_array"]
static AT_LOADING: extern "C" fn() = load;

/// Says where the counters are.
extern "C" fn load() {
    // SAFETY: the name ends in zero; the environment is ours to change while only the dynamic linker's thread is there.
    unsafe { publish(getenv(METER.as_ptr()), core::ptr::addr_of!(COUNTERS) as usize) };
}

/// What stands in front of a block.
#[repr(C)]
struct Header {
    /// Bytes asked for.
    size: usize,
    /// The distance to libc's block, hidden in a cookie that depends on the place.
    cookie: usize,
}

/// What the distance to libc's block is hidden with.
fn hidden_by(place: usize) -> usize {
    mix((place as u64).wrapping_add(0x9e37_79b9_7f4a_7c15)) as usize
}

/// # Safety
///
/// The block is not null and has 16 bytes in front of it, as any block of an allocator has.
unsafe fn header(block: *mut c_void) -> *mut Header {
    // SAFETY: our caller's.
    unsafe { block.cast::<u8>().sub(ALIGNED).cast() }
}

/// The size of one of our blocks and its distance to libc's block; `None` for one that is not ours.
///
/// # Safety
///
/// As for [`header`].
unsafe fn known(block: *mut c_void) -> Option<(usize, usize)> {
    // SAFETY: our caller's; the memory in front of a block is the allocator's and can be read.
    let Header { size, cookie } = unsafe { header(block).read() };
    let distance = cookie ^ hidden_by(block as usize);
    let plausible = distance.is_power_of_two() && (ALIGNED..LARGEST).contains(&distance) && size < LARGEST;
    plausible.then_some((size, distance))
}

/// Puts the header in front of a block of libc's that has room for it, and counts; null stays null.
///
/// # Safety
///
/// The block is null, or `distance` bytes longer than `size`.
unsafe fn keep(libcs: *mut c_void, distance: usize, size: usize) -> *mut c_void {
    if libcs.is_null() {
        return libcs;
    }
    // SAFETY: there are at least 16 bytes in front of what is handed out.
    let block = unsafe {
        let block = libcs.cast::<u8>().add(distance).cast::<c_void>();
        header(block).write(Header { size, cookie: distance ^ hidden_by(block as usize) });
        block
    };
    COUNTERS.allocations.fetch_add(1, Relaxed);
    COUNTERS.bytes.fetch_add(size as u64, Relaxed);
    let live = COUNTERS.live.fetch_add(size as u64, Relaxed) + size as u64;
    COUNTERS.peak.fetch_max(live, Relaxed);
    block
}

/// Takes one of our blocks out of the books: what stood in front of it must not be found by whoever gets the place next.
///
/// # Safety
///
/// The block is ours, and of this size.
unsafe fn forget(block: *mut c_void, size: usize) {
    // SAFETY: our caller's.
    unsafe { (*header(block)).cookie = 0 };
    COUNTERS.live.fetch_sub(size as u64, Relaxed);
}

/// # Safety
///
/// This thread's.
unsafe fn fail() -> *mut c_void {
    // SAFETY: libc knows this thread.
    unsafe { *__errno_location() = ENOMEM };
    null_mut()
}

/// # Safety
///
/// As libc's, here and below.
#[no_mangle]
pub unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    // SAFETY: libc's block is longer by the header.
    unsafe {
        if size > LARGEST {
            return fail();
        }
        keep(__libc_malloc(size + ALIGNED), ALIGNED, size)
    }
}

/// # Safety
///
/// See above.
#[no_mangle]
pub unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    // SAFETY: as in `malloc`.
    unsafe {
        match count.checked_mul(size).filter(|size| *size <= LARGEST) {
            Some(size) => keep(__libc_calloc(1, size + ALIGNED), ALIGNED, size),
            None => fail(),
        }
    }
}

/// Counts as an allocation of the new size: it may be another block.
///
/// # Safety
///
/// See above.
#[no_mangle]
pub unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: null is no block; our blocks go back to libc as it gave them, others as they are.
    unsafe {
        if block.is_null() {
            return malloc(size);
        }
        let Some((before, distance)) = known(block) else { return __libc_realloc(block, size) };
        if size == 0 {
            free(block);
            return null_mut();
        }
        if size > LARGEST {
            return fail();
        }
        if distance != ALIGNED {
            let moved = malloc(size);
            if !moved.is_null() {
                copy_nonoverlapping(block.cast::<u8>(), moved.cast::<u8>(), before.min(size));
                free(block);
            }
            return moved;
        }
        forget(block, before);
        let libcs = __libc_realloc(block.cast::<u8>().sub(ALIGNED).cast(), size + ALIGNED);
        if libcs.is_null() {
            // The old block is still there.
            (*header(block)).cookie = distance ^ hidden_by(block as usize);
            COUNTERS.live.fetch_add(before as u64, Relaxed);
            return libcs;
        }
        keep(libcs, ALIGNED, size)
    }
}

/// # Safety
///
/// See above.
#[no_mangle]
pub unsafe extern "C" fn reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void {
    // SAFETY: our caller's.
    unsafe {
        match count.checked_mul(size) {
            Some(size) => realloc(block, size),
            None => fail(),
        }
    }
}

/// # Safety
///
/// See above.
#[no_mangle]
pub unsafe extern "C" fn free(block: *mut c_void) {
    // SAFETY: as in `realloc`.
    unsafe {
        if block.is_null() {
            return;
        }
        match known(block) {
            Some((size, distance)) => {
                forget(block, size);
                __libc_free(block.cast::<u8>().sub(distance).cast());
            }
            None => __libc_free(block),
        }
    }
}

/// # Safety
///
/// See above.
#[no_mangle]
pub unsafe extern "C" fn memalign(alignment: usize, size: usize) -> *mut c_void {
    // SAFETY: libc's block is longer by one alignment, in whose last 16 bytes the header lies.
    unsafe {
        let alignment = alignment.max(ALIGNED);
        if size > LARGEST || alignment > LARGEST || !alignment.is_power_of_two() {
            return fail();
        }
        keep(__libc_memalign(alignment, size + alignment), alignment, size)
    }
}

/// # Safety
///
/// See above.
#[no_mangle]
pub unsafe extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
    // SAFETY: our caller's.
    unsafe { memalign(alignment, size) }
}

/// # Safety
///
/// See above.
#[no_mangle]
pub unsafe extern "C" fn posix_memalign(place: *mut *mut c_void, alignment: usize, size: usize) -> c_int {
    if !alignment.is_power_of_two() || alignment % core::mem::size_of::<usize>() != 0 {
        return EINVAL;
    }
    // SAFETY: our caller's; libc leaves errno and the place alone if it fails, and so do we as far as it matters.
    unsafe {
        let block = memalign(alignment, size);
        if block.is_null() {
            return ENOMEM;
        }
        place.write(block);
    }
    0
}

/// No more than was asked for: what libc rounds up to is not counted, and so not to be used.
///
/// # Safety
///
/// See above. Of a block that is not ours nothing is known: 0.
#[no_mangle]
pub unsafe extern "C" fn malloc_usable_size(block: *mut c_void) -> usize {
    if block.is_null() {
        return 0;
    }
    // SAFETY: a block of some allocator.
    unsafe { known(block) }.map_or(0, |(size, _)| size)
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
