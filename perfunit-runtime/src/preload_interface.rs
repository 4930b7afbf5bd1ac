//! Interface between the runtime and the libraries that are loaded before libc. It uses only `core`; `perfunit-seeds`
//! and `perfunit-meter` share this file through symbolic links.
//!
//! There are two libraries because `perfunit-seeds` is in every timed process. A process with a wrapped allocator takes
//! another time, and its blocks have other addresses.
//! allocator's wrapper in it takes another time, and its blocks lie elsewhere.

use core::ffi::{c_char, c_void, CStr};
use core::sync::atomic::{AtomicPtr, AtomicU64};

/// Environment variable with the seed of the library in `seeds`, 16 hexadecimal digits.
pub const SEED: &CStr = c"PERFUNIT_SEED";
/// Environment variable of digits, which the library in `seeds` overwrites with the address of its [`Source`].
pub const STREAM: &CStr = c"PERFUNIT_STREAM";
/// Environment variable with sets of cores, in which the library in `seeds` replaces the sets that the tool keeps tests
/// on. Each set is a hexadecimal number with a bit for each core; all have the same number of digits, and commas
/// separate them. The first is the set that the process would have without the tool; it replaces the others.
pub const CORES: &CStr = c"PERFUNIT_CORES";
/// Environment variable of digits, which the library in `meter` overwrites with the address of its [`Counters`].
pub const METER: &CStr = c"PERFUNIT_METER";
/// Environment variable with the time in ns by which each reading advances the clock, 16 hexadecimal digits, or 0 for
/// the true clock. The library with the clock overwrites them with the address of its [`TestClock`].
pub const CLOCK: &CStr = c"PERFUNIT_CLOCK";

/// Source of all streams of random numbers. It lies on a page that the kernel clears in forked processes, which must
/// not repeat the numbers of their parent.
#[repr(C)]
pub struct Source {
    /// Seed of the streams; 0 if nothing is replaced.
    pub seed: AtomicU64,
    /// Number of threads that have a stream.
    pub threads: AtomicU64,
    /// Key under which each thread stores the state of its stream.
    pub key: AtomicU64,
}

/// State of the clock that a test reads.
#[repr(C)]
pub struct TestClock {
    /// libc's `clock_gettime`, which returns the true time.
    pub real: AtomicPtr<c_void>,
    /// Number of clock readings by the test.
    pub readings: AtomicU64,
}

/// Counters of allocations.
#[repr(C)]
pub struct Counters {
    /// Number of allocated blocks.
    pub allocations: AtomicU64,
    /// Bytes requested for them.
    pub bytes: AtomicU64,
    /// Bytes of blocks that are not freed.
    pub live: AtomicU64,
    /// Peak of `live`.
    pub peak: AtomicU64,
}

/// Overwrites the digits of a variable with an address, because the runtime cannot link against the library.
///
/// # Safety
///
/// `digits` is null or ends in a zero byte, and nothing else accesses it meanwhile.
pub unsafe fn publish(digits: *mut c_char, address: usize) {
    if digits.is_null() {
        return;
    }
    let digits = digits.cast::<u8>();
    let (mut length, mut rest) = (0, address);
    // SAFETY: the loop stops at the zero byte and writes only before it.
    unsafe {
        while *digits.add(length) != 0 {
            length += 1;
        }
        for at in (0..length).rev() {
            *digits.add(at) = b"0123456789abcdef"[rest % 16];
            rest /= 16;
        }
    }
}

/// Returns the output of `SplitMix64` for a state (Steele, Lea, Flood 2014).
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
