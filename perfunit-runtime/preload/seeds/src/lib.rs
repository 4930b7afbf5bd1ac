//! A library that the dynamic linker loads before libc. It gives both processes of a pair the same random numbers, and
//! reports the cores that the processes would have without the tool.
//!
//! It replaces the three functions by which Rust programs request random numbers from the kernel: `getrandom`,
//! `getentropy`, and `syscall(SYS_getrandom, ..)`. Each call is still made, so that its cost stays the same. Its bytes
//! are then replaced by the next ones of a stream that depends on the thread and on the seed in the environment. Thus
//! repetitions of a body differ from each other as usual, and the n-th repetition does the same on both sides.
//!
//! The feature `clock` also replaces the clock that the test reads.
//!
//! Without a seed, and in a process forked from one with a seed, all calls pass through unchanged. The runtime sets the
//! seed of processes that it forks itself.
//!
//! The tool keeps measured processes on one core. A thread pool that asks for the number of cores would get one thread,
//! and a test that needs two would wait forever. Therefore, if the kernel returns a set of cores chosen by the tool,
//! the library replaces it by the set of the tool's own process. A thread that has chosen its cores itself gets the
//! kernel's answer. This also holds for programs that a test starts.
//!
//! The library also replaces the functions that wait for processes, and notes the CPU time of the workspace's programs.
//!
//! It is a separate crate without std. It uses libc, which is in the process anyway, and neither allocates nor locks.

#![cfg(target_os = "linux")]
#![no_std]

#[cfg(feature = "clock")]
pub mod clock;
mod kernel;
mod libc;
pub mod preload_interface;
pub mod waits;

use core::ffi::{c_char, c_int, c_long, c_uint, c_ulong, c_void, CStr};
use core::ptr::{null_mut, write_bytes};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicUsize};
use kernel::enter;
use libc::{dlsym, getenv, hexadecimal, outcome, RTLD_NEXT};
use preload_interface::{mix, publish, Source, CORES, SEED, STREAM};

#[cfg(target_arch = "x86_64")]
const SYS_GETRANDOM: c_long = 318;
#[cfg(target_arch = "x86_64")]
const SYS_SCHED_SETAFFINITY: c_long = 203;
#[cfg(target_arch = "x86_64")]
const SYS_SCHED_GETAFFINITY: c_long = 204;
#[cfg(target_arch = "x86_64")]
const SYS_GETTID: c_long = 186;
#[cfg(target_arch = "aarch64")]
const SYS_GETRANDOM: c_long = 278;
#[cfg(target_arch = "aarch64")]
const SYS_SCHED_SETAFFINITY: c_long = 122;
#[cfg(target_arch = "aarch64")]
const SYS_SCHED_GETAFFINITY: c_long = 123;
#[cfg(target_arch = "aarch64")]
const SYS_GETTID: c_long = 178;
const GRND_DEFAULT: c_uint = 0;
/// Largest length that `getentropy` accepts.
const MOST_ENTROPY: usize = 256;
const EIO: c_int = 5;
const ENOSYS: c_int = 38;
const PAGE: usize = 4096;
const PROT_READ_WRITE: c_int = 3;
const MAP_PRIVATE_ANONYMOUS: c_int = 0x22;
const MADV_WIPEONFORK: c_int = 18;

#[link(name = "c")]
extern "C" {
    fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
    fn mmap(at: *mut c_void, length: usize, protection: c_int, flags: c_int, fd: c_int, offset: c_long) -> *mut c_void;
    fn pthread_getspecific(key: c_uint) -> *mut c_void;
    fn pthread_key_create(key: *mut c_uint, destructor: Option<extern "C" fn(*mut c_void)>) -> c_int;
    fn pthread_self() -> c_ulong;
    fn pthread_setspecific(key: c_uint, value: *const c_void) -> c_int;
}

/// Type of libc's `getrandom`.
///
/// # Safety
///
/// The buffer has room for this many bytes.
type Getrandom = unsafe extern "C" fn(*mut c_void, usize, c_uint) -> isize;

/// Type of libc's `pthread_getaffinity_np`.
///
/// # Safety
///
/// The set has room for this many bytes.
type GetAffinity = unsafe extern "C" fn(c_ulong, usize, *mut c_void) -> c_int;

