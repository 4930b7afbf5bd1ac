//! What the runtime and the libraries that are loaded before libc agree on. Core only: `perfunit-seeds` and `perfunit-meter`
//! have this very file, by a symbolic link.
//!
//! They are two libraries and not one because `perfunit-seeds` is in every process that is timed, and a process with an
//! allocator's wrapper in it takes another time, and its blocks lie elsewhere.

use core::ffi::{c_char, c_void, CStr};
use core::sync::atomic::{AtomicPtr, AtomicU64};

/// Environment variable: what the library in `seeds` draws from, 16 hexadecimal digits.
pub const SEED: &CStr = c"PERFUNIT_SEED";
/// Environment variable: digits over which the library in `seeds` writes where its [`Source`] is.
pub const STREAM: &CStr = c"PERFUNIT_STREAM";
/// Environment variable: sets of cores, in which the library in `seeds` replaces the sets that the tool keeps tests on. Each is a
/// hexadecimal number with a bit for each core; all have the same number of digits, and commas separate them. The first
/// is the set that the process would have without the tool; the others are replaced by it.
pub const CORES: &CStr = c"PERFUNIT_CORES";
/// Environment variable: digits over which the library in `meter` writes where its [`Counters`] are.
pub const METER: &CStr = c"PERFUNIT_METER";
/// Environment variable: by how many ns each reading of the clock advances it, 16 hexadecimal digits, or 0 for the true clock.
/// The library in `seeds` with a clock writes over them where its [`TestClock`] is.
pub const CLOCK: &CStr = c"PERFUNIT_CLOCK";

/// What all streams of random numbers come from, on a page that the kernel clears in forked processes: they must not
/// repeat ours.
#[repr(C)]
pub struct Source {
    /// 0: nothing is replaced.
    pub seed: AtomicU64,
    /// Threads that have a stream.
    pub threads: AtomicU64,
    /// The key under which each thread keeps the state of its stream.
    pub key: AtomicU64,
}

/// The clock that a test reads.
#[repr(C)]
pub struct TestClock {
    /// libc's `clock_gettime`, which shows the true time.
    pub real: AtomicPtr<c_void>,
    /// How often the test has read the clock.
    pub readings: AtomicU64,
}

/// What was asked of the allocator.
#[repr(C)]
pub struct Counters {
    /// Blocks handed out.
    pub allocations: AtomicU64,
    /// Bytes that they were asked for with.
    pub bytes: AtomicU64,
    /// Bytes of those that were not given back.
    pub live: AtomicU64,
    /// The most that `live` has been.
    pub peak: AtomicU64,
}

/// Writes an address over the digits of a variable: the runtime has nothing to link against.
///
/// # Safety
///
/// `digits` is null or ends in a zero byte, and nobody else reads or writes it meanwhile.
pub unsafe fn publish(digits: *mut c_char, address: usize) {
    if digits.is_null() {
        return;
    }
    let digits = digits.cast::<u8>();
    let (mut length, mut rest) = (0, address);
    // SAFETY: stops at the zero byte, and writes only before it.
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

/// The output function of `SplitMix64`.
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
