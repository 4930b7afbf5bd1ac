//! A clock for tests that run until a time has passed: each reading advances it by one step.
//!
//! Such a test does as much work as its time allows, and takes equally long in all versions. With this clock, both
//! sides of a pair read it equally often and thus do the same work. The library with the clock replaces the one without
//! it, and is never loaded for tests that read the true clock while they are timed.

use crate::kernel::enter;
use crate::libc::{dlsym, getenv, hexadecimal, outcome, RTLD_NEXT};
use crate::preload_interface::{publish, TestClock, CLOCK};
use core::ffi::{c_int, c_long, c_void};
use core::ptr::{addr_of, null_mut};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU64};

#[cfg(target_arch = "x86_64")]
const SYS_CLOCK_GETTIME: c_long = 228;
#[cfg(target_arch = "aarch64")]
const SYS_CLOCK_GETTIME: c_long = 113;
const SECOND: u64 = 1_000_000_000;
/// Number of clocks with a fixed number, starting at 0.
const CLOCKS: usize = 12;

/// `struct timespec` on the supported 64-bit platforms.
#[repr(C)]
pub struct Timespec {
    seconds: u64,
    nanoseconds: u64,
}

/// Type of libc's `clock_gettime`.
///
/// # Safety
///
/// `time` points to a writable `Timespec`.
type ClockGettime = unsafe extern "C" fn(c_int, *mut Timespec) -> c_int;

static STATE: TestClock = TestClock { real: AtomicPtr::new(null_mut()), readings: AtomicU64::new(0) };
/// Time by which each reading advances all clocks, ns; 0 leaves them unchanged.
static STEP: AtomicU64 = AtomicU64::new(0);
/// Time of each clock before the first reading of any clock; 0 for a clock that was not read yet.
static BEGINNINGS: [AtomicU64; CLOCKS] = {
    #[allow(clippy::declare_interior_mutable_const)]
    const UNREAD: AtomicU64 = AtomicU64::new(0);
    [UNREAD; CLOCKS]
};

#[used]
#[link_section = ".init_array"]
static AT_LOADING: extern "C" fn() = load;

/// Finds libc's clock, reads the step, and publishes the address of the state.
extern "C" fn load() {
    // SAFETY: names end in a zero byte; while only the dynamic linker's thread exists, the environment may be changed.
    unsafe {
        let step = getenv(CLOCK.as_ptr());
        STEP.store(hexadecimal(step), Relaxed);
        STATE.real.store(dlsym(RTLD_NEXT, c"clock_gettime".as_ptr()), Release);
        publish(step, addr_of!(STATE) as usize);
    }
}

/// Replaces libc's function: calls it, counts the reading, and replaces the time.
///
/// # Safety
///
/// The same as for libc's function.
#[no_mangle]
pub unsafe extern "C" fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int {
    let real = STATE.real.load(Acquire);
    if real.is_null() {
        // SAFETY: the system call that libc's function would make.
        return outcome(unsafe { enter(SYS_CLOCK_GETTIME, [clock.into(), time as c_long, 0, 0, 0, 0]) }) as c_int;
    }
    // SAFETY: libc's function of this name with the caller's arguments; the time that it has written is readable and
    // writable.
    unsafe {
        let result = core::mem::transmute::<*mut c_void, ClockGettime>(real)(clock, time);
        if result == 0 {
            advance(clock, &mut *time);
        }
        result
    }
}

/// Counts a reading and replaces the true time by the stepped one.
fn advance(clock: c_int, time: &mut Timespec) {
    let readings = STATE.readings.fetch_add(1, Relaxed) + 1;
    let step = STEP.load(Relaxed);
    let Some(beginning) = usize::try_from(clock).ok().and_then(|clock| BEGINNINGS.get(clock)) else { return };
    if step == 0 {
        return;
    }
    let passed = readings.wrapping_mul(step);
    let now = time.seconds.wrapping_mul(SECOND).wrapping_add(time.nanoseconds);
    let first = now.wrapping_sub(passed).max(1);
    let began = match beginning.compare_exchange(0, first, Relaxed, Relaxed) {
        Ok(_) => first,
        Err(known) => known,
    };
    let stepped = began.wrapping_add(passed);
    (time.seconds, time.nanoseconds) = (stepped / SECOND, stepped % SECOND);
}