/// Type of libc's `pthread_setaffinity_np`.
///
/// # Safety
///
/// The set has this many bytes.
type SetAffinity = unsafe extern "C" fn(c_ulong, usize, *const c_void) -> c_int;

/// Size of a `cpu_set_t` in bytes.
const SET: usize = 128;
/// Number of sets in the variable: the one that tests see, and at most two that the tool keeps them on.
const SETS: usize = 3;

/// Sets of cores from the environment variable.
struct Cores {
    sets: [[u8; SET]; SETS],
    /// Key under which a thread records that it has chosen its cores itself.
    key: c_uint,
}

/// Source of the streams; null until the library is ready, and always without a seed.
static SOURCE: AtomicPtr<Source> = AtomicPtr::new(null_mut());
/// libc's `getrandom`, which makes no system call in newer versions.
static NEXT: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
/// Key under which each thread stores the state of its stream; the value is 0 in a thread without a stream.
static KEY: AtomicUsize = AtomicUsize::new(0);

/// Sets of cores; null where no cores are to be hidden.
static CORES_TOLD: AtomicPtr<Cores> = AtomicPtr::new(null_mut());

#[used]
#[link_section = ".init_array"]
static AT_LOADING: extern "C" fn() = load;

extern "C" fn load() {
    // SAFETY: names end in a zero byte; the mapping is new, large enough, aligned, and never unmapped.
    unsafe {
        NEXT.store(dlsym(RTLD_NEXT, c"getrandom".as_ptr()), Relaxed);
        load_cores(getenv(CORES.as_ptr()));
        waits::load();
        let seed = hexadecimal(getenv(SEED.as_ptr()));
        if seed == 0 {
            return;
        }
        let mut key = 0;
        if pthread_key_create(&mut key, None) != 0 {
            return;
        }
        KEY.store(key as usize, Relaxed);
        let page = mmap(null_mut(), PAGE, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, -1, 0);
        if page as isize == -1 || madvise(page, PAGE, MADV_WIPEONFORK) != 0 {
            return;
        }
        let source = page.cast::<Source>();
        (*source).seed.store(seed, Relaxed);
        (*source).key.store(u64::from(key), Relaxed);
        SOURCE.store(source, Release);
        publish(getenv(STREAM.as_ptr()), source as usize);
    }
}

/// Replaces `length` bytes by the next ones of this thread's stream.
///
/// # Safety
///
/// `bytes` has room for this many bytes.
unsafe fn replace(bytes: *mut u8, length: usize) {
    // SAFETY: null, or the page created by `load`.
    let Some(source) = (unsafe { SOURCE.load(Acquire).as_ref() }) else { return };
    let seed = source.seed.load(Relaxed);
    if seed == 0 {
        return;
    }
    let key = KEY.load(Relaxed) as c_uint;
    // SAFETY: the key was created, and its values are numbers.
    let mut state = unsafe { pthread_getspecific(key) } as u64;
    if state == 0 {
        // Threads are numbered by their first request. Threads that race for a number may get it in either order, on
        // either side.
        let thread = source.threads.fetch_add(1, Relaxed);
        state = mix(seed ^ mix(thread + 1));
    }
    let mut done = 0;
    while done < length {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = mix(state).to_ne_bytes();
        let count = (length - done).min(word.len());
        // SAFETY: inside of the buffer that the caller guarantees.
        unsafe { core::ptr::copy_nonoverlapping(word.as_ptr(), bytes.add(done), count) };
        done += count;
    }
    // SAFETY: see above. If this fails, the thread starts another stream the next time.
    unsafe { pthread_setspecific(key, state as *const c_void) };
}

/// Replaces libc's function: calls it, and replaces the random bytes.
///
/// # Safety
///
/// The same as for libc's function.
#[no_mangle]
pub unsafe extern "C" fn getrandom(buffer: *mut c_void, length: usize, flags: c_uint) -> isize {
    let next = NEXT.load(Relaxed);
    if next.is_null() {
        // The kernel does not write more than this at once either.
        let length = c_long::try_from(length).unwrap_or(c_long::MAX);
        // SAFETY: the system call that libc's function would make.
        return unsafe { syscall(SYS_GETRANDOM, buffer as c_long, length, c_long::from(flags), 0, 0, 0) as isize };
    }
    // SAFETY: libc's function of this name with the caller's arguments; the bytes that it has written are writable.
    unsafe {
        let result = core::mem::transmute::<*mut c_void, Getrandom>(next)(buffer, length, flags);
        if result > 0 {
            replace(buffer.cast(), result as usize);
        }
        result
    }
}

