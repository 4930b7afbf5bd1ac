//! Counts calls of libc's allocator, as a library that the dynamic linker loads before libc.
//!
//! Rust's own allocator uses `malloc`, `calloc`, `realloc`, `posix_memalign` and `free`, as does C code in the process.
//! Each block is requested from libc with 16 additional bytes, which store its size in front of it. Thus the live bytes
//! are known as requested, without libc's rounding. This changes the addresses of blocks and the time of allocations,
//! so the library is loaded only to count and never while time is measured.
//!
//! Invariants: blocks of other allocators (recognized by a missing cookie) go to libc unchanged; nothing here allocates
//! or locks; a forked process counts for itself. The address of the counters overwrites the digits of an environment
//! variable, because the runtime cannot link against this library.

#![cfg(target_os = "linux")]
#![no_std]

pub mod preload_interface;

use core::ffi::{c_char, c_int, c_void};
use core::ptr::{copy_nonoverlapping, null_mut};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;
use preload_interface::{mix, publish, Counters, METER};

const EINVAL: c_int = 22;
const ENOMEM: c_int = 12;
/// Alignment of every block of `malloc`, and length of the header in front of it.
const ALIGNED: usize = 16;
/// Largest accepted size; keeps the sums below from overflowing.
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

/// Publishes the address of the counters.
extern "C" fn load() {
    // SAFETY: the name ends in a zero byte; while only the dynamic linker's thread exists, the environment may be
    // changed.
    unsafe { publish(getenv(METER.as_ptr()), core::ptr::addr_of!(COUNTERS) as usize) };
}

/// Header in front of a block.
#[repr(C)]
struct Header {
    /// Requested size in bytes.
    size: usize,
    /// Distance to libc's block, hidden in a cookie that depends on the address.
    cookie: usize,
}

/// Returns the mask that hides the distance to libc's block.
fn hidden_by(place: usize) -> usize {
    mix((place as u64).wrapping_add(0x9e37_79b9_7f4a_7c15)) as usize
}

/// Returns the header in front of a block.
///
/// # Safety
///
/// The block is not null and has 16 bytes in front of it, as every allocator's block does.
unsafe fn header(block: *mut c_void) -> *mut Header {
    // SAFETY: the caller guarantees the bytes in front of the block.
    unsafe { block.cast::<u8>().sub(ALIGNED).cast() }
}

/// Returns the size of one of our blocks and its distance to libc's block; `None` for a block of another allocator.
///
/// # Safety
///
/// The same as for [`header`].
unsafe fn known(block: *mut c_void) -> Option<(usize, usize)> {
    // SAFETY: the caller guarantees the block; the memory in front of it belongs to the allocator and is readable.
    let Header { size, cookie } = unsafe { header(block).read() };
    let distance = cookie ^ hidden_by(block as usize);
    let plausible = distance.is_power_of_two() && (ALIGNED..LARGEST).contains(&distance) && size < LARGEST;
    plausible.then_some((size, distance))
}

/// Writes the header in front of libc's block and counts the allocation. Null stays null.
///
/// # Safety
///
/// The block is null, or at least `distance` bytes longer than `size`.
unsafe fn keep(libcs: *mut c_void, distance: usize, size: usize) -> *mut c_void {
    if libcs.is_null() {
        return libcs;
    }
    // SAFETY: there are at least 16 bytes in front of the returned block.
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

/// Removes one of our blocks from the counters and clears its header, which the next owner of the memory must not find.
///
/// # Safety
///
/// The block is ours and has this size.
unsafe fn forget(block: *mut c_void, size: usize) {
    // SAFETY: the caller guarantees the block.
    unsafe { (*header(block)).cookie = 0 };
    COUNTERS.live.fetch_sub(size as u64, Relaxed);
}

/// Returns null and sets `errno` to `ENOMEM`.
///
/// # Safety
///
/// The calling thread is known to libc.
unsafe fn fail() -> *mut c_void {
    // SAFETY: libc has an `errno` for this thread.
    unsafe { *__errno_location() = ENOMEM };
    null_mut()
}

/// Replaces libc's function, and counts the allocation.
///
/// # Safety
///
/// The same as for libc's function. This also holds for the functions below.
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

/// Replaces libc's function, and counts the allocation.
///
/// # Safety
///
/// See `malloc`.
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

/// Counts as an allocation of the new size, because the block may move.
///
/// # Safety
///
/// See `malloc`.
#[no_mangle]
pub unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: null is handled first; our blocks return to libc at their original address, others unchanged.
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
            // The old block still exists.
            (*header(block)).cookie = distance ^ hidden_by(block as usize);
            COUNTERS.live.fetch_add(before as u64, Relaxed);
            return libcs;
        }
        keep(libcs, ALIGNED, size)
    }
}

/// Replaces libc's function; counts like [`realloc`].
///
/// # Safety
///
/// See `malloc`.
#[no_mangle]
pub unsafe extern "C" fn reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void {
    // SAFETY: the caller guarantees the arguments.
    unsafe {
        match count.checked_mul(size) {
            Some(size) => realloc(block, size),
            None => fail(),
        }
    }
}

/// Replaces libc's function. Blocks of other allocators are passed on.
///
/// # Safety
///
/// See `malloc`.
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

/// Replaces libc's function, and counts the allocation.
///
/// # Safety
///
/// See `malloc`.
#[no_mangle]
pub unsafe extern "C" fn memalign(alignment: usize, size: usize) -> *mut c_void {
    // SAFETY: libc's block is longer by one alignment, and the last 16 bytes of it hold the header.
    unsafe {
        let alignment = alignment.max(ALIGNED);
        if size > LARGEST || alignment > LARGEST || !alignment.is_power_of_two() {
            return fail();
        }
        keep(__libc_memalign(alignment, size + alignment), alignment, size)
    }
}

/// Replaces libc's function; counts like [`memalign`].
///
/// # Safety
///
/// See `malloc`.
#[no_mangle]
pub unsafe extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
    // SAFETY: the caller guarantees the arguments.
    unsafe { memalign(alignment, size) }
}

/// Replaces libc's function; counts like [`memalign`].
///
/// # Safety
///
/// See `malloc`.
#[no_mangle]
pub unsafe extern "C" fn posix_memalign(place: *mut *mut c_void, alignment: usize, size: usize) -> c_int {
    if !alignment.is_power_of_two() || alignment % core::mem::size_of::<usize>() != 0 {
        return EINVAL;
    }
    // SAFETY: the caller guarantees the arguments. On failure `place` stays unchanged, as with libc.
    unsafe {
        let block = memalign(alignment, size);
        if block.is_null() {
            return ENOMEM;
        }
        place.write(block);
    }
    0
}

/// Returns the requested size. The additional bytes of libc's rounding are not counted, so they must not be used.
///
/// # Safety
///
/// See `malloc`. For a block of another allocator the size is unknown: 0.
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
