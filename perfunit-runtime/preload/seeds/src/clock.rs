//! A clock for tests that run until a time has passed: it advances by one step at each reading.
//!
//! Such a test does as much as its time allows, and takes as long in all versions. By a clock of this kind both sides of a
//! pair read it equally often, and so do the same work. The library with the clock is loaded in the place of the one without
//! it, and never where a test reads the true clock while it is timed.

use crate::kernel::enter;
use crate::libc::{dlsym, getenv, hexadecimal, outcome, RTLD_NEXT};
use crate::preloaded::{publish, TestClock, CLOCK};
use core::ffi::{c_int, c_long, c_void};
use core::ptr::{addr_of, null_mut};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU64};

#[cfg(target_arch = "x86_64")]
const SYS_CLOCK_GETTIME: c_long = 228;
#[cfg(target_arch = "aarch64")]
const SYS_CLOCK_GETTIME: c_long = 113;
const SECOND: u64 = 1_000_000_000;
/// Clocks that the kernel knows by a number from 0.
const CLOCKS: usize = 12;

/// `struct timespec` on the 64-bit platforms that we serve.
#[repr(C)]
pub struct Timespec {
    seconds: u64,
    nanoseconds: u64,
}

/// libc's `clock_gettime`.
///
/// # Safety
///
/// A `Timespec` can be written there.
type ClockGettime = unsafe extern "C" fn(c_int, *mut Timespec) -> c_int;

static STATE: TestClock = TestClock { real: AtomicPtr::new(null_mut()), readings: AtomicU64::new(0) };
/// By how many ns a reading advances all clocks; 0 leaves them as they are.
static STEP: AtomicU64 = AtomicU64::new(0);
/// What each clock would have shown before the first reading of any; 0 for one that was not read yet.
static BEGINNINGS: [AtomicU64; CLOCKS] = {
    #[allow(clippy::declare_interior_mutable_const)]
    const UNREAD: AtomicU64 = AtomicU64::new(0);
    [UNREAD; CLOCKS]
};

#[used]
#[link_section = ".init_array"]
static AT_LOADING: extern "C" fn() = load;

/// Finds libc's clock, reads the step, and says where the state is.
extern "C" fn load() {
    // SAFETY: names end in zero; the environment is ours to change while only the dynamic linker's thread is there.
    unsafe {
        let step = getenv(CLOCK.as_ptr());
        STEP.store(hexadecimal(step), Relaxed);
        STATE.real.store(dlsym(RTLD_NEXT, c"clock_gettime".as_ptr()), Release);
        publish(step, addr_of!(STATE) as usize);
    }
}

/// # Safety
///
/// As libc's.
#[no_mangle]
pub unsafe extern "C" fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int {
    let real = STATE.real.load(Acquire);
    if real.is_null() {
        // SAFETY: the call that libc's function would stand for.
        return outcome(unsafe { enter(SYS_CLOCK_GETTIME, [clock.into(), time as c_long, 0, 0, 0, 0]) }) as c_int;
    }
    // SAFETY: libc's function of this name, with our caller's arguments; what it has written can be read and written again.
    unsafe {
        let result = core::mem::transmute::<*mut c_void, ClockGettime>(real)(clock, time);
        if result == 0 {
            advance(clock, &mut *time);
        }
        result
    }
}

/// Counts a reading, and replaces the true time by the stepped one.
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