/// Replaces libc's function by calls of [`getrandom`].
///
/// # Safety
///
/// The same as for libc's function.
#[no_mangle]
pub unsafe extern "C" fn getentropy(buffer: *mut c_void, length: usize) -> c_int {
    if length > MOST_ENTROPY {
        // SAFETY: libc has an `errno` for this thread.
        unsafe { *libc::__errno_location() = EIO };
        return -1;
    }
    // SAFETY: the caller's arguments. This few bytes are written by a single call.
    let count = unsafe { getrandom(buffer, length, GRND_DEFAULT) };
    if usize::try_from(count) == Ok(length) {
        0
    } else {
        -1
    }
}

/// Replaces libc's `syscall`. Every such call passes through here, so it is as short as libc's own.
///
/// # Safety
///
/// The same as for libc's function. Its further arguments are variadic, and on supported machines they are passed like
/// fixed ones; arguments that the caller did not pass are passed on without being read.
#[no_mangle]
pub unsafe extern "C" fn syscall(
    number: c_long,
    a1: c_long,
    a2: c_long,
    a3: c_long,
    a4: c_long,
    a5: c_long,
    a6: c_long,
) -> c_long {
    // SAFETY: the caller's arguments; bytes that the kernel has written are writable; libc has an `errno` for this
    // thread.
    unsafe {
        let result = enter(number, [a1, a2, a3, a4, a5, a6]);
        if number == SYS_GETRANDOM && result > 0 {
            replace(a1 as *mut u8, result as usize);
        }
        if number == SYS_SCHED_GETAFFINITY && result > 0 {
            reveal_cores(a3 as *mut u8, result as usize);
        }
        outcome(result)
    }
}

/// Reads the sets of cores from the environment variable.
///
/// # Safety
///
/// `text` is null or ends in a zero byte.
unsafe fn load_cores(text: *const c_char) {
    if text.is_null() {
        return;
    }
    // SAFETY: a new mapping, which is large enough, aligned and never unmapped, and for which zeros are valid.
    unsafe {
        let page = mmap(null_mut(), PAGE, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, -1, 0);
        let cores = page.cast::<Cores>();
        if page as isize == -1 || pthread_key_create(&mut (*cores).key, None) != 0 {
            return;
        }
        read_sets(text, &mut (*cores).sets);
        CORES_TOLD.store(cores, Release);
    }
}

/// Reads sets of cores in hexadecimal digits; sets without digits stay empty.
///
/// # Safety
///
/// `text` ends in a zero byte.
unsafe fn read_sets(mut text: *const c_char, sets: &mut [[u8; SET]; SETS]) {
    // SAFETY: reading stops at the zero byte, which is not a digit.
    let digit = |at: *const c_char| unsafe { char::from(*at as u8).to_digit(16) };
    for set in sets {
        let mut count = 0;
        // SAFETY: the bytes before are digits and not the end.
        while digit(unsafe { text.add(count) }).is_some() {
            count += 1;
        }
        for place in 0..count {
            // SAFETY: one of the digits.
            let digit = digit(unsafe { text.add(count - 1 - place) });
            if let (Some(byte), Some(digit)) = (set.get_mut(place / 2), digit) {
                *byte |= (digit as u8) << (place % 2 * 4);
            }
        }
        // SAFETY: moves up to the end of the digits, and over a comma, which is not the end of the text.
        unsafe {
            text = text.add(count);
            if *text as u8 != b',' {
                break;
            }
            text = text.add(1);
        }
    }
}

