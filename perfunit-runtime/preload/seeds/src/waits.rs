//! Notes how the programs ended that this process waits for. The kernel reports their CPU time only to the waiting
//! process, so each wait also requests the usage, which is the same system call.

use crate::kernel::{enter, now, open, CLOCK_MONOTONIC, CLOSE_ON_EXEC, READ_WRITE};
use crate::libc::{dlsym, getenv, outcome, RTLD_NEXT};
use core::ffi::{c_char, c_int, c_long, c_uint, c_void};
use core::ptr::null_mut;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use programs::{End, Starts, FILE_LEN, PROGRAMS};

#[path = "programs.rs"]
pub mod programs;

#[cfg(target_arch = "x86_64")]
const WAITID: c_long = 247;
#[cfg(target_arch = "aarch64")]
const WAITID: c_long = 95;

extern "C" {
    fn close(file: c_int) -> c_int;
    fn mmap(at: *mut c_void, length: usize, protection: c_int, flags: c_int, fd: c_int, offset: c_long) -> *mut c_void;
}

const PROT_READ_WRITE: c_int = 3;
const MAP_SHARED: c_int = 1;
const WNOWAIT: c_int = 0x0100_0000;
/// Last of the codes `CLD_EXITED`, `CLD_KILLED` and `CLD_DUMPED`, after which the process is gone.
const LAST_CODE_OF_AN_END: c_int = 3;

/// `struct rusage` as words.
type Usage = [c_long; 18];
/// Indices in [`Usage`]: time in user mode, time in the kernel (each followed by its microseconds), and voluntary
/// switches.
const USER: usize = 0;
const SYSTEM: usize = 2;
const WAITS: usize = 16;

/// Beginning of `siginfo_t` for the end of a child; the whole structure has 128 bytes.
#[repr(C)]
struct Info {
    signal: c_int,
    error: c_int,
    code: c_int,
    padding: c_int,
    process: c_int,
    rest: [c_int; 27],
}

/// Type of libc's `wait4`.
///
/// # Safety
///
/// `status` and `usage` are null or writable.
type Wait4 = unsafe extern "C" fn(c_int, *mut c_int, c_int, *mut Usage) -> c_int;

/// Path of the file; null where nothing is to be noted.
static PATH: AtomicPtr<c_char> = AtomicPtr::new(null_mut());
/// The file, once it is needed.
static STARTS: AtomicPtr<Starts> = AtomicPtr::new(null_mut());
/// libc's `wait4`.
static NEXT: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Stores the path of the file, if there is one, and looks up libc's function: a signal handler may wait, but not look
/// up functions.
pub fn load() {
    // SAFETY: the name ends in a zero byte.
    PATH.store(unsafe { getenv(PROGRAMS.as_ptr()) }, Relaxed);
    next();
}

/// Returns libc's `wait4`, which every libc for Linux has.
fn next() -> *mut c_void {
    if NEXT.load(Relaxed).is_null() {
        // SAFETY: the name ends in a zero byte.
        NEXT.store(unsafe { dlsym(RTLD_NEXT, c"wait4".as_ptr()) }, Relaxed);
    }
    NEXT.load(Relaxed)
}

/// Returns the file. It is opened on demand, because most processes wait for no other.
fn starts() -> Option<&'static Starts> {
    let known = STARTS.load(Acquire);
    let path = PATH.load(Relaxed);
    if known.is_null() && !path.is_null() {
        // SAFETY: the path ends in a zero byte; the mapping is new, as long as the file, and never unmapped.
        unsafe {
            let Some(file) = open(path, READ_WRITE | CLOSE_ON_EXEC).and_then(|file| c_int::try_from(file).ok()) else {
                PATH.store(null_mut(), Relaxed);
                return None;
            };
            let mapped = mmap(null_mut(), FILE_LEN, PROT_READ_WRITE, MAP_SHARED, file, 0);
            close(file);
            if mapped as isize == -1 {
                return None;
            }
            STARTS.store(mapped.cast(), Release);
        }
    }
    // SAFETY: null, or a mapping that consists of atomics.
    unsafe { STARTS.load(Acquire).as_ref() }
}

/// Records that a process has ended and was waited for.
fn note(process: c_int, usage: &Usage) {
    let Some(starts) = starts() else { return };
    let micros = |at: usize| usage[at] as u64 * 1_000_000 + usage[at + 1] as u64;
    let end =
        End { ns: now(CLOCK_MONOTONIC), cpu_ns: (micros(USER) + micros(SYSTEM)) * 1000, waits: usage[WAITS] as u64 };
    starts.note_end(process as u32, end);
}

/// Replaces libc's function, and notes the process that ended.
///
/// # Safety
///
/// The same as for libc's function.
#[no_mangle]
pub unsafe extern "C" fn wait4(process: c_int, status: *mut c_int, options: c_int, usage: *mut Usage) -> c_int {
    let (mut own_status, mut own_usage) = (0, [0; 18]);
    let status = if status.is_null() { &mut own_status } else { status };
    let usage = if usage.is_null() { &mut own_usage } else { usage };
    // SAFETY: libc's function of this name; null pointers are replaced by our own. A result above 0 means that both
    // were written.
    unsafe {
        let ended = core::mem::transmute::<*mut c_void, Wait4>(next())(process, status, options, usage);
        // The low bytes differ for stopped and continued processes.
        if ended > 0 && *status & 0xff != 0x7f && *status != 0xffff {
            note(ended, &*usage);
        }
        ended
    }
}

/// Replaces libc's function by a call of [`wait4`].
///
/// # Safety
///
/// The same as for libc's function.
#[no_mangle]
pub unsafe extern "C" fn wait3(status: *mut c_int, options: c_int, usage: *mut Usage) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { wait4(-1, status, options, usage) }
}

/// Replaces libc's function by a call of [`wait4`].
///
/// # Safety
///
/// The same as for libc's function.
#[no_mangle]
pub unsafe extern "C" fn waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { wait4(process, status, options, null_mut()) }
}

/// Replaces libc's function by a call of [`wait4`].
///
/// # Safety
///
/// The same as for libc's function.
#[no_mangle]
pub unsafe extern "C" fn wait(status: *mut c_int) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { wait4(-1, status, 0, null_mut()) }
}

/// Replaces libc's function by its system call, and notes the process that ended.
///
/// # Safety
///
/// The same as for libc's function.
#[no_mangle]
pub unsafe extern "C" fn waitid(kind: c_uint, id: c_uint, info: *mut c_void, options: c_int) -> c_int {
    let mut own_info = Info { signal: 0, error: 0, code: 0, padding: 0, process: 0, rest: [0; 27] };
    let info = if info.is_null() { &mut own_info } else { info.cast::<Info>() };
    let mut usage: Usage = [0; 18];
    // SAFETY: the system call that libc's function makes, with memory for the usage; the kernel writes the information
    // whenever it succeeds.
    unsafe {
        let arguments = [
            c_long::from(kind),
            c_long::from(id),
            info as c_long,
            c_long::from(options),
            usage.as_mut_ptr() as c_long,
            0,
        ];
        let result = enter(WAITID, arguments);
        let has_ended = (1..=LAST_CODE_OF_AN_END).contains(&(*info).code);
        if result == 0 && (*info).process > 0 && has_ended && options & WNOWAIT == 0 {
            note((*info).process, &usage);
        }
        outcome(result) as c_int
    }
}