/// Replaces a set of cores chosen by the tool by the set that the process would have without the tool.
///
/// # Safety
///
/// `found` has `length` readable and writable bytes.
unsafe fn reveal_cores(found: *mut u8, length: usize) {
    // SAFETY: null, or the page created by `load_cores`.
    let Some(cores) = (unsafe { CORES_TOLD.load(Acquire).as_ref() }) else { return };
    // SAFETY: the key was created.
    if !unsafe { pthread_getspecific(cores.key) }.is_null() {
        return;
    }
    // SAFETY: the caller guarantees the buffer.
    let found = unsafe { core::slice::from_raw_parts_mut(found, length) };
    let [told, imposed @ ..] = &cores.sets;
    let fits = told.iter().skip(length).all(|byte| *byte == 0);
    let is_found = |set: &[u8; SET]| {
        let byte_of = |set: &[u8], at: usize| set.get(at).copied().unwrap_or(0);
        set.iter().any(|byte| *byte != 0) && (0..length.max(SET)).all(|at| byte_of(found, at) == byte_of(set, at))
    };
    if fits && imposed.iter().any(is_found) {
        for (byte, told) in found.iter_mut().zip(told) {
            *byte = *told;
        }
    }
}

/// Records that this thread has chosen its cores itself.
fn note_choice() {
    // SAFETY: null, or the page created by `load_cores`.
    if let Some(cores) = unsafe { CORES_TOLD.load(Acquire).as_ref() } {
        // SAFETY: the key was created, and its values are never dereferenced.
        unsafe { pthread_setspecific(cores.key, core::ptr::from_ref(cores).cast()) };
    }
}

/// Replaces libc's function, so that its system call passes through [`syscall`].
///
/// # Safety
///
/// The same as for libc's function.
#[no_mangle]
pub unsafe extern "C" fn sched_getaffinity(process: c_int, length: usize, set: *mut c_void) -> c_int {
    let most = length.min(c_int::MAX as usize);
    // SAFETY: the caller's arguments; `syscall` handles the bytes that the kernel has written, and the rest is writable
    // too.
    unsafe {
        let written = syscall(
            SYS_SCHED_GETAFFINITY,
            process.into(),
            c_long::try_from(most).unwrap_or(c_long::MAX),
            set as c_long,
            0,
            0,
            0,
        );
        let Ok(written) = usize::try_from(written) else { return -1 };
        write_bytes(set.cast::<u8>().add(written), 0, length.saturating_sub(written));
    }
    0
}

/// Replaces libc's function, and notes when this thread chooses its cores.
///
/// # Safety
///
/// The same as for libc's function.
#[no_mangle]
pub unsafe extern "C" fn sched_setaffinity(process: c_int, length: usize, set: *const c_void) -> c_int {
    // SAFETY: the caller's arguments.
    let result = unsafe {
        syscall(
            SYS_SCHED_SETAFFINITY,
            process.into(),
            c_long::try_from(length).unwrap_or(c_long::MAX),
            set as c_long,
            0,
            0,
            0,
        )
    };
    // SAFETY: the call takes no arguments.
    if result == 0 && (process == 0 || unsafe { enter(SYS_GETTID, [0; 6]) } == c_long::from(process)) {
        note_choice();
    }
    result as c_int
}

/// Replaces libc's function: calls it, and replaces the set of cores.
///
/// # Safety
///
/// The same as for libc's function.
#[no_mangle]
pub unsafe extern "C" fn pthread_getaffinity_np(thread: c_ulong, length: usize, set: *mut c_void) -> c_int {
    let Some(next) = next_function(c"pthread_getaffinity_np") else { return ENOSYS };
    // SAFETY: libc's function of this name with the caller's arguments; the bytes that it has written are writable.
    unsafe {
        let result = core::mem::transmute::<*mut c_void, GetAffinity>(next)(thread, length, set);
        if result == 0 {
            reveal_cores(set.cast(), length);
        }
        result
    }
}

/// Replaces libc's function, and notes when this thread chooses its cores.
///
/// # Safety
///
/// The same as for libc's function.
#[no_mangle]
pub unsafe extern "C" fn pthread_setaffinity_np(thread: c_ulong, length: usize, set: *const c_void) -> c_int {
    let Some(next) = next_function(c"pthread_setaffinity_np") else { return ENOSYS };
    // SAFETY: libc's function of this name with the caller's arguments.
    let result = unsafe { core::mem::transmute::<*mut c_void, SetAffinity>(next)(thread, length, set) };
    // SAFETY: the call takes no arguments.
    if result == 0 && thread == unsafe { pthread_self() } {
        note_choice();
    }
    result
}

/// Returns the function that a program would call without this library; `None` if the C library lacks it.
fn next_function(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name ends in a zero byte.
    let next = unsafe { dlsym(RTLD_NEXT, name.as_ptr()) };
    (!next.is_null()).then_some(next)
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
